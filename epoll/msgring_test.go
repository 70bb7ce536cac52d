package epoll

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestMsgRing sends completions to another ring and to the same one.
func TestMsgRing(t *testing.T) {
	rings := map[string]func(*testing.T) ring{
		"epoll": func(t *testing.T) ring { return newEpoll(t, Config{}) },
		"uring": func(t *testing.T) ring { return newKernel(t) },
	}
	for kind, open := range rings {
		t.Run(kind, func(t *testing.T) {
			a, b := newRig(t, open(t)), newRig(t, open(t))
			a.do(0, func(s *uring.SQE) { s.PrepMsgRing(b.Fd(), 11, 1<<40, 0) })
			a.do(0, func(s *uring.SQE) { s.PrepMsgRing(b.Fd(), 12, 1<<41, 0) })
			b.want(1<<40, 11, 0)
			b.want(1<<41, 12, 0)
			b.quiet()
			ud := a.push(func(s *uring.SQE) { s.PrepMsgRing(a.Fd(), 13, 1<<42, 0) })
			a.want(ud, 0, 0)
			a.want(1<<42, 13, 0)
			pass := a.push(func(s *uring.SQE) {
				s.PrepMsgRing(b.Fd(), 14, 1<<43, msgFlagPass)
				s.FileIndex = int32(uring.CQEMore)
			})
			a.want(pass, 0, 0)
			b.want(1<<43, 14, uring.CQEMore)

			a.fails(a.push(func(s *uring.SQE) { s.PrepMsgRing(1<<20, 0, 0, 0) }), unix.EBADF)
			rd, _ := a.pipe()
			a.fails(a.push(func(s *uring.SQE) { s.PrepMsgRing(rd, 0, 0, 0) }), unix.EBADFD)
			a.fails(a.push(func(s *uring.SQE) { s.PrepMsgRing(b.Fd(), 0, 0, 0); s.Addr = 7 }), unix.EINVAL)
		})
	}
}

// TestMsgRingClosed: a ring that was closed, or does not run yet, cannot be sent to.
func TestMsgRingClosed(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	idle := newEpoll(t, Config{})
	g.fails(g.push(func(s *uring.SQE) { s.PrepMsgRing(idle.Fd(), 0, 0, 0) }), unix.EBADFD)
	g.check(idle.Enable())
	g.do(0, func(s *uring.SQE) { s.PrepMsgRing(idle.Fd(), 0, 0, 0) })
	fd := idle.Fd()
	g.check(idle.Close())
	g.fails(g.push(func(s *uring.SQE) { s.PrepMsgRing(fd, 0, 0, 0) }), unix.EBADF)
}

// TestMsgRingThreads has rings on threads of their own send to one that waits: everything comes, once and in the
// order in which each has sent it, and every message wakes it.
func TestMsgRingThreads(t *testing.T) {
	to := newRig(t, newEpoll(t, Config{}))
	const senders, each = 3, 2000
	gate := make(chan bool, senders)
	for i := range uint64(senders) {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r, err := New(Config{})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { <-gate; _ = r.Close() }()
			if err := r.Enable(); err != nil {
				t.Error(err)
			}
			var sqe uring.SQE
			var cqe uring.CQE
			for n := range uint32(each) {
				sqe.PrepMsgRing(to.Fd(), n, i, 0)
				r.Push(&sqe)
				if err := r.Enter(0); err != nil || !r.Pop(&cqe) || cqe.Res != 0 {
					t.Error(err, cqe)
				}
				if n%64 == 0 {
					time.Sleep(time.Microsecond) // so that the other one waits now and then
				}
			}
		}()
	}
	var next [senders]int32
	for range senders * each {
		c := to.wait()
		if c.Res != next[c.UserData] {
			t.Fatalf("%+v, want %d", c, next[c.UserData])
		}
		next[c.UserData]++
	}
	for range senders {
		gate <- true
	}
}

func TestMsgRingAllocatesNothing(t *testing.T) {
	a, b := newRig(t, newEpoll(t, Config{})), newRig(t, newEpoll(t, Config{}))
	fd := b.Fd()
	round := func() {
		a.sqe.PrepMsgRing(fd, 1, 2, 0)
		a.Push(&a.sqe)
		a.check(a.Enter(0))
		b.check(b.Enter(0))
		if !a.Pop(&a.cqe) || !b.Pop(&b.cqe) {
			t.Fatal("nothing has come")
		}
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMsgRing(b *testing.B) {
	x, y := newRig(b, newEpoll(b, Config{})), newRig(b, newEpoll(b, Config{}))
	fd := y.Fd()
	b.ReportAllocs()
	for b.Loop() {
		x.sqe.PrepMsgRing(fd, 1, 2, 0)
		x.Push(&x.sqe)
		x.check(x.Enter(0))
		y.check(y.Enter(0))
		if !x.Pop(&x.cqe) || !y.Pop(&y.cqe) {
			b.Fatal("nothing has come")
		}
	}
}
