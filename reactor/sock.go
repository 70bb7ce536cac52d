//go:build linux

package reactor

import (
	"net/netip"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"golang.org/x/sys/unix"
)

// Socket is a socket that belongs to a loop. Embed it in the structure that owns it, and do not copy it. All its
// methods are called on the loop's thread.
type Socket struct{ Descriptor }

// Open creates a socket as socket(2) does, with SOCK_CLOEXEC and SOCK_NONBLOCK. typ is unix.SOCK_STREAM, SOCK_DGRAM
// or SOCK_SEQPACKET.
func (s *Socket) Open(l *Loop, family, typ, protocol int) error {
	fd, err := l.sys.Socket(family, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return err
	}
	s.Init(l, fd)
	s.family, s.kind = uint8(family), uint8(typ&^(unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK))
	s.tcp = s.kind == unix.SOCK_STREAM && (family == unix.AF_INET || family == unix.AF_INET6) &&
		(protocol == 0 || protocol == unix.IPPROTO_TCP)
	return nil
}

// InitStream takes over fd as [Descriptor.Init] does, and does not ask the kernel for its type, which must be
// SOCK_STREAM, as that of an accepted connection is. With the build tag reactordebug, another type panics.
func (s *Socket) InitStream(l *Loop, fd int) {
	if assert.Enabled {
		if kind, err := l.sys.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind != unix.SOCK_STREAM {
			panic("reactor: InitStream was given a socket of another type: use Init")
		}
	}
	s.Init(l, fd)
	s.kind = unix.SOCK_STREAM
}

// InitTCP takes over fd as [Socket.InitStream] does. It must be a TCP socket with O_NONBLOCK set, which stays set, as
// [Socket.TryAccept] of a TCP listener returns it: the loop's ring then asks the kernel nothing about it. On epoll and
// with the build tag reactordebug, another descriptor panics when it is first used.
func (s *Socket) InitTCP(l *Loop, fd int) {
	s.InitStream(l, fd)
	s.tcp = true
}

// expectTCP tells the ring what the socket is, before its first entry. Only a ring that finds that out by system calls
// needs it.
func (d *Descriptor) expectTCP() {
	d.tcp = false
	if ring, ok := d.loop.ring.(interface{ ExpectTCP(fd int) }); ok {
		ring.ExpectTCP(int(d.fd))
	}
}

