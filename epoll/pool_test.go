//go:build linux

package epoll

import (
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// slowPool makes a rig whose pool has one worker, which waits before each system call until let is closed.
func slowPool(t *testing.T) (g *rig, let chan struct{}, begun *atomic.Int32) {
	r := newEpoll(t, Config{Workers: 1})
	let, begun = make(chan struct{}), new(atomic.Int32)
	r.pool.run = func(t task) int {
		begun.Add(1)
		<-let
		return t.run()
	}
	return newRig(t, r), let, begun
}

func (g *rig) waitFor(n *atomic.Int32, want int32) {
	for n.Load() < want {
		g.check(g.Enter(0))
	}
}

// TestPoolCancel cancels calls that no worker has begun, and one that a worker has begun.
func TestPoolCancel(t *testing.T) {
	g, let, begun := slowPool(t)
	g.provide()
	fd := g.file()
	data := g.bytes(100)
	write := g.push(func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), 100, 0) })
	g.check(g.Enter(0))
	g.waitFor(begun, 1)
	uncached := g.procFile()
	second := g.push(func(s *uring.SQE) { s.PrepRead(uncached, nil, 10, 0); s.Flags = uring.SQEBufferSelect })
	third := g.push(func(s *uring.SQE) { s.PrepFsync(fd, 0) })
	g.quiet()
	g.do(-int32(unix.EALREADY), func(s *uring.SQE) { s.PrepCancel(write) })
	g.do(0, func(s *uring.SQE) { s.PrepCancel(second) })
	g.fails(second, unix.ECANCELED)
	g.do(0, func(s *uring.SQE) { s.PrepCancel(third) })
	g.fails(third, unix.ECANCELED)
	close(let)
	g.want(write, 100, 0)
	if n := len(g.ring.(*Ring).groups[0].free); n != bufCount {
		t.Errorf("%d buffers are left of %d", n, bufCount)
	}
	g.quiet()
}

// TestPoolBound queues many calls for one worker, which makes them one after the other.
func TestPoolBound(t *testing.T) {
	g, let, begun := slowPool(t)
	fd := g.file()
	const n = 50
	for range n {
		g.push(func(s *uring.SQE) { s.PrepFsync(fd, 0) })
	}
	g.check(g.Enter(0))
	for i := range int32(n) {
		g.waitFor(begun, i+1)
		if got := begun.Load(); got != i+1 {
			t.Fatalf("%d tasks have begun, want %d", got, i+1)
		}
		let <- struct{}{}
		if c := g.wait(); c.Res != 0 {
			t.Fatalf("%+v", c)
		}
	}
	close(let)
	g.quiet()
}

// TestPoolCloseEntry closes a file that the pool works on: its number must not be used again before the pool is done.
func TestPoolCloseEntry(t *testing.T) {
	g, let, begun := slowPool(t)
	fd := g.file()
	ud := g.push(func(s *uring.SQE) { s.PrepFsync(fd, 0) })
	g.check(g.Enter(0))
	g.waitFor(begun, 1)
	g.do(0, func(s *uring.SQE) { s.PrepClose(fd) })
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
		t.Error("the number is free:", err)
	}
	g.fails(g.push(func(s *uring.SQE) { s.PrepFsync(fd, 0) }), unix.EBADF)
	close(let)
	g.want(ud, 0, 0)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
		t.Error("the number is still taken:", err)
	}
}

// TestCloseRing closes a ring with entries in flight: it waits for calls that the pool has begun, because they write
// to the caller's memory, and drops the others.
func TestCloseRing(t *testing.T) {
	g, let, begun := slowPool(t)
	fd := g.procFile()
	a, b := g.pair(unix.SOCK_STREAM)
	g.push(recvTo(a, g.bytes(8), 0))
	g.push(func(s *uring.SQE) { s.PrepClose(a) })
	for range 3 {
		g.push(func(s *uring.SQE) { s.PrepRead(fd, ptr(g.bytes(8)), 8, 0) })
	}
	g.check(g.Enter(0))
	g.waitFor(begun, 1)
	r := g.ring.(*Ring)
	closed := make(chan error, 1)
	go func() { closed <- r.Close() }()
	for dropped := false; !dropped; runtime.Gosched() {
		r.pool.mu.Lock()
		dropped = r.pool.closed
		r.pool.mu.Unlock()
	}
	select {
	case <-closed:
		t.Fatal("closed under a worker")
	default:
	}
	close(let)
	g.check(<-closed)
	if n := begun.Load(); n != 1 {
		t.Errorf("%d tasks were begun, want 1", n)
	}
	if n, err := unix.Read(b, make([]byte, 1)); n != 0 || err != nil {
		t.Error("a descriptor that was closed under a receive is still open:", n, err)
	}
}
