package translate

import (
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
)

// logged reports whether connections are logged: whether there is an access log of any kind. Where it is written, in
// which format, and by which filter is reactord's access_log.
func logged(r reading, all []*corepb.AccessLog) bool {
	for i, a := range all {
		r := r.at("access_log[%d]", i)
		switch m := r.unpack(a.GetTypedConfig()).(type) {
		case nil: // which was refused
		case *corepb.FileAccessLog, *corepb.StdoutAccessLog, *corepb.StderrAccessLog:
		default:
			r.refuse("%s is not an access log", m.ProtoReflect().Descriptor().FullName())
		}
	}
	return len(all) > 0
}
