package translate

import "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"

// logged reports whether connections are logged: whether there is an access log of any kind. Where it is written, in
// which format and by which filter is said by reactord's access_log. So types of logs that reactord does not have are
// no reason to refuse a listener.
func logged(r reading, all []*corepb.AccessLog) bool {
	if len(all) > 0 {
		r.at("access_log").remark("connections are logged as access_log of the configuration says, and not to these sinks")
	}
	return len(all) > 0
}
