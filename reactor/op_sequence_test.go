//go:build linux

package reactor_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/stop"
)

// consumer receives by a sequence and keeps the leases until asked to release them.
type consumer struct {
	r     *running
	op    reactor.RecvManyOp
	s     *reactor.Socket
	peer  int
	held  []reactor.Lease // the loop's
	got   []byte          // the loop's
	idle  bool            // it no longer keeps anything
	ended result
}

func (r *running) consumer(credit int) *consumer {
	c := &consumer{r: r, ended: newResult()}
	c.s, c.peer = r.pair()
	r.do(func() {
		c.s.RecvMany(credit).Connect(&c.op, seqSinkOf(r.t, c.ended, nil, func(l reactor.Lease) {
			c.held = append(c.held, l)
			c.got = append(c.got, l.Bytes()...)
			if c.idle {
				c.consume()
			}
		}))
		c.op.Start()
	})
	return c
}

// consume releases what is held and grants as much.
func (c *consumer) consume() {
	for _, l := range c.held {
		l.Release()
	}
	c.op.Grant(len(c.held))
	c.held = c.held[:0]
}

func (c *consumer) items() (n int) {
	c.r.settle()
	c.r.do(func() { n = len(c.held) })
	return n
}

func (c *consumer) end() {
	c.r.t.Helper()
	c.r.do(func() {
		c.idle = true
		c.consume()
	})
	unix.Close(c.peer)
	c.ended.expect(c.r.t, "{}")
	c.r.close(c.s)
}

// A slow consumer gets everything in order, and no more at a time than it granted.
func TestCreditBoundsWhatIsLeased(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, credit := range []int{1, 2, 7} {
			t.Run(fmt.Sprint(credit), func(t *testing.T) {
				r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64}})
				c := r.consumer(credit)
				data := make([]byte, 64*200)
				for i := range data {
					data[i] = byte(i / 64)
				}
				go write(t, c.peer, data)
				rounds := 0
				for deadline := time.Now().Add(patience); ; rounds++ {
					var got int
					if n := c.items(); n > credit {
						t.Fatalf("%d buffers are leased with a credit of %d", n, credit)
					}
					r.do(func() { got = len(c.got); c.consume() })
					if got == len(data) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("%d bytes of %d", got, len(data))
					}
				}
				if !bytes.Equal(c.got, data) {
					t.Error("the bytes are not those that were sent")
				}
				c.end()
				r.end()
			})
		}
	})
}

// Running short of buffers in the middle does not add to the credit.
func TestCreditOutlastsAShortage(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64, Window: 4, Limit: 4}})
		var others []*reactor.Socket
		var leases []reactor.Lease
		for range 3 {
			s, peer, lease := r.lease()
			defer unix.Close(peer)
			others, leases = append(others, s), append(leases, lease)
		}
		c := r.consumer(3)
		write(t, c.peer, make([]byte, 64*6))
		if n := c.items(); n != 1 {
			t.Errorf("%d items, with one buffer left", n)
		}
		r.do(func() {
			for _, l := range leases {
				l.Release()
			}
			c.held[0].Release()
			c.held = c.held[:0]
		})
		if n := c.items(); n != 2 {
			t.Errorf("%d more items, with a credit of 2 left", n)
		}
		c.end()
		r.close(others...)
		r.end()
	})
}

// Grants are never lost nor turned into debt, however large.
func TestCreditDoesNotOverflow(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		for _, credit := range []int{1, reactor.Unlimited - 1, reactor.Unlimited, math.MaxInt} {
			c := r.consumer(credit)
			for i := range 4 {
				r.do(func() {
					c.op.Grant(reactor.Unlimited)
					c.op.Grant(math.MaxInt)
				})
				write(t, c.peer, []byte("x"))
				if n := c.items(); n != 1 {
					t.Errorf("credit %d: message %d: %d items", credit, i, n)
				}
				r.do(func() { c.consume() })
			}
			c.end()
		}
		r.end()
	})
}

// What is made of a sequence grants it what it consumes: with any credit it gets everything, and nothing is allocated
// for it.
func TestCreditComposes(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, credit := range []int{1, 2} {
			r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64}})

			ticks := 0
			count := func(reactor.Tick) error { ticks++; return nil }
			every := seq.ForEach(seq.Take(r.Every(time.Millisecond, credit), 10, nil), count, nil)
			await(r, "ticks", every)
			if ticks != 10 {
				t.Errorf("credit %d: %d ticks of 10", credit, ticks)
			}

			ln := r.listen()
			accepted := 0
			closeFd := func(fd int) { unix.Close(fd) }
			odd := func(int) bool { accepted++; return accepted%2 == 1 }
			hundred := seq.Filter(ln.AcceptMany(credit), odd, closeFd)
			dialed := make(chan bool)
			go func() {
				defer close(dialed)
				for range 100 {
					ln.dial()
				}
			}()
			await(r, "connections", seq.ForEach(hundred, func(fd int) error {
				closeFd(fd)
				if accepted == 99 {
					return sender.ErrStopped
				}
				return nil
			}, closeFd))
			<-dialed
			r.close(&ln.Socket)
			ln.hangUp()

			s, peer := r.pair()
			big, bigPeer := r.pair()
			lengths := func(
				s reactor.RecvManySender,
			) seq.TransformSequence[reactor.Lease, int, reactor.RecvManyOp, reactor.RecvManySender] {
				return seq.Transform(s, func(l reactor.Lease) int { defer l.Release(); return l.Len() }, reactor.Lease.Release)
			}
			got := 0
			for fd, n := range map[int]int{peer: 64 * 200, bigPeer: 1 << 20} {
				go func() {
					write(t, fd, make([]byte, n))
					unix.Close(fd)
				}()
			}
			merged := seq.Merge(lengths(s.RecvMany(credit)), lengths(big.RecvMany(credit).Adaptive()))
			await(r, "bytes", seq.ForEach(merged, func(n int) error { got += n; return nil }, nil))
			if got != 64*200+1<<20 {
				t.Errorf("credit %d: %d bytes of %d", credit, got, 64*200+1<<20)
			}
			r.close(s, big)
			r.end()
		}
	})
}

