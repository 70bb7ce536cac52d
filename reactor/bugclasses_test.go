//go:build linux

package reactor_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// The bugs that engines of this kind have had, one after the other: each has a test here, named after the rule
// that prevents it, or at the place that is named.
//
//	 1  a result is lost to a cancel             TestSuccessWhileBeingCancelled, TestSuccessRacesCancel
//	 2  a cancel ahead of its target             TestCancelIsQueuedBehindItsTarget
//	 3  a cancel for which there was no room     TestCancelAlwaysFindsRoom
//	 4  a cancel that hits a later operation     TestOperationDoesNotCompleteUnderALiveCancel
//	 5  a completion for an earlier operation    TestLateCompletionFindsNothing
//	 6  a wake-up is missed                      TestWakeUpIsNotLostWhileFallingAsleep
//	 7  asleep with work to do                   TestLoopDoesNotSleepWithWorkReady
//	 8  an interrupted wait is taken for an error TestInterruptedWaitIsNoError
//	 9  timers that spin, or are entries         TestTimersAreNotEntriesAndDoNotSpin
//	10  the ring goes under an operation         TestRingIsClosedWhenNothingIsInFlight
//	11  a descriptor goes under an operation     TestDescriptorIsClosedBehindItsOperations
//	12  a cancel does not find its target        TestCancelThatFoundNothingIsRetried

// ledger is what goes into a ring and comes out of it.
type ledger struct {
	host.Ring
	pushed   func(sqe *uring.SQE)
	popped   func(cqe *uring.CQE) (hold bool) // true: it comes later
	held     []uring.CQE
	out      map[uint64]int32 // entries without a final completion, and their descriptors
	problems []string
	closed   bool
}

func (g *ledger) Push(sqe *uring.SQE) {
	g.out[sqe.UserData] = sqe.Fd
	if g.pushed != nil {
		g.pushed(sqe)
	}
	g.Ring.Push(sqe)
}

func (g *ledger) Pop(cqe *uring.CQE) bool {
	for g.Ring.Pop(cqe) {
		if g.popped != nil && g.popped(cqe) {
			g.held = append(g.held, *cqe)
			continue
		}
		if !cqe.More() {
			delete(g.out, cqe.UserData)
		}
		return true
	}
	if g.popped == nil && len(g.held) != 0 {
		*cqe, g.held = g.held[0], g.held[1:]
		delete(g.out, cqe.UserData)
		return true
	}
	return false
}

func (g *ledger) Close() error {
	if len(g.out) != 0 {
		g.wrong("the ring is closed with %d entries in flight", len(g.out))
	}
	g.closed = true
	return g.Ring.Close()
}

func (g *ledger) wrong(format string, args ...any) {
	g.problems = append(g.problems, fmt.Sprintf(format, args...))
}

// isCancel tells the entries and completions of cancels from those of operations.
func isCancel(userData uint64) bool { return userData&0xff != 0 }

// keep runs a loop on a ring with a ledger.
func keep(t testing.TB, kind reactor.RingKind, entries int) (*running, *ledger) {
	t.Helper()
	g := &ledger{Ring: newRing(t, kind), out: map[uint64]int32{}}
	if kind == reactor.IOUring && entries != 0 {
		_ = g.Ring.Close()
		var err error
		if g.Ring, err = uring.New(uring.Config{Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := reactor.NewLoopOn(g, nil, reactor.LoopConfig{DrainTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	return runLoop(t, l), g
}

// audit ends the loop and reports what was wrong.
func (g *ledger) audit(t testing.TB, r *running) {
	t.Helper()
	r.end()
	if !g.closed {
		t.Error("the ring was not closed")
	}
	for _, problem := range g.problems {
		t.Error(problem)
	}
}

// Stop is requested at the worst time, while the entry is being queued, and right after Start: the ring sees the
// target first.
func TestCancelIsQueuedBehindItsTarget(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, g := keep(t, kind, 0)
		s, peer := r.pair()
		for _, during := range []bool{true, false} {
			source := new(stop.Source)
			var op reactor.RecvOp
			var order []bool // is it the cancel?
			done := newResult()
			r.do(func() {
				g.pushed = func(sqe *uring.SQE) {
					if during && sqe.Opcode == uring.OpRecv {
						source.RequestStop() // the target is not in the queue yet
					}
					if sqe.Opcode == uring.OpRecv || sqe.Opcode == uring.OpAsyncCancel {
						order = append(order, sqe.Opcode == uring.OpAsyncCancel)
					}
				}
				s.Recv(make([]byte, 8)).Connect(&op, sinkOf[int](t, done, source))
				op.Start()
				source.RequestStop()
			})
			done.expect(t, "stopped")
			r.do(func() {
				g.pushed = nil
				if fmt.Sprint(order) != "[false true]" {
					t.Errorf("cancels among the entries: %v, want the target and then its cancel", order)
				}
			})
		}
		r.close(s)
		unix.Close(peer)
		g.audit(t, r)
	})
}

// More cancels in one turn than the queue has room for, by far, all of them effective.
func TestCancelAlwaysFindsRoom(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, g := keep(t, kind, 1)
		const n = 200
		sockets, peers := make([]*reactor.Socket, n), make([]int, n)
		ops := make([]reactor.RecvOp, n)
		source := new(stop.Source)
		done := make(result, n)
		for i := range n {
			sockets[i], peers[i] = r.pair()
		}
		r.do(func() {
			for i, s := range sockets {
				s.Recv(make([]byte, 8)).Connect(&ops[i], sinkOf[int](t, done, source))
				ops[i].Start()
			}
		})
		r.do(func() { source.RequestStop() })
		for range n {
			done.expect(t, "stopped")
		}
		r.close(sockets...)
		for _, fd := range peers {
			unix.Close(fd)
		}
		g.audit(t, r)
	})
}

// An operation whose cancel is still out is not over, though its own completion is in: its user_data could be
// given to the next one, which the cancel would hit.
func TestOperationDoesNotCompleteUnderALiveCancel(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, g := keep(t, kind, 0)
		s, peer := r.pair()
		var op reactor.RecvOp
		source := new(stop.Source)
		done := newResult()
		r.do(func() {
			g.popped = func(cqe *uring.CQE) bool { return isCancel(cqe.UserData) }
			s.Recv(make([]byte, 8)).Connect(&op, sinkOf[int](t, done, source))
			op.Start()
		})
		r.do(func() { source.RequestStop() })
		r.settle()
		done.none(t)
		r.do(func() {
			if len(g.held) != 1 {
				t.Errorf("%d completions of cancels, want 1", len(g.held))
			}
			g.popped = nil
		})
		r.settle()
		done.expect(t, "stopped")
		r.close(s)
		unix.Close(peer)
		g.audit(t, r)
	})
}

