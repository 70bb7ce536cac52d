//go:build linux

package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// A buffer that was taken back is not received into, and can be provided again.
func TestTakeBuffer(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	r := g.ring.(*Ring)
	if _, ok := r.TakeBuffer(0); ok {
		t.Error("a buffer that was not provided")
	}
	if _, ok := r.TakeBuffer(7); ok {
		t.Error("a buffer of a group that does not exist")
	}
	for _, id := range []uint16{3, 1, 2} {
		r.ProvideBuffer(0, id)
	}
	for _, want := range []uint16{3, 1} {
		if id, ok := r.TakeBuffer(0); !ok || id != want {
			t.Errorf("took %d, %v; want %d", id, ok, want)
		}
	}
	a, b := g.pair(unix.SOCK_STREAM)
	receive := func(want uint16) {
		t.Helper()
		g.write(b, "bytes")
		g.push(func(s *uring.SQE) { s.PrepRecvSelect(a, 0, 0, 0) })
		c := g.wait()
		if id, ok := c.BufferID(); !ok || id != want {
			t.Errorf("%+v, want buffer %d", c, want)
		}
	}
	receive(2)
	r.ProvideBuffer(0, 3)
	receive(3)
}
