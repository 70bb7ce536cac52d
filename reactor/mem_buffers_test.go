//go:build linux

package reactor_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// few is a loop with n receive buffers in all.
func few(kind reactor.RingKind, n int) reactor.LoopConfig {
	return reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64, Window: 1, Limit: n}}
}

// lease receives into a buffer and keeps it.
func (r *running) lease() (s *reactor.Socket, peer int, lease reactor.Lease) {
	r.t.Helper()
	s, peer = r.pair()
	write(r.t, peer, []byte("leased"))
	done := newResult()
	op := new(reactor.RecvLeaseOp)
	r.do(func() {
		s.RecvLease().Connect(op, &sink[reactor.Lease]{t: r.t, value: func(l reactor.Lease) { lease = l; done <- "" }})
		op.Start()
	})
	done.expect(r.t, "")
	return s, peer, lease
}

// leaser receives once into a buffer of the loop and releases it.
type leaser struct {
	op     reactor.RecvLeaseOp
	s      *reactor.Socket
	peer   int
	source stop.Source
	done   result
	took   func() // called when it has received
	ends   func() // called when it is stopped
}

func (r *running) leaser() *leaser {
	l := &leaser{done: newResult()}
	l.s, l.peer = r.pair()
	in := sinkOf[reactor.Lease](r.t, l.done, &l.source)
	in.value = func(lease reactor.Lease) {
		if l.took != nil {
			l.took()
		}
		l.done <- string(lease.Bytes())
		lease.Release()
	}
	in.stopped = func() {
		if l.ends != nil {
			l.ends()
		}
		l.done <- "stopped"
	}
	r.do(func() {
		l.s.RecvLease().Connect(&l.op, in)
		l.op.Start()
	})
	return l
}

// A receive that waits for a buffer is stopped, and its slot is taken by an operation that waits for something else.
// Then a buffer is released.
func TestBufferIsNotGivenToAnotherOperation(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, few(kind, 1))
		held, heldPeer, lease := r.lease()
		a, b := r.leaser(), r.leaser()
		for _, l := range []*leaser{a, b} {
			write(t, l.peer, []byte("x"))
			r.settle()
		}
		r.do(func() { a.source.RequestStop() })
		a.done.expect(t, "stopped")

		// A sequence without credit is dormant as well.
		many, manyPeer := r.pair()
		items := newResult()
		end := newResult()
		op := new(reactor.RecvManyOp)
		r.do(func() {
			many.RecvMany(1).Connect(op, seqSinkOf(t, end, nil, func(l reactor.Lease) {
				items <- string(l.Bytes())
				l.Release()
			}))
			op.Start()
		})
		write(t, manyPeer, []byte("1"))
		r.settle()
		b.done.none(t)
		items.none(t)

		r.do(lease.Release)
		b.done.expect(t, "x") // a's place in the queue must not keep b from its buffer
		items.expect(t, "1")
		write(t, manyPeer, []byte("2"))
		r.settle()
		items.none(t) // there was credit for one
		r.do(func() { op.Grant(1) })
		items.expect(t, "2")

		r.close(held, a.s, b.s, many)
		end.expect(t, "error: use of a closed descriptor")
		for _, fd := range []int{heldPeer, a.peer, b.peer, manyPeer} {
			unix.Close(fd)
		}
		r.end()
	})
}

// A receive that is stopped while it waits for a buffer leaves the queue immediately, from any place in it. The others
// keep their order.
func TestStoppedReceivesLeaveTheQueue(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, few(kind, 1))
		held, heldPeer, lease := r.lease()
		order := newResult()
		var all [6]*leaser
		for i := range all {
			l := r.leaser()
			l.took = func() { order <- fmt.Sprint(i) }
			all[i] = l
			write(t, l.peer, []byte("x"))
			r.settle()
		}
		for left, i := range []int{0, 2, 5} { // the first, one in the middle, the last
			r.do(func() { all[i].source.RequestStop() })
			all[i].done.expect(t, "stopped")
			r.do(func() {
				if n := r.WaitingForBuffers(); n != 5-left {
					t.Errorf("%d wait, want %d", n, 5-left)
				}
			})
		}
		r.do(lease.Release)
		for _, want := range []string{"1", "3", "4"} {
			order.expect(t, want)
		}
		r.close(held)
		unix.Close(heldPeer)
		for _, l := range all {
			r.close(l.s)
			unix.Close(l.peer)
		}
		r.end()
	})
}