// A cancel completes with ENOENT although its target is with the ring: it is submitted again until it finds it.
func TestCancelThatFoundNothingIsRetried(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, how := range []string{"stopped", "closed"} {
			l, h := hook(t, kind, reactor.LoopConfig{})
			const misses = 3
			cancels := 0
			h.push = func(sqe *uring.SQE) {
				if sqe.Opcode != uring.OpAsyncCancel {
					return
				}
				if cancels++; cancels <= misses {
					sqe.Addr ^= 1 << 8 // another generation: of no entry
				}
			}
			r := runLoop(t, l)
			s, peer := r.pair()
			source := new(stop.Source)
			done := newResult()
			var recv reactor.RecvOp
			r.do(func() {
				s.Recv(make([]byte, 1)).Connect(&recv, sinkOf[int](t, done, source))
				recv.Start()
			})
			r.settle()
			if how == "stopped" {
				source.RequestStop()
				done.expect(t, "stopped")
				r.close(s)
			} else {
				r.close(s)
				done.expect(t, "error: use of a closed descriptor")
			}
			r.do(func() {
				if n := l.Stats().Cancels; cancels != misses+1 || n != misses+1 {
					t.Errorf("%d cancels were submitted, and %d counted, want %d", cancels, n, misses+1)
				}
			})
			unix.Close(peer)
			r.end()
		}
	})
}

