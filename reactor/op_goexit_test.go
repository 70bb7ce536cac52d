//go:build linux

package reactor_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

func exit[A, B any](A) B {
	runtime.Goexit()
	panic("unreachable")
}

// wantExit waits for an operation that called Goexit on a loop.
func wantExit[T, O any, S sender.Sender[T, O]](t *testing.T, what string, l *reactor.Loop, s S) {
	t.Helper()
	if _, err := sender.SyncWait(t.Context(), sender.StartsOn[T, O](l, s)); !errors.Is(err, sender.ErrGoexit) {
		t.Errorf("%s: %v", what, err)
	}
}

// A function that calls Goexit on a loop's thread costs neither its operation nor the loop, which stays on its thread,
// with its order, its timers and its tasks.
func TestLoopOutlivesGoexit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind, DrainTimeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		returned, tid := false, 0
		go func() {
			_ = l.Run(func() { tid = unix.Gettid(); runtime.Goexit() })
			returned = true
		}()
		wantExit(t, "Then", l, sender.Then(l.Nop(), exit[struct{}, int]))
		wantExit(t, "SleepFor", l, sender.Then(l.SleepFor(time.Microsecond), exit[struct{}, int]))
		wantExit(t, "ScheduleAfter", l, sender.Then(sender.ScheduleAfter(l, time.Microsecond), exit[struct{}, int]))
		wantExit(t, "task", l, task.NewValue(func(*task.T) (int, error) { return exit[int, int](0), nil }))
		wantExit(t, "what follows a task", l, sender.Then(task.New(func(*task.T) error { return nil }), exit[struct{}, int]))
		wantExit(t, "Every", l, seq.ForEach(l.Every(time.Microsecond, 2), exit[reactor.Tick, error], nil))
		wantExit(t, "a part of it", l, sender.WhenAny(
			sender.Then(l.SleepFor(time.Microsecond), exit[struct{}, int]),
			sender.Then(l.SleepFor(time.Hour), exit[struct{}, int])))

		// Many, of which each is in one batch with others.
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 50 {
					exits := sender.AsFuture(sender.StartsOn(l, sender.Then(l.Nop(), exit[struct{}, int])))
					awaits := sender.AsFuture(sender.WriteEnv(task.New(func(t *task.T) error {
						_, err := task.Await(t, l.Nop())
						return err
					}), sender.SchedulerEnv{Sch: l}))
					if _, err := exits.Get(t.Context()); err != sender.ErrGoexit {
						t.Errorf("Nop: %v", err)
					}
					if _, err := awaits.Get(t.Context()); err != nil {
						t.Errorf("task: %v", err)
					}
				}
			})
		}
		all.Wait()
		thread := sender.Then(sender.Schedule(l), func(struct{}) int { return unix.Gettid() })
		if here, err := sender.SyncWait(t.Context(), thread); here != tid || err != nil {
			t.Errorf("on thread %d, %v; want %d", here, err, tid)
		}
		endAfterGoexit(t, l)
		if returned {
			t.Error("Run returned after a Goexit")
		}
	})
}

// A receiver of items that calls Goexit ends its sequence and leaves nothing behind, whatever the ring does with what
// is multishot.
func TestSequencesOutliveGoexit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, credit := range []int{1, 4, reactor.Unlimited} {
			r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: patience})
			socket, peer := r.pair()
			write(t, peer, []byte("message"))
			wantExit(t, fmt.Sprintf("RecvMany(%d)", credit), r.Loop,
				seq.ForEach(socket.RecvMany(credit), func(l reactor.Lease) error {
					l.Release()
					return exit[int, error](0)
				}, reactor.Lease.Release))

			// And one that is not to end by it.
			got := make(chan string)
			op := new(reactor.RecvManyOp)
			r.do(func() {
				socket.RecvMany(credit).Connect(op, seqSinkOf(t, make(result, 1), nil, func(l reactor.Lease) {
					b := string(l.Bytes())
					l.Release()
					op.Grant(1)
					go func() { got <- b }()
					runtime.Goexit()
				})).Start()
			})
			for range 3 {
				write(t, peer, []byte("again"))
				if b := <-got; b != "again" {
					t.Errorf("received %q", b)
				}
			}
			r.close(socket)
			_ = unix.Close(peer)
			endAfterGoexit(t, r.Loop)
		}
	})
}

