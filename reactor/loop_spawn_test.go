//go:build linux

package reactor_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/task"
)

// endTasks stops the loop, whose tasks count as in flight until then.
func (r *running) endTasks() {
	r.t.Helper()
	r.Stop()
	if err := r.wait(); err != nil {
		r.t.Errorf("Run: %v", err)
	}
	if st := r.Stats(); st.InFlight != 0 || st.Leaked != 0 {
		r.t.Errorf("the counters of a loop that has ended: %+v", st)
	}
}

func TestSpawnRunsOnTheLoop(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		done := newResult()
		for range 100 {
			r.Spawn(task.New(func(t *task.T) error {
				for range 3 {
					if _, err := task.Await(t, r.Nop()); err != nil {
						done <- err.Error()
						return err
					}
				}
				done <- "done"
				return nil
			}))
		}
		for range 100 {
			done.expect(t, "done")
		}
		r.endTasks()
	})
}

// Tasks that are suspended when the loop is stopped end, and their deferred functions run. Tasks that are spawned later
// do not begin.
func TestStopEndsTasks(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		done, ready := newResult(), newResult()
		s, fd := r.pair()
		r.Spawn(task.New(func(t *task.T) error {
			defer func() { done <- "deferred" }()
			defer task.Unstoppable(t, func() {
				if _, err := task.Await(t, s.Close()); err != nil {
					done <- "close: " + err.Error()
				}
			})
			ready <- ""
			_, err := task.Await(t, s.Recv(make([]byte, 1)))
			if !errors.Is(err, sender.ErrStopped) {
				done <- "not stopped"
			}
			return err
		}))
		ready.expect(t, "")
		r.settle()
		r.Stop()
		if err := r.wait(); err != nil {
			t.Errorf("Run: %v", err)
		}
		done.expect(t, "deferred")
		r.Spawn(task.New(func(*task.T) error { panic("called") }))
		_ = unix.Close(fd)
	})
}

// A task that awaits something outside of the loop that never completes is aborted near the end of the drain.
func TestTaskThatDoesNotEnd(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: time.Millisecond})
		done, ready := newResult(), newResult()
		r.Spawn(task.New(func(t *task.T) error {
			defer func() { done <- "deferred" }()
			ready <- ""
			for {
				_, _ = task.Await(t, never{})
			}
		}))
		ready.expect(t, "")
		r.Stop()
		if err := r.wait(); !errors.Is(err, task.ErrAbandoned) {
			t.Errorf("Run: %v, want one that names the task", err)
		}
		done.expect(t, "deferred")
	})
}

// A task consumes sequences of descriptors and of leases, and nothing of them leaks. TestMain checks that no descriptor
// is left open.
func TestTaskAwaitsSequences(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		ln := r.listen()
		for range 6 {
			write(t, ln.dial(), []byte("hello"))
		}
		done := newResult()
		closeFd := func(fd int) { _ = unix.Close(fd) }
		r.Spawn(task.New(func(t *task.T) (err error) {
			defer func() { done <- fmt.Sprint(err) }()
			var fds []int
			three := seq.Take(ln.AcceptMany(reactor.Unlimited), 3, closeFd)
			if fds, err = task.Await(t, seq.Collect(three, closeFd)); err != nil {
				return err
			}
			for _, fd := range fds {
				if err = hear(t, r.Loop, fd, "hello"); err != nil {
					return err
				}
			}
			return nil
		}))
		done.expect(t, "<nil>")
		r.close(&ln.Socket)
		ln.hangUp()
		r.endTasks()
	})
}

// hear receives what on fd, stops receiving, and closes fd.
func hear(t *task.T, l *reactor.Loop, fd int, what string) error {
	c := new(reactor.Socket)
	c.Init(l, fd)
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
	heard := ""
	listen := func(lease reactor.Lease) error {
		defer lease.Release()
		if heard += string(lease.Bytes()); heard == what {
			return sender.ErrStopped
		}
		return nil
	}
	_, err := task.Await(t, seq.ForEach(c.RecvMany(reactor.Unlimited), listen, reactor.Lease.Release))
	if heard == what && err == sender.ErrStopped {
		return nil
	}
	return fmt.Errorf("heard %q, %w", heard, err)
}

// never does not complete.
type never struct{}

type neverOp struct{}

func (never) Connect(op *neverOp, _ sender.Receiver[struct{}]) sender.Operation { return op }
func (*neverOp) Start()                                                         {}

