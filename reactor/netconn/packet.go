//go:build linux

package netconn

import (
	"net"
	"net/netip"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// PacketConn is a socket for datagrams as a net.PacketConn for one task, in which ReadFrom and WriteTo await. The rules
// of [Conn] for goroutines, deadlines, errors and Close hold for it too. NewPacket makes it.
type PacketConn struct {
	c    Conn
	addr reactor.Address // that the next datagram is sent to, or the last one came from
}

var _ net.PacketConn = (*PacketConn)(nil)

// NewPacket makes a PacketConn of a socket, which it owns from now on. It is called by the function of the task t,
// which runs on the socket's loop.
func NewPacket(t *task.T, s *reactor.Socket) *PacketConn {
	c := new(PacketConn)
	c.c.Init(t, s)
	return c
}

// ReadFrom receives a datagram into p; what does not fit is lost. The address is a *net.UDPAddr or *net.UnixAddr. It
// allocates the address: [PacketConn.ReadFromAddress] does not. In the task.
func (c *PacketConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromAddress(p)
	if err != nil {
		return n, nil, err
	}
	typ, _ := c.c.s.Type()
	return n, from.NetAddr(typ), nil
}

// ReadFromAddrPort receives as [PacketConn.ReadFrom] does, with an IP address.
func (c *PacketConn) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	n, from, err := c.ReadFromAddress(p)
	return n, from.AddrPort(), err
}

// ReadFromAddress receives as [PacketConn.ReadFrom] does, with an address as the kernel has it, to which a reply can be
// sent.
func (c *PacketConn) ReadFromAddress(p []byte) (int, reactor.Address, error) {
	c.c.mustAwait("ReadFrom")
	c.c.next.what, c.c.next.p, c.c.next.addr = actRecvFrom, p, &c.addr
	n, err := c.c.await()
	return n, c.addr, err
}

// WriteTo sends a datagram. In the task.
func (c *PacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	a, err := reactor.NetAddress(to)
	if err != nil {
		return 0, c.c.writeError(err)
	}
	return c.WriteToAddress(p, a)
}

// WriteToAddrPort sends as [PacketConn.WriteTo] does, to an IP address.
func (c *PacketConn) WriteToAddrPort(p []byte, to netip.AddrPort) (int, error) {
	a, err := reactor.IPAddress(to)
	if err != nil {
		return 0, c.c.writeError(err)
	}
	return c.WriteToAddress(p, a)
}

// WriteToAddress sends as [PacketConn.WriteTo] does, to an address as the kernel has it; the zero Address is the peer
// of a connected socket.
func (c *PacketConn) WriteToAddress(p []byte, to reactor.Address) (int, error) {
	c.c.mustAwait("WriteTo")
	c.addr = to
	c.c.next.what, c.c.next.p, c.c.next.addr = actSendTo, p, &c.addr
	return c.c.await()
}

// Close closes the socket: see [Conn.Close]. On any goroutine.
func (c *PacketConn) Close() error { return c.c.Close() }

// LocalAddr returns the address of the socket: see [Conn.LocalAddr]. On any goroutine.
func (c *PacketConn) LocalAddr() net.Addr { return c.c.LocalAddr() }

// SetDeadline sets both deadlines: see [Conn.SetDeadline]. On any goroutine.
func (c *PacketConn) SetDeadline(t time.Time) error { return c.c.SetDeadline(t) }

// SetReadDeadline sets the deadline of ReadFrom, as [PacketConn.SetDeadline] does.
func (c *PacketConn) SetReadDeadline(t time.Time) error { return c.c.SetReadDeadline(t) }

// SetWriteDeadline sets the deadline of WriteTo, as [PacketConn.SetDeadline] does.
func (c *PacketConn) SetWriteDeadline(t time.Time) error { return c.c.SetWriteDeadline(t) }

// SetIdle bounds each ReadFrom and WriteTo: see [Conn.SetIdle]. On the loop's thread.
func (c *PacketConn) SetIdle(d time.Duration) { c.c.SetIdle(d) }

// SetDrain ends ReadFrom only: see [Conn.SetDrain]. On the loop's thread.
func (c *PacketConn) SetDrain(token stop.Token) { c.c.SetDrain(token) }

// Socket returns the socket, for its options. On the loop's thread.
func (c *PacketConn) Socket() *reactor.Socket { return c.c.s }
