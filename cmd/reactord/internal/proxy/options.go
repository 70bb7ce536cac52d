package proxy

import (
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Options of listening sockets are of three kinds. Those that bind(2) needs are a part of the listener's key: a plan
// that changes them opens other sockets. Those that connections inherit are changed on the open sockets, for
// connections that are made after that. The owner and the permissions of a unix socket's file are the file's.

// bindOptions sets what must be set before a socket is bound. It makes [::] every address, whatever
// net.ipv6.bindv6only is.
func bindOptions(s *reactor.Socket, key plan.ListenerKey) error {
	if ip := key.Bind.Addr(); ip.Is6() && ip.IsUnspecified() {
		if err := s.SetIPv6Only(key.IPv6Only); err != nil {
			return os.NewSyscallError("setsockopt IPV6_V6ONLY", err)
		}
	}
	if key.Interface != "" {
		return os.NewSyscallError("setsockopt SO_BINDTODEVICE "+key.Interface, s.BindToDevice(key.Interface))
	}
	return nil
}

// setOptions sets the options that differ from those that a socket has.
func setOptions(s *reactor.Socket, key plan.ListenerKey, o *config.Socket, has config.Socket) error {
	family, err := s.Family()
	if err != nil || family == unix.AF_UNIX {
		return err
	}
	tcp := key.Network != "udp"
	if tcp {
		_ = s.SetNoDelay(true) // before the first connection, which inherits it
	}
	fd := s.Fd()
	for _, option := range []struct {
		name          string
		level, option int
		value, has    int
		of            bool // the sockets of the listener have it
	}{
		{"TCP_MAXSEG", unix.IPPROTO_TCP, unix.TCP_MAXSEG, o.MSS, has.MSS, tcp},
		{"TCP_FASTOPEN", unix.IPPROTO_TCP, unix.TCP_FASTOPEN, o.FastOpen, has.FastOpen, tcp},
		{"IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, o.TOS, has.TOS, true}, // IPv4 clients of an IPv6 socket, too
		{"IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, o.TOS, has.TOS, family == unix.AF_INET6},
	} {
		if !option.of || option.value == option.has {
			continue
		}
		if err := unix.SetsockoptInt(fd, option.level, option.option, option.value); err != nil {
			return os.NewSyscallError("setsockopt "+option.name, err)
		}
	}
	return nil
}

// followOptions gives the sockets of a listener the options of the plan in force. What fails is logged: the sockets
// listen nevertheless.
func (l *listener) followOptions() {
	o := l.shared.settings.Load().Socket
	if o == l.options || l.state != listenerServing {
		return
	}
	has := l.options
	l.options = o
	for _, s := range l.sockets {
		err := setOptions(&s.Socket, l.shared.key, &o, has)
		if err == nil && o.Backlog != has.Backlog {
			err = os.NewSyscallError("listen", s.Listen(backlog(&o)))
		}
		if err != nil {
			l.worker.proxy.log.Error("an option of a listener could not be changed",
				zap.String("listener", l.name()), zap.Error(err))
		}
	}
}