// A receive that waits for a buffer completes when it is stopped, its socket is closed, or its loop is stopped.
func TestWaitingForABufferEnds(t *testing.T) {
	for _, how := range []string{"stopped", "closed", "loop stopped"} {
		t.Run(how, func(t *testing.T) {
			eachRing(t, func(t *testing.T, kind reactor.RingKind) {
				r := run(t, few(kind, 1))
				held, heldPeer, lease := r.lease()
				a := r.leaser()
				write(t, a.peer, []byte("x"))
				r.settle()
				a.done.none(t)
				switch how {
				case "stopped":
					r.do(func() {
						a.source.RequestStop()
						a.done.none(t)
					})
					a.done.expect(t, "stopped")
					r.do(lease.Release)
					r.close(a.s, held)
					r.end()
				case "closed":
					r.close(a.s)
					a.done.expect(t, "error: use of a closed descriptor")
					r.do(lease.Release)
					r.close(held)
					r.end()
				default:
					r.do(func() { a.ends = lease.Release })
					r.Stop()
					a.done.expect(t, "stopped")
					if err := r.wait(); err != nil {
						t.Error(err)
					}
					unix.Close(a.s.Fd())
					unix.Close(held.Fd())
				}
				unix.Close(a.peer)
				unix.Close(heldPeer)
			})
		})
	}
}

// Receives that have nothing to receive wait in the queue, too. They must not keep a buffer from receives that have
// data.
func TestIdleReceivesDoNotStarveBusyOnes(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, few(kind, 1))
		held, heldPeer, lease := r.lease()
		var all []*many
		for range 8 {
			all = append(all, r.many(reactor.Unlimited))
		}
		r.settle()
		last := all[len(all)-1]
		write(t, last.peer, []byte("hello"))
		r.settle()
		r.do(lease.Release)
		last.items.expect(t, "hello")
		for i, m := range all {
			text := fmt.Sprint("to ", i)
			write(t, m.peer, []byte(text))
			m.items.expect(t, text)
		}
		sockets := []*reactor.Socket{held}
		for _, m := range all {
			sockets = append(sockets, m.s)
			defer unix.Close(m.peer)
		}
		r.close(sockets...)
		unix.Close(heldPeer)
		r.end()
	})
}

// many is a sequence of receives that releases each buffer immediately.
type many struct {
	op    reactor.RecvManyOp
	s     *reactor.Socket
	peer  int
	items result
	end   result
}

func (r *running) many(credit int) *many {
	m := &many{items: newResult(), end: newResult()}
	m.s, m.peer = r.pair()
	r.do(func() {
		m.s.RecvMany(credit).Connect(&m.op, seqSinkOf(r.t, m.end, nil, func(l reactor.Lease) {
			m.items <- string(l.Bytes())
			l.Release()
		}))
		m.op.Start()
	})
	return m
}

// stream is a connection on which the loop echoes what it receives. It holds the leases until their bytes are sent.
type stream struct {
	r            *running
	s            *reactor.Socket
	peer         int
	many         reactor.RecvManyOp
	one          reactor.RecvLeaseOp
	send         reactor.SendOp
	queue        []reactor.Lease
	busy, isMany bool
	ended        result
}

func (c *stream) received(l reactor.Lease) {
	c.queue = append(c.queue, l)
	c.pump()
}

