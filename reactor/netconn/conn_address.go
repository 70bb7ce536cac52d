//go:build linux

package netconn

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// addresses caches the addresses of a Conn. The kernel is asked when they are first wanted.
type addresses struct{ p atomic.Pointer[endpoints] }

type endpoints struct{ local, remote net.Addr }

// knownAddresses returns the addresses if they were asked for before, or can be without waiting; else nil.
func (c *Conn) knownAddresses() (local, remote net.Addr) {
	e := c.address.p.Load()
	if e == nil && c.state.Load() == connOpen && c.pool.Here() {
		e = c.endpoints()
	}
	if e == nil {
		return nil, nil
	}
	return e.local, e.remote
}

// LocalAddr returns the address of this side: a *net.TCPAddr or *net.UnixAddr. On any goroutine. The kernel is asked
// once, on the loop's thread, for which another goroutine waits. An address that the kernel has forgotten, because the
// connection was reset or closed before, is a zero address, and not nil.
func (c *Conn) LocalAddr() net.Addr { e := c.endpoints(); return orZero(e.local, e.local) }

// RemoteAddr returns the address of the peer, as [Conn.LocalAddr] does that of this side.
func (c *Conn) RemoteAddr() net.Addr { e := c.endpoints(); return orZero(e.remote, e.local) }

// orZero returns a, or a zero address of local's kind.
func orZero(a, local net.Addr) net.Addr {
	if a != nil {
		return a
	}
	switch local := local.(type) {
	case *net.UDPAddr:
		return &net.UDPAddr{}
	case *net.UnixAddr:
		return &net.UnixAddr{Net: local.Net}
	}
	return &net.TCPAddr{}
}

func (c *Conn) endpoints() *endpoints {
	if e := c.address.p.Load(); e != nil {
		return e
	}
	onLoop(c.Loop(), c.pool.Here(), func() {
		if c.address.p.Load() == nil {
			c.address.p.Store(endpointsOf(c.s))
		}
	})
	if e := c.address.p.Load(); e != nil {
		return e
	}
	return &endpoints{} // the loop has ended
}

// endpointsOf asks the kernel. On the loop's thread.
func endpointsOf(s *reactor.Socket) *endpoints {
	local, _ := s.LocalAddress()
	remote, _ := s.PeerAddress()
	typ, _ := s.Type()
	return &endpoints{netAddr(local, local, typ), netAddr(remote, local, typ)}
}

// endpointsOfFD asks the kernel as endpointsOf does, for a descriptor that stays open meanwhile. On any goroutine.
func endpointsOfFD(fd int) endpoints {
	var local, remote reactor.Address
	typ, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if sa, err := unix.Getsockname(fd); err == nil {
		local = addressOf(sa)
	}
	if sa, err := unix.Getpeername(fd); err == nil {
		remote = addressOf(sa)
	}
	return endpoints{netAddr(local, local, typ), netAddr(remote, local, typ)}
}

// addressOf returns the address of a unix.Sockaddr.
func addressOf(sa unix.Sockaddr) (a reactor.Address) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		a, _ = reactor.IPAddress(netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)))
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(sa.Addr)
		if sa.ZoneId != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(sa.ZoneId), 10))
		}
		a, _ = reactor.IPAddress(netip.AddrPortFrom(ip, uint16(sa.Port)))
	case *unix.SockaddrUnix:
		if sa.Name != "" && sa.Name != "@" {
			a, _ = reactor.UnixAddress(sa.Name)
		}
	}
	return a
}

// netAddr converts a to an address of package net. A unix socket without a name has an empty name, as in package net.
func netAddr(a, local reactor.Address, typ int) net.Addr {
	if addr := a.NetAddr(typ); addr != nil {
		return addr
	}
	if network := map[int]string{unix.SOCK_STREAM: "unix", unix.SOCK_DGRAM: "unixgram",
		unix.SOCK_SEQPACKET: "unixpacket"}[typ]; local.Family() == unix.AF_UNIX || local.IsZero() && network != "" {
		return &net.UnixAddr{Net: network}
	}
	return nil
}

func networkOf(a net.Addr) string {
	if a == nil {
		return "socket"
	}
	return a.Network()
}

// SyscallConn gives access to options that [reactor.Socket] does not have. Its Control is called on the loop's thread;
// its Read and Write return an error, because the loop waits for the descriptor.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c}, nil }

type rawConn struct{ c *Conn }

// Control calls f with the descriptor.
func (r rawConn) Control(f func(fd uintptr)) error {
	switch {
	case !r.c.pool.Here():
		return errors.New("netconn: Control of a Conn off its loop's thread: call it in the task")
	case r.c.state.Load() != connOpen:
		return r.c.opError("raw-control", net.ErrClosed)
	}
	f(uintptr(r.c.s.Fd()))
	return nil
}

func (rawConn) Read(func(uintptr) bool) error  { return errors.ErrUnsupported }
func (rawConn) Write(func(uintptr) bool) error { return errors.ErrUnsupported }
