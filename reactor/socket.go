package reactor

import (
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// Socket is a socket that belongs to a loop. It is embedded in what it belongs to, is not copied, and all its
// methods are called on the loop's thread.
type Socket struct{ Descriptor }

// Open creates a descriptor as socket(2) does, with SOCK_CLOEXEC and SOCK_NONBLOCK.
func (s *Socket) Open(l *Loop, family, kind, protocol int) error {
	fd, err := l.sys.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return err
	}
	s.Init(l, fd)
	return nil
}

// CloseWrite sends the peer an end (FIN) behind what was sent: shutdown(2) with SHUT_WR, called
// directly because it does not block.
func (s *Socket) CloseWrite() error { return s.shutdown(unix.SHUT_WR) }

func (s *Socket) shutdown(how int) error {
	if s.state != descriptorOpen {
		return errClosed
	}
	return s.loop.sys.Shutdown(int(s.fd), how)
}

// SetNoDelay switches Nagle's algorithm off or on. See tcp(7), TCP_NODELAY.
func (s *Socket) SetNoDelay(on bool) error {
	v := 0
	if on {
		v = 1
	}
	return s.loop.sys.SetsockoptInt(int(s.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, v)
}

// SetAbort makes Close reset the connection (RST) and drop what was not sent yet. See socket(7),
// SO_LINGER.
func (s *Socket) SetAbort() error {
	return s.loop.sys.SetsockoptLinger(int(s.fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// Unacked is the number of bytes sent that the peer has not acknowledged. See tcp(7), SIOCOUTQ.
func (s *Socket) Unacked() (int, error) {
	return s.loop.sys.IoctlGetInt(int(s.fd), unix.SIOCOUTQ)
}

// PeerAddr is the address of the other end. See getpeername(2).
func (s *Socket) PeerAddr() (netip.AddrPort, error) {
	sa, err := s.loop.sys.Getpeername(int(s.fd))
	if err != nil {
		return netip.AddrPort{}, err
	}
	return addrPort(sa), nil
}

// LocalAddr is the address of this end. See getsockname(2).
func (s *Socket) LocalAddr() (netip.AddrPort, error) {
	sa, err := s.loop.sys.Getsockname(int(s.fd))
	if err != nil {
		return netip.AddrPort{}, err
	}
	return addrPort(sa), nil
}

// addrPort is the zero AddrPort for what is not an IP address.
func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

func sockaddr(a netip.AddrPort) (unix.Sockaddr, int) {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, unix.AF_INET
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}, unix.AF_INET6
}

// Backlog is how many connections may wait to be accepted on a Listen socket. The kernel lowers it to
// net.core.somaxconn.
const Backlog = 4096

// Listen opens a TCP listener with SO_REUSEADDR and SO_REUSEPORT: each loop listens on the same
// address with a socket of its own, and the kernel spreads connections over them. From any thread; no
// operation is in flight on a new socket. See socket(7), listen(2).
func (s *Socket) Listen(l *Loop, addr netip.AddrPort) error {
	sa, family := sockaddr(addr)
	if err := s.Open(l, family, unix.SOCK_STREAM, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	err := s.listen(sa)
	if err != nil {
		_ = l.sys.Close(int(s.fd))
		s.state = descriptorClosed
	}
	return err
}

func (s *Socket) listen(sa unix.Sockaddr) error {
	fd, sys := int(s.fd), s.loop.sys
	for _, opt := range []int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} {
		if err := sys.SetsockoptInt(fd, unix.SOL_SOCKET, opt, 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if err := sys.Bind(fd, sa); err != nil {
		return os.NewSyscallError("bind", err)
	}
	return os.NewSyscallError("listen", sys.Listen(fd, Backlog))
}

// TryAccept takes a connection that waits in the backlog of a listener, as accept4(2) does with
// SOCK_CLOEXEC and SOCK_NONBLOCK; the error matches unix.EAGAIN if there is none.
func (s *Socket) TryAccept() (fd int, err error) {
	fd, _, err = s.loop.sys.Accept4(int(s.fd), acceptFlags)
	return fd, err
}
