//go:build linux

package reactor

import (
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Backlog is the number of connections that may wait to be accepted by default. The kernel lowers it to
// net.core.somaxconn.
const Backlog = 4096

// ListenConfig configures [Socket.OpenListener] and [Socket.ListenPacket]. With an address, its zero value works.
type ListenConfig struct {
	// Addr is the IP address and port of the socket, unless there is an Address. Port 0 is any free port.
	Addr netip.AddrPort
	// Address is the address of the socket, of any family. A unix socket without a name gets an abstract one that the
	// kernel chooses. The path of a unix socket must not exist; closing the socket does not remove it.
	Address Address
	// Type of a listener is unix.SOCK_STREAM, the default, or unix.SOCK_SEQPACKET, which unix sockets have. That of a
	// socket for datagrams is unix.SOCK_DGRAM, the default.
	Type int
	// Backlog bounds the connections of a listener that wait to be accepted. Default: the constant [Backlog].
	Backlog int
	// Exclusive means that no other socket may have the address. Otherwise each loop has a socket with the same IP
	// address, and the kernel spreads connections, or the datagrams of each sender, over them (SO_REUSEPORT).
	Exclusive bool
	// Options, if not nil, sets further options before the socket is bound.
	Options func(*Socket) error
}

// address returns the address of the socket.
func (cfg *ListenConfig) address() (Address, error) {
	if cfg.Address.IsZero() && cfg.Addr.IsValid() {
		return IPAddress(cfg.Addr)
	}
	return cfg.Address, nil
}

// OpError converts an error of OpenListener or ListenPacket to that of a listen of package net: a *net.OpError with the
// address.
func (cfg *ListenConfig) OpError(err error) error {
	typ := cfg.Type
	if typ == 0 {
		typ = unix.SOCK_STREAM
	}
	e := &net.OpError{Op: "listen", Net: "socket", Err: err}
	if a, invalid := cfg.address(); invalid == nil {
		e.Addr = a.NetAddr(typ)
	}
	if e.Addr != nil {
		e.Net = e.Addr.Network()
	}
	return e
}

// OpenListener opens a socket that accepts connections: socket(2), bind(2) and listen(2). An IP socket has
// SO_REUSEADDR and, unless it is Exclusive, SO_REUSEPORT. If OpenListener fails, the socket is closed.
//
// With SO_REUSEPORT another process of the same user may have the address too, and then gets a part of the connections.
// A program that has a socket for each loop, and the address for itself, opens the first one with Exclusive, calls
// [Socket.SetReusePort] of it, and then opens the others without Exclusive.
//
// It may be called on any thread, because a new socket has no operation in flight. See socket(7).
func (s *Socket) OpenListener(l *Loop, cfg ListenConfig) error {
	if cfg.Type == 0 {
		cfg.Type = unix.SOCK_STREAM
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = Backlog
	}
	return s.openBound(l, &cfg, func() error {
		return os.NewSyscallError("listen", s.Listen(cfg.Backlog))
	})
}

// ListenPacket opens a socket that receives datagrams, by [Socket.RecvFrom] and its relatives: socket(2) and bind(2).
// An IP socket has SO_REUSEPORT unless it is Exclusive. If ListenPacket fails, the socket is closed.
//
// It may be called on any thread, because a new socket has no operation in flight. See socket(7), udp(7).
func (s *Socket) ListenPacket(l *Loop, cfg ListenConfig) error {
	if cfg.Type == 0 {
		cfg.Type = unix.SOCK_DGRAM
	}
	return s.openBound(l, &cfg, nil)
}

// openBound opens a socket that has an address. then, if not nil, is called when it has.
func (s *Socket) openBound(l *Loop, cfg *ListenConfig, then func() error) error {
	address, err := cfg.address()
	if err != nil {
		return err
	}
	cfg.Address = address
	if err := s.Open(l, cfg.Address.Family(), cfg.Type, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	err = s.bindAs(cfg)
	if err == nil && then != nil {
		err = then()
	}
	if err != nil {
		s.Discard()
	}
	return err
}

// bindAs sets the options of the socket, and binds it.
func (s *Socket) bindAs(cfg *ListenConfig) error {
	if cfg.Address.Family() != unix.AF_UNIX {
		if cfg.Type != unix.SOCK_DGRAM { // with it several sockets for datagrams could have the address
			if err := s.SetReuseAddr(true); err != nil {
				return os.NewSyscallError("setsockopt", err)
			}
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
	return os.NewSyscallError("bind", s.Bind(cfg.Address))
}

// Bind gives the socket its address. It does not block. See bind(2).
func (s *Socket) Bind(a Address) error {
	if a.IsZero() {
		return unix.EINVAL
	}
	return s.loop.sys.Bind(int(s.fd), a.sockaddr())
}

// Listen makes a listener of a socket that has an address: at most backlog connections wait to be accepted. It does
// not block. [Socket.OpenListener] does all that a listener needs. See listen(2).
func (s *Socket) Listen(backlog int) error { return s.loop.sys.Listen(int(s.fd), backlog) }

// TryAccept accepts a connection that waits in the backlog of a listener, as accept4(2) does with SOCK_CLOEXEC and
// SOCK_NONBLOCK. The error matches unix.EAGAIN if none waits. A connection that has failed before it could be
// accepted is skipped, as by [Socket.AcceptMany]; after very many in a row the last error is returned.
func (s *Socket) TryAccept() (fd int, err error) {
	fd, _, err = s.TryAcceptFrom()
	return fd, err
}

// TryAcceptFrom accepts as [Socket.TryAccept] does, and also returns the address of the peer; zero if the peer is a
// unix socket without a name.
func (s *Socket) TryAcceptFrom() (fd int, peer Address, err error) {
	n, from := 0, &s.loop.accepted
	for range maxSkipped {
		fd, n, err = s.loop.sys.Accept4(int(s.fd), acceptFlags, from.bytes(sizeofAddress))
		errno, ok := err.(syscall.Errno) //nolint:errorlint // it is bare
		if !ok || errno != syscall.EINTR && !connectionGone(errno) {
			break
		}
	}
	if err != nil {
		return fd, Address{}, err
	}
	return fd, from.written(uint32(n)), nil
}