// await starts s on the loop and waits for its end.
func await[O any, S sender.Sender[struct{}, O]](r *running, what string, s S) {
	r.t.Helper()
	done := make(chan string, 1)
	start := s.Connect(new(O), &sink[struct{}]{
		t:       r.t,
		value:   func(struct{}) { done <- "" },
		stopped: func() { done <- "" },
		failed:  func(err error) { done <- err.Error() },
	})
	r.do(start.Start)
	select {
	case failure := <-done:
		if failure != "" {
			r.t.Errorf("%s: %s", what, failure)
		}
	case <-time.After(patience):
		r.t.Fatalf("%s stall: %+v", what, r.Stats())
	}
}

// Sources of two loops: each is granted what is for it on its own loop, whichever consumes the items.
func TestCreditOfTwoLoops(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		a, b := run(t, reactor.LoopConfig{Ring: kind}), run(t, reactor.LoopConfig{Ring: kind})
		n := 0
		merged := seq.Merge(onLoop{a.Loop, a.Every(20*time.Microsecond, 1)}, onLoop{b.Loop, b.Every(20*time.Microsecond, 2)})
		await(a, "ticks", seq.ForEach(seq.Take(merged, 2000, nil), func(reactor.Tick) error { n++; return nil }, nil))
		if n != 2000 {
			t.Errorf("%d ticks of 2000", n)
		}
		a.end()
		b.end()
	})
}

// onLoop is a sequence that is started on its loop.
type onLoop struct {
	l *reactor.Loop
	reactor.EverySender
}

type onLoopOp struct {
	reactor.EveryOp
	post sender.Work
}

func (s onLoop) Connect(op *onLoopOp, r seq.Receiver[reactor.Tick]) sender.Operation {
	s.EverySender.Connect(&op.EveryOp, r)
	op.post.Runner = newWork(op.EveryOp.Start, func() { panic("the loop has ended") })
	return &startOnLoop{op, s.l}
}

// startOnLoop starts an onLoop, and grants it.
type startOnLoop struct {
	*onLoopOp
	l *reactor.Loop
}

func (s *startOnLoop) Start() { s.l.Enqueue(&s.post) }

// Granting, stopping and closing from inside SetNext.
func TestCreditIsGrantedInside(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64}})
		m := r.many(1)
		grant := newResult()
		s, peer := r.pair()
		var op reactor.RecvManyOp
		total := 0
		r.do(func() {
			s.RecvMany(1).Connect(&op, seqSinkOf(t, grant, nil, func(l reactor.Lease) {
				total += l.Len()
				l.Release()
				op.Grant(1)
			}))
			op.Start()
		})
		write(t, peer, make([]byte, 64*100))
		unix.Close(peer)
		grant.expect(t, "{}")
		if total != 6400 {
			t.Errorf("%d bytes of 6400", total)
		}
		r.close(s, m.s)
		m.end.expect(t, "error: use of a closed descriptor")
		unix.Close(m.peer)
		r.end()
	})
}

// AcceptMany takes no more connections than it has credit for: the others wait in the backlog.
func TestAcceptCredit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		ln := r.listen()
		defer ln.hangUp()
		var op reactor.AcceptManyOp
		accepted, ended := make(chan int, 64), newResult()
		r.do(func() {
			ln.AcceptMany(3).Connect(&op, seqSinkOf(t, ended, nil, func(fd int) { accepted <- fd }))
			op.Start()
		})
		for range 10 {
			ln.dial()
		}
		for _, step := range []struct{ grant, want int }{{0, 3}, {2, 2}, {0, 0}, {4, 4}, {5, 1}} {
			r.do(func() { op.Grant(step.grant) })
			r.settle()
			if n := len(accepted); n != step.want {
				t.Errorf("%d were accepted after %d more were granted, want %d", n, step.grant, step.want)
			}
			for len(accepted) > 0 {
				unix.Close(<-accepted)
			}
		}
		r.close(&ln.Socket)
		ended.expect(t, "error: use of a closed descriptor")
		r.end()
	})
}

// A socket has one sequence at a time; when that has completed it can have another.
func TestSecondSequenceIsRefused(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		m := r.many(reactor.Unlimited)
		second := newResult()
		var source stop.Source
		var op reactor.RecvManyOp
		begin := func() {
			m.s.RecvMany(1).Connect(&op, seqSinkOf(t, second, &source, func(l reactor.Lease) { l.Release() }))
			op.Start()
		}
		r.do(begin)
		second.expect(t, "error: device or resource busy")
		write(t, m.peer, []byte("x"))
		m.items.expect(t, "x") // the first continues
		if err := unix.Shutdown(m.peer, unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		m.end.expect(t, "{}")
		r.do(begin)
		second.expect(t, "{}")
		r.close(m.s)
		unix.Close(m.peer)
		r.end()
	})
}
