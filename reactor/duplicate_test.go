//go:build linux

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// dup gives dup another descriptor of the open file of d.
func (r *running) dup(d, dup *reactor.Descriptor) {
	r.t.Helper()
	fd, err := unix.FcntlInt(uintptr(d.Fd()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	dup.Init(r.Loop, fd)
}

// Descriptors may be of the same open file, as standard input and output are.
// Closing one descriptor is nothing to the operations on another all the same.
func TestCloseLeavesDuplicatesAlone(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		a, b := r.openPair(unix.SOCK_STREAM)
		first, dup := new(reactor.File), new(reactor.Socket)
		r.dup(&a.Descriptor, &first.Descriptor)
		r.dup(&a.Descriptor, &dup.Descriptor)
		closed, polled, received := newResult(), newResult(), newResult()
		var recv, other reactor.RecvOp
		var poll reactor.PollOp
		r.do(func() {
			a.Recv(make([]byte, 8)).Connect(&recv, sinkOf[int](t, closed, nil))
			recv.Start()
			first.Poll(unix.POLLIN).Connect(&poll, sinkOf[uint32](t, polled, nil))
			poll.Start()
			dup.RecvFlags(make([]byte, 8), unix.MSG_PEEK).Connect(&other, sinkOf[int](t, received, nil))
			other.Start()
		})
		r.settle()
		r.close(a)
		closed.expect(t, "error: use of a closed descriptor")
		r.settle()
		polled.none(t)
		received.none(t)
		write(t, b.Fd(), []byte("hello"))
		polled.expect(t, "1")
		received.expect(t, "5")
		r.closeFiles(first)
		r.close(dup, b)
		r.end()
	})
}