// A round of a task through the ring allocates nothing.
func TestAwaitDoesNotAllocate(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		allocs := make(chan float64, 1)
		r.Spawn(task.New(func(t *task.T) error {
			allocs <- testing.AllocsPerRun(100, func() { _, _ = task.Await(t, r.Nop()) })
			return nil
		}))
		if n := <-allocs; n != 0 {
			t.Errorf("%v allocations for an await, want 0", n)
		}
		r.endTasks()
	})
}

// The difference to BenchmarkNop is the cost of awaiting.
func BenchmarkAwaitNop(b *testing.B) {
	benchmarkTask(b, func(r *running, t *task.T) func() {
		return func() { _, _ = task.Await(t, r.Nop()) }
	})
}

// BenchmarkSpawn measures a task from Spawn to its end.
func BenchmarkSpawn(b *testing.B) {
	benchmarkTask(b, func(r *running, t *task.T) func() {
		f := task.New(func(*task.T) error { return nil })
		return func() {
			r.Spawn(f)
			_ = task.Yield(t)
		}
	})
}

// benchmarkTask measures rounds of what step returns, in a task on each ring.
func benchmarkTask(b *testing.B, step func(r *running, t *task.T) func()) {
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		b.ReportAllocs()
		r := run(b, reactor.LoopConfig{Ring: kind})
		done := make(chan struct{})
		r.Spawn(task.New(func(t *task.T) error {
			defer close(done)
			round := step(r, t)
			round()
			b.ResetTimer()
			for range b.N {
				round()
			}
			b.StopTimer()
			return nil
		}))
		<-done
		r.endTasks()
	})
}

// A loop whose ring fails aborts its tasks: their deferred functions run, and no coroutine is left.
func TestRingFailsUnderTasks(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		broken := errors.New("broken")
		var fail atomic.Bool
		l, h := hook(t, kind, reactor.LoopConfig{})
		h.enter = func(time.Duration) error {
			if fail.Load() {
				return broken
			}
			return nil
		}
		r := runLoop(t, l)
		waiting, deferred := make(chan struct{}), make(chan struct{})
		r.Spawn(task.New(func(tk *task.T) error {
			defer close(deferred)
			close(waiting)
			_, err := task.Await(tk, r.SleepFor(time.Hour))
			return err
		}))
		<-waiting
		r.do(func() { fail.Store(true) })
		if err := r.wait(); !errors.Is(err, broken) {
			t.Errorf("Run: %v", err)
		}
		select {
		case <-deferred:
		default:
			t.Error("the task was not aborted")
		}
	})
}

// Whatever happens to a task, either its function or SpawnOr's notRun is called.
func TestSpawnOr(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		begun, otherwise := 0, 0
		spawn := func() {
			r.SpawnOr(task.New(func(*task.T) error {
				begun++
				return sender.ErrStopped // which does not make it one that was not begun
			}), func() { otherwise++ })
		}
		spawn()
		r.settle()
		r.do(func() {
			if begun != 1 || otherwise != 0 {
				t.Errorf("on a loop that runs: %d begun, %d not", begun, otherwise)
			}
			spawn() // which is for the next turn
			r.Stop()
		})
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		if begun != 1 || otherwise != 1 {
			t.Errorf("on a loop that was stopped: %d begun, %d not", begun, otherwise)
		}
		if spawn(); begun != 1 || otherwise != 2 {
			t.Errorf("on a loop that is no more: %d begun, %d not", begun, otherwise)
		}
	})
}

// OnTaskError gets the error of a spawned task. Without it the loop is stopped, and Run returns the error.
func TestSpawnedTaskFails(t *testing.T) {
	failing := func(err error) task.Sender { return task.New(func(*task.T) error { return err }) }
	first, second := errors.New("first"), errors.New("second")
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		r.do(func() {
			r.Spawn(failing(nil))
			r.Spawn(failing(fmt.Errorf("no error: %w", sender.ErrStopped)))
			r.Spawn(failing(first))
			r.Spawn(failing(second))
		})
		if err := r.wait(); !errors.Is(err, first) || errors.Is(err, second) {
			t.Errorf("Run: %v", err)
		}

		var heard []error
		r = run(t, reactor.LoopConfig{Ring: kind, OnTaskError: func(err error) { heard = append(heard, err) }})
		r.Spawn(failing(first))
		r.Spawn(failing(second))
		r.settle()
		r.endTasks()
		if len(heard) != 2 || heard[0] != first || heard[1] != second {
			t.Errorf("heard: %v", heard)
		}
	})
}
