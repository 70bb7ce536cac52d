package translate

import "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"

// logged reports whether connections are logged: whether there is an access log of any kind. Where it is written, in
// which format and by which filter is said by reactord's access_log. So types of logs that reactord does not have are
// no reason to refuse a listener.
func logged(all []*corepb.AccessLog) bool { return len(all) > 0 }
