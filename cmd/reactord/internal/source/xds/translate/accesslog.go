package translate

import "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"

// logged reports whether connections are logged, that is, whether there is an access log of any kind. Destination,
// format and filter come from reactord's access_log, so a type of log that reactord does not have is no reason to
// refuse a listener.
func logged(r reading, all []*corepb.AccessLog) bool {
	if len(all) > 0 {
		r.at("access_log").remark("connections are logged by access_log of the configuration, not to these sinks")
	}
	return len(all) > 0
}
