//go:build linux

package reactor_test

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// A buffer whose length does not fit into an entry is not taken for an empty one.
func TestRecvIntoALotOfMemory(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		size := int64(1) << 32
		if size > math.MaxInt {
			t.Skip("there is no such memory here")
		}
		mem, err := unix.Mmap(-1, 0, int(size),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
		if err != nil {
			t.Skip(err)
		}
		defer func() { _ = unix.Munmap(mem) }()
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		done := newResult()
		var op reactor.RecvOp
		write(t, peer, []byte("hello"))
		r.do(func() {
			s.Recv(mem).Connect(&op, sinkOf[int](t, done, nil))
			op.Start()
		})
		done.expect(t, "5")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}
