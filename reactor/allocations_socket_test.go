//go:build linux

package reactor_test

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

func init() {
	for _, how := range []string{"from", "msg", "from lease", "from many"} {
		steady["send to and recv "+how] = func(r *running, next func()) (func(), []*reactor.Socket, []int) {
			return datagramEcho(r, next, how)
		}
	}
	steady["send and recv fds"] = passOn
	steady["send zero-copy"] = copyNothing
	steady["connect datagrams"] = func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		s, to := r.udp()
		op := new(reactor.DialOp)
		s.DialTo(to).Connect(op, &again[struct{}]{func(struct{}) { next() }, sender.EmptyEnv{}})
		return op.Start, []*reactor.Socket{s}, nil
	}
}

// both calls next when two have called it.
func both(next func()) (begin, over func()) {
	pending := 0
	return func() { pending = 2 }, func() {
		if pending--; pending == 0 {
			next()
		}
	}
}

// datagramEcho sends a datagram from one socket of the loop to another: over when it has arrived.
func datagramEcho(r *running, next func(), how string) (step func(), sockets []*reactor.Socket, fds []int) {
	a, _ := r.udp()
	b, to := r.udp()
	message, buf := make([]byte, 128), make([]byte, 256)
	begin, over := both(next)
	send := new(reactor.SendToOp)
	a.SendTo(message, to).Connect(send, &again[int]{func(int) { over() }, sender.EmptyEnv{}})
	sockets = []*reactor.Socket{a, b}
	got := &again[reactor.Message]{func(reactor.Message) { over() }, sender.EmptyEnv{}}
	leased := again[reactor.Datagram]{func(d reactor.Datagram) { d.Release(); over() }, sender.EmptyEnv{}}
	var start func()
	switch how {
	case "from":
		op := new(reactor.RecvMsgOp)
		b.RecvFrom(buf).Connect(op, got)
		start = op.Start
	case "msg":
		op := new(reactor.RecvMsgOp)
		b.RecvMsg([][]byte{buf[:100], buf[100:]}, make([]byte, 64), 0).Connect(op, got)
		start = op.Start
	case "from lease":
		op := new(reactor.RecvFromLeaseOp)
		b.RecvFromLease().Connect(op, &leased)
		start = op.Start
	case "from many":
		op, started := new(reactor.RecvMsgManyOp), false
		b.RecvFromMany(reactor.Unlimited).Connect(op, &seqAgain[reactor.Datagram]{leased})
		start = func() {
			if !started {
				started = true
				op.Start()
			}
		}
	}
	return func() { begin(); start(); send.Start() }, sockets, nil
}

// passOn sends a descriptor from one socket of the loop to another, which closes it.
func passOn(r *running, next func()) (step func(), sockets []*reactor.Socket, fds []int) {
	a, b := r.openPair(unix.SOCK_STREAM)
	begin, over := both(next)
	send, recv := new(reactor.SendFDsOp), new(reactor.RecvFDsOp)
	a.SendFDs([]byte("x"), []int{a.Fd()}).Connect(send, &again[int]{func(int) { over() }, sender.EmptyEnv{}})
	b.RecvFDs(make([]byte, 8), 1).Connect(recv,
		&again[reactor.Rights]{func(x reactor.Rights) { x.Close(); over() }, sender.EmptyEnv{}})
	return func() { begin(); recv.Start(); send.Start() }, []*reactor.Socket{a, b}, nil
}

// copyNothing sends through a TCP connection of the loop without copying.
func copyNothing(r *running, next func()) (step func(), sockets []*reactor.Socket, fds []int) {
	a, peer := r.tcpPair(0)
	if err := unix.SetNonblock(peer, true); err != nil {
		r.t.Fatal(err)
	}
	b := new(reactor.Socket)
	b.Init(r.Loop, peer)
	begin, over := both(next)
	send, recv := new(reactor.SendZCOp), new(reactor.RecvOp)
	a.SendZC(make([]byte, 4096)).Connect(send, &again[int]{func(int) { over() }, sender.EmptyEnv{}})
	b.RecvFlags(make([]byte, 4096), unix.MSG_WAITALL).Connect(recv, &again[int]{func(int) { over() }, sender.EmptyEnv{}})
	return func() { begin(); recv.Start(); send.Start() }, []*reactor.Socket{a, b}, nil
}
