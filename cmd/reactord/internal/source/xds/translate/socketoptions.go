package translate

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"golang.org/x/sys/unix"
)

// option is the level and name of a Linux socket option.
type option struct{ level, name int64 }

// socketOptions lists the supported options. Each function applies a value, and returns what is wrong with it, or "".
var socketOptions = map[option]func(s *config.Socket, n int64) string{
	{unix.SOL_SOCKET, unix.SO_REUSEADDR}: expected(1, "always enabled"),
	{unix.SOL_SOCKET, unix.SO_REUSEPORT}: expected(1, "always enabled, for a socket per loop"),
	{unix.SOL_SOCKET, unix.SO_KEEPALIVE}: func(s *config.Socket, n int64) string {
		s.KeepAlive.Mode = config.NoKeepAlive
		if n != 0 {
			s.KeepAlive.Mode = config.OwnKeepAlive
		}
		return ""
	},
	{unix.IPPROTO_TCP, unix.TCP_NODELAY}: expected(1, "always enabled"),
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}: func(s *config.Socket, n int64) string {
		s.KeepAlive.Idle = time.Duration(n) * time.Second
		return bounded(n, 1, 32767)
	},
	{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}: func(s *config.Socket, n int64) string {
		s.KeepAlive.Interval = time.Duration(n) * time.Second
		return bounded(n, 1, 32767)
	},
	{unix.IPPROTO_TCP, unix.TCP_KEEPCNT}: func(s *config.Socket, n int64) string {
		s.KeepAlive.Count = int(n)
		return bounded(n, 1, 127)
	},
	{unix.IPPROTO_TCP, unix.TCP_MAXSEG}: func(s *config.Socket, n int64) string {
		s.MSS = int(n)
		return bounded(n, 88, 32767)
	},
	{unix.IPPROTO_TCP, unix.TCP_FASTOPEN}: func(s *config.Socket, n int64) string {
		s.FastOpen = int(n)
		return bounded(n, 0, 65535)
	},
	{unix.IPPROTO_IP, unix.IP_TOS}:          typeOfService,
	{unix.IPPROTO_IPV6, unix.IPV6_TCLASS}:   typeOfService,
	{unix.IPPROTO_IP, unix.IP_FREEBIND}:     freeBind,
	{unix.IPPROTO_IPV6, unix.IPV6_FREEBIND}: freeBind,
	{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}:   func(s *config.Socket, n int64) string { s.IPv6Only = n != 0; return "" },
	{unix.SOL_SOCKET, unix.SO_BINDTODEVICE}: func(*config.Socket, int64) string {
		return "an interface name is " +
			"required"
	},
	{unix.IPPROTO_IP, unix.IP_TRANSPARENT}:     expected(0, "transparent proxying is not supported"),
	{unix.IPPROTO_IPV6, unix.IPV6_TRANSPARENT}: expected(0, "transparent proxying is not supported"),
}

func typeOfService(s *config.Socket, n int64) string { s.TOS = int(n); return bounded(n, 0, 255) }

func freeBind(s *config.Socket, n int64) string { s.FreeBind = n != 0; return "" }

// expected returns the reader of an option that reactord always sets to this value.
func expected(value int64, why string) func(*config.Socket, int64) string {
	return func(_ *config.Socket, n int64) string {
		if n != value {
			return why
		}
		return ""
	}
}

func bounded(n, least, most int64) string {
	if n < least || n > most {
		return "out of range"
	}
	return ""
}

// readSocketOptions reads socket options. Their order and state do not matter.
func readSocketOptions(r reading, all []*corepb.SocketOption, s *config.Socket) {
	for i, o := range all {
		r, key := r.at("socket_options[%d]", i), option{o.GetLevel(), o.GetName()}
		set, known := socketOptions[key]
		name, isName := o.GetValue().(*corepb.SocketOption_BufValue)
		switch {
		case key == option{unix.SOL_SOCKET, unix.SO_BINDTODEVICE} && isName:
			s.Interface = string(trimNUL(name.BufValue))
		case !known:
			r.refuse("socket option level %d name %d is not supported", key.level, key.name)
		case isName:
			r.refuse("socket option level %d name %d requires an int_value", key.level, key.name)
		default:
			if fault := set(s, o.GetIntValue()); fault != "" {
				r.refuse("socket option level %d name %d, value %d: %s", key.level, key.name, o.GetIntValue(), fault)
			}
		}
	}
	if k := &s.KeepAlive; k.Mode != config.OwnKeepAlive { // times have no effect without keep-alive
		d := config.NewListener().Socket.KeepAlive
		k.Idle, k.Interval, k.Count = d.Idle, d.Interval, d.Count
	}
}

// trimNUL strips the terminator of a C string.
func trimNUL(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == 0 {
		return b[:n-1]
	}
	return b
}
