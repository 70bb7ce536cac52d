package reactor

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// ConnectSender connects a socket. See Socket.Connect.
type ConnectSender struct {
	s    *Socket
	addr netip.AddrPort
}

// Connect is a sender that completes when the socket is connected to addr, an address of the family
// that the socket was opened with. After an error the socket can only be closed.
//
// Kernel operation: IORING_OP_CONNECT, connect(2).
func (s *Socket) Connect(addr netip.AddrPort) ConnectSender { return ConnectSender{s, addr} }

// Connect prepares op.
func (c ConnectSender) Connect(op *ConnectOp, r sender.Receiver[struct{}]) {
	n := op.addr.set(c.addr)
	op.sqe.PrepConnect(int(c.s.fd), unsafe.Pointer(&op.addr), n)
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
}

// ConnectOp is the operation state of Connect.
type ConnectOp struct {
	single[struct{}]
	addr rawAddr
}

// Start begins to connect.
func (o *ConnectOp) Start() { o.start(o, o.r.Env()) }

func (o *ConnectOp) finish() {
	o.release()
	if o.res < 0 {
		o.fail()
		return
	}
	o.r.SetValue(struct{}{})
}

// rawAddr is a sockaddr as the kernel reads it. See ip(7), ipv6(7).
type rawAddr unix.RawSockaddrInet6

// set encodes a and returns its length.
func (r *rawAddr) set(a netip.AddrPort) uint32 {
	port := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, a.Port()))
	if a.Addr().Is4() {
		*(*unix.RawSockaddrInet4)(unsafe.Pointer(r)) = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port, Addr: a.Addr().As4()}
		return unix.SizeofSockaddrInet4
	}
	*r = rawAddr{Family: unix.AF_INET6, Port: port, Addr: a.Addr().As16()}
	return unix.SizeofSockaddrInet6
}