// OpenPair makes a and b the two ends of a connection of unix sockets, both of the loop l. typ is unix.SOCK_STREAM,
// SOCK_SEQPACKET or SOCK_DGRAM. See socketpair(2).
func OpenPair(l *Loop, typ int, a, b *Socket) error {
	fds, err := l.sys.Socketpair(unix.AF_UNIX, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	a.Init(l, fds[0])
	b.Init(l, fds[1])
	return nil
}

// Discard closes a socket that has had no operation yet, or whose operations have all completed. It may be called on
// any thread, if no other one uses the socket.
func (s *Socket) Discard() {
	s.disown()
	_ = s.loop.sys.Close(int(s.fd))
	s.state, s.fd = descriptorClosed, -1
}

// CloseWrite half-closes a connection: the peer reads EOF (FIN) behind what was sent. It is shutdown(2) with SHUT_WR,
// called directly because it does not block. See [Socket.Shutdown].
func (s *Socket) CloseWrite() error { return s.shutdown(unix.SHUT_WR) }

func (s *Socket) shutdown(how int) error {
	if s.state >= descriptorClosing {
		return errClosed
	}
	return s.Descriptor.shutdown(how)
}

// shutdown calls shutdown(2).
func (d *Descriptor) shutdown(how int) error {
	if how != unix.SHUT_WR {
		d.readShut = true
	}
	return d.loop.sys.Shutdown(int(d.fd), how)
}

// Unacked returns the number of bytes sent that the peer has not acknowledged. See tcp(7), SIOCOUTQ.
func (s *Socket) Unacked() (int, error) { return s.loop.sys.IoctlGetInt(int(s.fd), unix.SIOCOUTQ) }

// PeerAddress returns the address of the peer; zero if the peer is a unix socket without a name. See getpeername(2).
func (s *Socket) PeerAddress() (Address, error) {
	sa, err := s.loop.sys.Getpeername(int(s.fd))
	return addressOf(sa), err
}

// LocalAddress returns the address of this socket; zero if it is a unix socket without a name. See getsockname(2).
func (s *Socket) LocalAddress() (Address, error) {
	sa, err := s.loop.sys.Getsockname(int(s.fd))
	return addressOf(sa), err
}

// PeerAddr returns the IP address of the peer; zero if the peer has none. It allocates nothing, except for a zone. See
// getpeername(2).
func (s *Socket) PeerAddr() (netip.AddrPort, error) {
	if s.loop.hosted {
		return askAddr(unix.SYS_GETPEERNAME, s.fd)
	}
	a, err := s.PeerAddress()
	return a.AddrPort(), err
}

// LocalAddr returns the IP address of this socket; zero if it has none. It allocates nothing, except for a zone. See
// getsockname(2).
func (s *Socket) LocalAddr() (netip.AddrPort, error) {
	if s.loop.hosted {
		return askAddr(unix.SYS_GETSOCKNAME, s.fd)
	}
	a, err := s.LocalAddress()
	return a.AddrPort(), err
}

// askAddr calls getpeername(2) or getsockname(2), which do not block. The functions of package unix allocate.
func askAddr(call uintptr, fd int32) (netip.AddrPort, error) {
	var a Address
	size := sizeofAddress
	_, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&a.raw)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return netip.AddrPort{}, errno
	}
	a.n = size
	return a.AddrPort(), nil
}

// Family returns the family of the socket: unix.AF_INET, AF_INET6 or AF_UNIX. It asks the kernel once. See socket(7),
// SO_DOMAIN.
func (s *Socket) Family() (int, error) { return s.askOnce(&s.family, unix.SO_DOMAIN) }

// IsTCP reports whether it is a TCP socket; one of multipath TCP is none. It asks the kernel: see socket(7),
// SO_PROTOCOL.
func (s *Socket) IsTCP() bool {
	protocol, err := s.option(unix.SOL_SOCKET, unix.SO_PROTOCOL)
	return err == nil && protocol == unix.IPPROTO_TCP
}

// Type returns the type of the socket: unix.SOCK_STREAM, SOCK_DGRAM or SOCK_SEQPACKET. It asks the kernel once. See
// socket(7), SO_TYPE.
func (s *Socket) Type() (int, error) { return s.askOnce(&s.kind, unix.SO_TYPE) }

// askOnce returns an option of a socket that does not change, and asks the kernel for it once.
func (d *Descriptor) askOnce(known *uint8, option int) (int, error) {
	if *known == 0 {
		v, err := d.loop.sys.GetsockoptInt(int(d.fd), unix.SOL_SOCKET, option)
		if err != nil {
			return 0, err
		}
		*known = uint8(v)
	}
	return int(*known), nil
}

// queuesAtReceiver reports whether a send waits for room at its receiver, as on a unix socket for datagrams.
func (d *Descriptor) queuesAtReceiver() bool {
	if d.kind != unix.SOCK_DGRAM && d.kind != 0 {
		return false
	}
	if typ, err := d.askOnce(&d.kind, unix.SO_TYPE); err != nil || typ != unix.SOCK_DGRAM {
		return false
	}
	family, err := d.askOnce(&d.family, unix.SO_DOMAIN)
	return err == nil && family == unix.AF_UNIX
}

// ended reports whether a receive of no bytes is EOF. Only for a datagram socket it is not: a datagram may be empty.
func (d *Descriptor) ended() bool {
	typ, err := d.askOnce(&d.kind, unix.SO_TYPE)
	return d.readShut || err != nil || typ != unix.SOCK_DGRAM
}