// A receiver that calls Goexit for an item gets no more than there is credit for.
func TestCreditOutlivesGoexit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: patience})
		s, at := r.udp()
		peer, _ := udpPeer(t, at)
		items, ended, source := make(chan string, 16), newResult(), new(stop.Source)
		op := new(reactor.RecvMsgManyOp)
		r.do(func() {
			s.RecvFromMany(2).Connect(op, seqSinkOf(t, ended, source, func(d reactor.Datagram) {
				items <- string(d.Bytes())
				d.Release()
				runtime.Goexit()
			})).Start()
		})
		take := func(want string) {
			t.Helper()
			select {
			case got := <-items:
				if got != want {
					t.Errorf("%q was received, want %q", got, want)
				}
			case <-time.After(patience):
				t.Fatalf("%q was not received", want)
			}
		}
		for _, text := range []string{"1", "2"} {
			put(t, peer, text)
			take(text)
		}
		r.settle()
		for _, text := range []string{"3", "4"} {
			put(t, peer, text)
			r.settle()
		}
		if n := len(items); n != 0 {
			t.Errorf("%d items without credit", n)
		}
		r.do(func() { op.Grant(2) })
		take("3")
		take("4")
		r.do(func() { source.RequestStop() })
		ended.expect(t, "stopped")
		_ = unix.Close(peer)
		r.close(s)
		endAfterGoexit(t, r.Loop)
	})
}

// A receiver that calls Goexit for each item of a pipe gets them all.
func TestReadManyOutlivesGoexit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, credit := range []int{1, reactor.Unlimited} {
			r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: patience})
			p := r.pipe()
			items, ended := make(chan string, 16), newResult()
			op := new(reactor.ReadManyOp)
			r.do(func() {
				p.Reader.ReadMany(credit).Connect(op, seqSinkOf(t, ended, nil, func(l reactor.Lease) {
					b := string(l.Bytes())
					l.Release()
					op.Grant(1)
					items <- b
					runtime.Goexit()
				})).Start()
			})
			for range 3 {
				must[int](r, p.Writer.WriteAll([]byte("again")), new(reactor.WriteOp))
				select {
				case b := <-items:
					if b != "again" {
						t.Errorf("read %q", b)
					}
				case end := <-ended:
					t.Fatalf("it ended: %s", end)
				case <-time.After(patience):
					t.Fatal("nothing was read")
				}
			}
			r.closeFiles(&p.Writer)
			ended.expect(t, "{}")
			r.closeFiles(&p.Reader)
			endAfterGoexit(t, r.Loop)
		}
	})
}

// endAfterGoexit stops a loop whose Run does not return, and expects nothing to be left of it.
func endAfterGoexit(t *testing.T, l *reactor.Loop) {
	t.Helper()
	l.Stop()
	select {
	case <-l.Done():
	case <-time.After(patience):
		t.Fatal("the loop does not end")
	}
	if st := l.Stats(); st.InFlight != 0 || st.Stale != 0 || st.Leaked != 0 || st.LeasedBytes != 0 {
		t.Errorf("the counters of a loop that has ended: %+v", st)
	}
}

// A sequence of signals that has failed completes with the error also if its receiver calls Goexit for the last signal.
func TestFailedSignalsOutliveGoexit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: patience})
		const noSignal = syscall.Signal(99)
		delivered := false
		for deadline := time.Now().Add(patience); !delivered; {
			if time.Now().After(deadline) {
				t.Fatal("no signal has come before the sequence failed")
			}
			op, res := new(reactor.SignalsOp), newResult()
			r.do(func() {
				r.Signals(4, syscall.SIGUSR1, noSignal).Connect(op, seqSinkOf(t, res, nil, func(os.Signal) {
					delivered = true
					runtime.Goexit()
				})).Start()
				_ = syscall.Kill(os.Getpid(), syscall.SIGUSR1)
				time.Sleep(time.Millisecond) // the signal comes while the loop has not completed the sequence yet
			})
			res.expect(t, "error: invalid argument")
		}
		endAfterGoexit(t, r.Loop)
	})
}

// A reactor's Run returns when its loops have ended, whatever was called on them.
func TestReactorOutlivesGoexit(t *testing.T) {
	r, err := reactor.New(reactor.Config{Loops: 2})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(nil) }()
	for _, l := range r.Loops() {
		wantExit(t, "Then", l, sender.Then(l.Nop(), exit[struct{}, int]))
	}
	r.Stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not return")
	}
}