func (c *stream) pump() {
	if c.busy || len(c.queue) == 0 {
		return
	}
	c.busy = true
	c.s.SendAll(c.queue[0].Bytes()).Connect(&c.send, &sink[int]{t: c.r.t, value: func(int) {
		c.queue[0].Release()
		c.queue = c.queue[1:]
		c.busy = false
		if c.isMany {
			c.many.Grant(1)
		} else {
			c.one.Start()
		}
		c.pump()
	}})
	c.send.Start()
}

// Many connections share two buffers, half of them by sequences and half by single receives. Each gets all its bytes
// back, in order.
func TestFewBuffersManyConnections(t *testing.T) {
	const connections, messages = 32, 40
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, few(kind, 2))
		conns := make([]*stream, connections)
		sockets := make([]*reactor.Socket, connections)
		for i := range conns {
			c := &stream{r: r, ended: newResult()}
			c.s, c.peer = r.pair()
			conns[i], sockets[i] = c, c.s
			r.do(func() {
				if c.isMany = i%2 == 0; c.isMany {
					c.s.RecvMany(2).Connect(&c.many, seqSinkOf(t, c.ended, nil, c.received))
					c.many.Start()
				} else {
					in := sinkOf[reactor.Lease](t, c.ended, nil)
					in.value = c.received
					c.s.RecvLease().Connect(&c.one, in)
					c.one.Start()
				}
			})
		}
		done := make(chan error, connections)
		for i, c := range conns {
			go func() { done <- chat(t, c.peer, i, messages) }()
		}
		for range conns {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := r.Stats().BufferWaits; n == 0 {
			t.Error("the test shows nothing: no receive had to wait for a buffer")
		}
		r.close(sockets...)
		for _, c := range conns {
			c.ended.expect(t, "error: use of a closed descriptor")
			unix.Close(c.peer)
		}
		r.end()
	})
}

// chat sends messages and expects each of them back.
func chat(t testing.TB, fd, id, messages int) error {
	tv := unix.NsecToTimeval(int64(patience))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return err
	}
	for i := range messages {
		msg := bytes.Repeat([]byte(fmt.Sprintf("%d.%d ", id, i)), 1+i%40)
		go write(t, fd, msg)
		got := make([]byte, 0, len(msg))
		for len(got) < len(msg) {
			n, err := unix.Read(fd, got[len(got):cap(got)])
			if err == unix.EINTR {
				continue
			}
			if err != nil || n == 0 {
				return fmt.Errorf("connection %d, message %d: got %d of %d bytes: %w", id, i, len(got), len(msg), err)
			}
			got = got[:len(got)+n]
		}
		if !bytes.Equal(got, msg) {
			return fmt.Errorf("connection %d, message %d: got %q, want %q", id, i, got, msg)
		}
	}
	return nil
}

// Some kernels take a buffer even for EOF. It is released.
func TestEOFWithABuffer(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: 64, Window: 2, Limit: 4}})
		recvs, given := map[uint64]bool{}, false
		h.push = func(sqe *uring.SQE) { recvs[sqe.UserData] = sqe.Opcode == uring.OpRecv }
		h.provide = func(id uint16) bool { // buffer 0 is never seen by the ring itself
			given = given || id == 0
			return id != 0
		}
		h.pop = func(cqe *uring.CQE) bool {
			if recvs[cqe.UserData] && cqe.Res == 0 && given {
				cqe.Flags |= uring.CQEBuffer // number 0
				given = false
			}
			return true
		}
		r := runLoop(t, l)
		a, m := r.leaser(), r.many(reactor.Unlimited)
		r.settle()
		unix.Close(a.peer)
		a.done.expect(t, "")
		r.settle()
		unix.Close(m.peer)
		m.end.expect(t, "{}")
		r.close(a.s, m.s)
		r.end()
	})
}