// The loop has been marked asleep, and has not entered the ring yet: what comes then still wakes it.
func TestWakeUpIsNotLostWhileFallingAsleep(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, what := range []string{"post", "stop request", "end"} {
			l, h := hook(t, kind, reactor.LoopConfig{})
			source := new(stop.Source)
			done := newResult()
			w := newWork(func() { done <- "ran" }, nil)
			armed, acted := false, false
			h.enter = func(timeout time.Duration) error {
				if !armed || acted || timeout == 0 {
					return nil
				}
				acted = true
				over := make(chan bool)
				go func() {
					switch what {
					case "post":
						l.Enqueue(&w.Work)
					case "stop request":
						source.RequestStop()
					case "end":
						l.Stop()
					}
					over <- true
				}()
				<-over
				return nil
			}
			r := runLoop(t, l)
			var op reactor.SleepOp
			r.do(func() {
				r.SleepFor(time.Hour).Connect(&op, sinkOf[struct{}](t, done, source))
				op.Start()
				armed = true
			})
			switch what {
			case "post":
				done.expect(t, "ran")
				r.do(func() { source.RequestStop() })
				done.expect(t, "stopped")
				r.end()
			case "stop request":
				done.expect(t, "stopped")
				r.end()
			case "end":
				done.expect(t, "stopped")
				if err := r.wait(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// An operation that is ready to finish, work that was posted, a timer that is due: with any of them the ring is
// entered without a wait.
func TestLoopDoesNotSleepWithWorkReady(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		pending := "" // what there is to do
		h.enter = func(timeout time.Duration) error {
			if pending != "" && timeout != 0 {
				t.Errorf("sleeps for %v with %s to do", timeout, pending)
			}
			return nil
		}
		r := runLoop(t, l)
		var op reactor.ShutdownOp
		var timer reactor.Timer
		timer.Init(onTimer(func(int64) { pending = "" }))
		s, peer := r.pair()
		w := newWork(func() { pending = "" }, nil)
		source := new(stop.Source)
		var sleep reactor.SleepOp
		done := newResult()
		// Each is made from where the loop has already passed it in this turn.
		r.do(func() {
			s.Shutdown(unix.SHUT_RD).Connect(&op, &sink[struct{}]{t: t, value: func(struct{}) {
				if pending == "" {
					pending = "an operation"
					op.Start() // among those that are ready, while they are being finished
					return
				}
				pending = ""
				done <- "over"
			}})
			op.Start()
		})
		done.expect(t, "over")
		r.do(func() {
			pending = "a timer"
			r.SetTimer(&timer, r.Now())
		})
		r.settle()
		r.do(func() {
			pending = "work"
			r.Enqueue(&w.Work)
		})
		r.settle()
		r.do(func() {
			pending = "a stop request"
			out := sinkOf[struct{}](t, done, source)
			out.stopped = func() {
				pending = ""
				done <- "over"
			}
			r.SleepFor(time.Hour).Connect(&sleep, out)
			sleep.Start()
			source.RequestStop()
		})
		done.expect(t, "over")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// Signals interrupt the wait again and again; the loop neither fails nor ends early.
func TestInterruptedWaitIsNoError(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var tid int
		var op reactor.SleepOp
		done := newResult()
		var due, over int64
		r.do(func() {
			tid = unix.Gettid()
			out := sinkOf[struct{}](t, done, nil)
			out.value = func(struct{}) {
				over = r.Clock()
				done <- "over"
			}
			due = r.Clock() + int64(30*time.Millisecond)
			r.SleepUntil(due).Connect(&op, out)
			op.Start()
		})
		for r.Clock() < due {
			if err := unix.Tgkill(unix.Getpid(), tid, unix.SIGURG); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		done.expect(t, "over")
		if over < due {
			t.Errorf("over %d ns early", due-over)
		}
		r.end()
	})
}

// A sleep makes no entry, and a wait that ends a little early is not gone on with in a spin.
func TestTimersAreNotEntriesAndDoNotSpin(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, g := keep(t, kind, 0)
		done := newResult()
		var op reactor.SleepOp
		var before uint64
		r.settle()
		r.do(func() {
			g.pushed = func(sqe *uring.SQE) {
				if op := sqe.Opcode; op != uring.OpClose {
					g.wrong("a timer made the entry %v", sqe)
				}
			}
			before = r.Stats().Enters
			r.SleepFor(5900*time.Microsecond).Connect(&op, sinkOf[struct{}](t, done, nil))
			op.Start()
		})
		done.expect(t, "{}")
		if n := r.Stats().Enters - before; n > 40 {
			t.Errorf("the ring was entered %d times during one sleep", n)
		}
		r.do(func() { g.pushed = nil })
		g.audit(t, r)
	})
}

// A loop that is stopped with operations in flight, which end late, closes its ring behind them.
func TestRingIsClosedWhenNothingIsInFlight(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, g := keep(t, kind, 0)
		s, peer := r.pair()
		var recv reactor.RecvOp
		var poll reactor.PollOp
		done := newResult()
		r.do(func() {
			turns := 0
			g.popped = func(cqe *uring.CQE) bool { // the ring takes its time
				if turns++; turns > 3 {
					g.popped = nil
				}
				return !cqe.More()
			}
			s.Recv(make([]byte, 8)).Connect(&recv, sinkOf[int](t, done, nil))
			recv.Start()
			s.Poll(unix.POLLIN).Connect(&poll, sinkOf[uint32](t, done, nil))
			poll.Start()
		})
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		done.expect(t, "stopped")
		done.expect(t, "stopped")
		for _, problem := range g.problems {
			t.Error(problem)
		}
		if !g.closed {
			t.Error("the ring was not closed")
		}
		unix.Close(s.Fd())
		unix.Close(peer)
	})
}

// The entry that closes a descriptor is queued when everything else on it has completed.
func TestDescriptorIsClosedBehindItsOperations(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, g := keep(t, kind, 0)
		s, peer := r.pair()
		var recv reactor.RecvOp
		var poll reactor.PollManyOp
		var op reactor.CloseOp
		ended, closed := newResult(), newResult()
		r.do(func() {
			g.pushed = func(sqe *uring.SQE) {
				if sqe.Opcode != uring.OpClose {
					return
				}
				for userData, fd := range g.out {
					if fd == sqe.Fd && userData != sqe.UserData {
						g.wrong("descriptor %d is closed with an operation on it", fd)
					}
				}
			}
			s.Recv(make([]byte, 8)).Connect(&recv, sinkOf[int](t, ended, nil))
			recv.Start()
			s.PollMany(unix.POLLIN).Connect(&poll, seqSinkOf(t, ended, nil, func(uint32) {}))
			poll.Start()
		})
		r.settle()
		r.do(func() {
			s.Close().Connect(&op, sinkOf[struct{}](t, closed, nil))
			op.Start()
		})
		ended.expect(t, "error: use of a closed descriptor")
		ended.expect(t, "error: use of a closed descriptor")
		closed.expect(t, "{}")
		unix.Close(peer)
		g.audit(t, r)
	})
}
