//go:build linux

package reactor

import (
	"errors"
	"net/netip"
	"syscall"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// DialSender connects a socket. See [Socket.Dial].
type DialSender struct {
	affine
	s    *Socket
	addr Address
	err  error
}

// Dial returns a sender that connects the socket to addr, an address of the family that the socket was opened with.
// After an error the socket can only be closed. If addr has a zone without an interface, it fails with ENODEV.
//
// Kernel operation: IORING_OP_CONNECT, connect(2). Then SO_ERROR is read, see socket(7).
func (s *Socket) Dial(addr netip.AddrPort) DialSender {
	a, err := IPAddress(addr)
	return DialSender{s: s, addr: a, err: err}
}

// DialTo connects as [Socket.Dial] does, to an address of any family. A socket for datagrams is connected immediately,
// and may be connected again. If a unix listener has no room in its backlog, it fails with EAGAIN, as connect(2) does
// on a socket with O_NONBLOCK; on one without, it waits for room.
func (s *Socket) DialTo(addr Address) DialSender { return DialSender{s: s, addr: addr} }

// Connect implements [sender.Sender].
func (c DialSender) Connect(op *DialOp, r sender.Receiver[struct{}]) sender.Operation {
	op.addr, op.fault = c.addr, 0
	if c.err != nil && !errors.As(c.err, &op.fault) {
		op.fault = syscall.EINVAL
	}
	op.sqe.PrepConnect(int(c.s.fd), op.addr.pointer(), op.addr.n)
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// DialOp is the operation state of [Socket.Dial] and [Socket.DialTo].
type DialOp struct {
	single[struct{}]
	addr  Address
	fault syscall.Errno // what is wrong with the address
}

// Start begins to connect. It may be called again after each completion.
func (o *DialOp) Start() {
	env := o.env()
	if o.fault != 0 {
		o.startFailed(o, env, failure(o.fault))
		return
	}
	o.start(o, env)
}

func (o *DialOp) onCompletion(out outcome) {
	if out.done() {
		out = outcomeOf(o.pendingError())
	}
	o.complete(struct{}{}, out)
}

// pendingError returns the error of a connection that the ring reports as made, or 0. An ICMP error that comes while
// connect(2) holds the socket does not end the attempt immediately: it wakes the ring, which finds no error where it
// looks, and is reported by SO_ERROR only. On a socket for datagrams, SO_ERROR holds the error of an earlier send.
func (o *DialOp) pendingError() int32 {
	kind, err := o.on.askOnce(&o.on.kind, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		return 0
	}
	errno, err := o.loop.sys.GetsockoptInt(int(o.on.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return resultOf(err)
	}
	return -int32(errno)
}