// A ring that does not have the buffers that it should have is tried again after a backoff, not all the time.
func TestStarvedRingBacksOff(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		h := &hooked{Ring: newRing(t, kind)}
		found := false // the loop's
		h.provide = func(uint16) bool { return found }
		r, v := runVirtualOn(t, h, few(kind, 1))
		a := r.leaser()
		write(t, a.peer, []byte("x"))
		v.passes(t, time.Second) // by then the receive has found no buffer
		entered, began := r.Stats().Enters, v.time.Load()
		v.passes(t, time.Second)
		entered, took := r.Stats().Enters-entered, time.Duration(v.time.Load()-began)
		if tries := uint64(took/(10*time.Millisecond)) + 1; entered > 3*tries {
			t.Errorf("entered the ring %d times in %v", entered, took)
		}
		a.done.none(t)
		r.do(func() {
			found = true
			h.ProvideBuffer(0, 0)
		})
		a.done.expect(t, "x")
		r.close(a.s)
		unix.Close(a.peer)
		r.end()
	})
}

// A receive finds no buffer just before it is stopped, or its socket is closed.
func TestStoppedWithoutABuffer(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		h.pop = func(cqe *uring.CQE) bool {
			if cqe.Res == -int32(unix.ECANCELED) {
				cqe.Res = -int32(unix.ENOBUFS)
			}
			return true
		}
		r := runLoop(t, l)
		a, b, m := r.leaser(), r.leaser(), r.many(reactor.Unlimited)
		r.settle()
		r.do(func() { a.source.RequestStop() })
		a.done.expect(t, "stopped")
		r.close(a.s, b.s, m.s)
		b.done.expect(t, "error: use of a closed descriptor")
		m.end.expect(t, "error: use of a closed descriptor")
		for _, fd := range []int{a.peer, b.peer, m.peer} {
			unix.Close(fd)
		}
		r.end()
	})
}

// Buffers that a burst has used give their memory back to the system when they are idle, and can be used again.
func TestMemoryAfterABurst(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		const burst = 40
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 4096, Window: 1, Limit: 64}})
		for range 2 {
			var sockets []*reactor.Socket
			var peers []int
			var leases []reactor.Lease
			for range burst {
				s, peer, lease := r.lease()
				sockets, peers, leases = append(sockets, s), append(peers, peer), append(leases, lease)
			}
			r.do(func() {
				if n := r.ResidentBuffers(); n < burst {
					t.Errorf("%d buffers in use count as %d", burst, n)
				}
				r.TrimBuffers()
				for _, lease := range leases {
					if string(lease.Bytes()) != "leased" {
						t.Errorf("the bytes of a leased buffer have changed: %q", lease.Bytes())
					}
					lease.Release()
				}
				for range 4 {
					r.TrimBuffers()
				}
				if n := r.ResidentBuffers(); n > 4 {
					t.Errorf("%d buffers have kept their memory", n)
				}
			})
			r.close(sockets...)
			for _, peer := range peers {
				unix.Close(peer)
			}
		}
		r.end()
	})
}

// A buffer that gives its memory back keeps the memory that it shares with its neighbours, a part of a page.
func TestNeighboursKeepTheirMemory(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 1024, Window: 1, Limit: 64}})
		var sockets []*reactor.Socket
		var peers []int
		var leases []reactor.Lease
		for range 40 {
			s, peer, lease := r.lease()
			sockets, peers, leases = append(sockets, s), append(peers, peer), append(leases, lease)
		}
		r.do(func() {
			for i := range leases {
				if i%2 == 0 {
					leases[i].Release()
				}
			}
			r.TrimBuffers()
			for i, lease := range leases {
				if i%2 == 0 {
					continue
				}
				if string(lease.Bytes()) != "leased" {
					t.Errorf("the bytes of a leased buffer have changed: %q", lease.Bytes())
				}
				lease.Release()
			}
		})
		r.close(sockets...)
		for _, peer := range peers {
			unix.Close(peer)
		}
		r.end()
	})
}
