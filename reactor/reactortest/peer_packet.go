package reactortest

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// PacketConn is a UDP socket of a peer. It is a net.PacketConn, to which the doc of [Conn] applies.
type PacketConn struct{ endpoint }

var _ net.PacketConn = (*PacketConn)(nil)

// ListenPacket makes a UDP socket with an address. An address without a port gets one: see [PacketConn.LocalAddr]. If
// that fails, so does the run.
func (p *Peer) ListenPacket(addr netip.AddrPort) *PacketConn {
	fd := p.bind(sockaddr(addr), family(addr), unix.SOCK_DGRAM)
	c := &PacketConn{endpoint{m: p.m, fd: fd}}
	p.open = append(p.open, c)
	return c
}

// DialPacket makes a UDP socket that is connected to an address. Each Read and Write is a datagram. If it fails, so
// does the run.
func (p *Peer) DialPacket(addr netip.AddrPort) *Conn {
	c, err := p.connect(sockaddr(addr), family(addr), unix.SOCK_DGRAM)
	if err != nil {
		p.Fatalf("DialPacket of %v: %v", addr, err)
	}
	return c
}

// ReadFromAddrPort receives a datagram.
func (c *PacketConn) ReadFromAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	n, err = c.call("ReadFrom", unix.POLLIN, &c.readBy, func() (int, error) {
		n, sa, err := c.m.k.System().Recvfrom(c.fd, b, 0)
		if err == nil && sa != nil {
			from = addrOf(sa, unix.SOCK_DGRAM).(*net.UDPAddr).AddrPort()
		}
		return n, err
	})
	return n, from, err
}

// WriteToAddrPort sends a datagram.
func (c *PacketConn) WriteToAddrPort(b []byte, to netip.AddrPort) (int, error) {
	return c.call("WriteTo", unix.POLLOUT, &c.writeBy, func() (int, error) {
		return c.m.k.System().Sendto(c.fd, b, sockaddr(to))
	})
}

// ReadFrom receives a datagram. The address is a *net.UDPAddr.
func (c *PacketConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteTo sends a datagram, to a *net.UDPAddr.
func (c *PacketConn) WriteTo(b []byte, to net.Addr) (int, error) {
	a, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, unix.EINVAL
	}
	at := a.AddrPort()
	return c.WriteToAddrPort(b, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
}
