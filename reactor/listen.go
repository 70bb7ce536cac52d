package reactor

import (
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Backlog is how many connections may wait to be accepted on a Listen socket. The kernel lowers it to
// net.core.somaxconn.
const Backlog = 4096

// ListenConfig is how a listener is made. With an Address, its zero value works.
type ListenConfig struct {
	// Address is where it listens. Port 0: any free one; a unix socket without a name: an abstract one that the
	// kernel chooses. The path of a unix socket must not exist, and stays behind when the listener is closed.
	Address Address
	// Kind is unix.SOCK_STREAM, the default, or unix.SOCK_SEQPACKET, which unix sockets have.
	Kind int
	// Backlog is how many connections may wait to be accepted. Default: the constant of the name.
	Backlog int
	// Exclusive: no other socket may listen there. Else each loop listens on the same IP address with a socket
	// of its own, and the kernel spreads connections over them (SO_REUSEPORT).
	Exclusive bool
	// Options, if not nil, sets further options before the socket is bound.
	Options func(*Socket) error
}

// Listen opens a TCP listener with SO_REUSEADDR and SO_REUSEPORT: each loop listens on the same
// address with a socket of its own, and the kernel spreads connections over them. From any thread; no
// operation is in flight on a new socket. See socket(7), listen(2).
func (s *Socket) Listen(l *Loop, addr netip.AddrPort) error {
	a, err := IPAddress(addr)
	if err != nil {
		return err
	}
	return s.ListenWith(l, ListenConfig{Address: a})
}

// ListenWith opens a listener as Listen does, as cfg says. If it fails the socket is closed.
func (s *Socket) ListenWith(l *Loop, cfg ListenConfig) error {
	if cfg.Kind == 0 {
		cfg.Kind = unix.SOCK_STREAM
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = Backlog
	}
	if err := s.Open(l, cfg.Address.Family(), cfg.Kind, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	err := s.listen(cfg)
	if err != nil {
		s.discard()
	}
	return err
}

func (s *Socket) listen(cfg ListenConfig) error {
	if cfg.Address.Family() != unix.AF_UNIX {
		if err := s.SetReuseAddr(true); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		if err := s.SetReusePort(!cfg.Exclusive); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if cfg.Options != nil {
		if err := cfg.Options(s); err != nil {
			return err
		}
	}
	if err := s.Bind(cfg.Address); err != nil {
		return os.NewSyscallError("bind", err)
	}
	return os.NewSyscallError("listen", s.BeginListening(cfg.Backlog))
}

// Bind gives the socket its address. It does not block. See bind(2).
func (s *Socket) Bind(a Address) error {
	if a.IsZero() {
		return unix.EINVAL
	}
	return s.loop.sys.Bind(int(s.fd), a.sockaddr())
}

// BeginListening makes a listener of the socket, with room for that many connections that wait to be accepted.
// See listen(2).
func (s *Socket) BeginListening(backlog int) error { return s.loop.sys.Listen(int(s.fd), backlog) }

// TryAccept takes a connection that waits in the backlog of a listener, as accept4(2) does with
// SOCK_CLOEXEC and SOCK_NONBLOCK; the error matches unix.EAGAIN if there is none. A connection that was gone before it
// could be accepted is passed over, as by AcceptMany; of very many in a row the last one's error is returned.
func (s *Socket) TryAccept() (fd int, err error) {
	for range maxSkipped {
		fd, _, err = s.loop.sys.Accept4(int(s.fd), acceptFlags)
		if errno, ok := err.(syscall.Errno); !ok || errno != syscall.EINTR && !connectionGone(errno) { //nolint:errorlint // it is bare
			break
		}
	}
	return fd, err
}
