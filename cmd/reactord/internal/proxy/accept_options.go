package proxy

import (
	"net/netip"
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
func bindOptions(s *reactor.Socket, key plan.ListenerKey, o *config.Socket) error {
	if o.FreeBind {
		if err := freeBind(s.Fd(), key.Bind.Addr()); err != nil {
			return err
		}
	}
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

// freeBind lets a socket be bound to an address that this machine does not have.
func freeBind(fd int, ip netip.Addr) error {
	level, option := unix.IPPROTO_IP, unix.IP_FREEBIND
	if ip.Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_FREEBIND
	}
	return os.NewSyscallError("setsockopt FREEBIND", unix.SetsockoptInt(fd, level, option, 1))
}

// setOptions sets the options that differ from those that a socket has.
func setOptions(fd int, key plan.ListenerKey, o, has config.Socket) error {
	if o.MSS == has.MSS && o.FastOpen == has.FastOpen && o.TOS == has.TOS && o.Backlog == has.Backlog {
		return nil
	}
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	tcp, ip := !key.IsUDP() && family != unix.AF_UNIX, family != unix.AF_UNIX
	for _, option := range []struct {
		name          string
		level, option int
		value, has    int
		of            bool // the socket has it
	}{
		{"TCP_MAXSEG", unix.IPPROTO_TCP, unix.TCP_MAXSEG, o.MSS, has.MSS, tcp},
		{"TCP_FASTOPEN", unix.IPPROTO_TCP, unix.TCP_FASTOPEN, o.FastOpen, has.FastOpen, tcp},
		{"IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, o.TOS, has.TOS, ip}, // IPv4 clients of an IPv6 socket, too
		{"IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, o.TOS, has.TOS, family == unix.AF_INET6},
	} {
		if !option.of || option.value == option.has {
			continue
		}
		if err := unix.SetsockoptInt(fd, option.level, option.option, option.value); err != nil {
			return os.NewSyscallError("setsockopt "+option.name, err)
		}
	}
	if o.Backlog != has.Backlog && !key.IsUDP() {
		return os.NewSyscallError("listen", unix.Listen(fd, backlog(&o)))
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
	for _, fd := range l.fds() {
		if err := setOptions(fd, l.shared.key, o, has); err != nil {
			l.worker.proxy.log.Error("cannot change a socket option of a listener",
				zap.String("listener", l.name()), zap.Error(err))
		}
	}
}
