//go:build linux

package reactor_test

import (
	"errors"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
)

func TestStopIdle(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		r.settle()
		r.Stop()
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Done():
		default:
			t.Error("Run has returned and Done is not closed")
		}
		r.Stop() // no harm
	})
}

// The longest DrainTimeout does not overflow.
func TestLongestDrainTimeout(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: math.MaxInt64})
		done, begun, proceed := newResult(), make(chan bool), make(chan bool)
		var op reactor.OffloadOp[int]
		r.do(func() {
			reactor.Offload(r.Loop, func() (int, error) {
				close(begun)
				<-proceed
				return 7, nil
			}).Connect(&op, sinkOf[int](t, done, nil)).Start()
		})
		<-begun
		r.Stop()
		for range 3 { // turns of a loop that drains
			r.do(func() {})
		}
		close(proceed)
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		done.expect(t, "7")
	})
}

func TestStopBeforeRun(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		l.Stop()
		ran, stopped := false, newResult()
		w := newWork(func() { ran = true }, func() { t.Error("abandoned") })
		l.Enqueue(&w.Work)
		var op reactor.SleepOp
		err = l.Run(func() {
			l.SleepFor(time.Hour).Connect(&op, sinkOf[struct{}](t, stopped, nil)).Start()
		})
		if err != nil || !ran {
			t.Errorf("Run: %v; work posted before: run %v", err, ran)
		}
		stopped.expect(t, "stopped")
	})
}

// Work that was posted to a loop that never runs is abandoned, and later work is refused.
func TestDiscard(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		before := descriptors()
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		abandoned := 0
		post := func() {
			l.Enqueue(&newWork(func() { t.Error("run") }, func() { abandoned++ }).Work)
		}
		post()
		post()
		if abandoned != 0 {
			t.Error("abandoned too early")
		}
		if err := l.Discard(); err != nil {
			t.Error(err)
		}
		post()
		l.Stop()
		if abandoned != 3 {
			t.Errorf("%d of 3 were abandoned", abandoned)
		}
		if after := descriptors(); after != before {
			t.Errorf("%d descriptors were open before and %d are now", before, after)
		}
	})
}

// Operations of every kind are in flight, with a peer that reads nothing.
func TestStopLoaded(t *testing.T) {
	const each = 60
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		before := descriptors()
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64, Window: 1, Limit: 2}})
		completions := new(atomic.Int64)
		count := func() { completions.Add(1) }
		var started int64
		var fds []int
		large := make([]byte, 1<<20)
		for range each {
			a, peerA := r.pair()
			b, peerB := r.pair()
			fds = append(fds, peerA, peerB, a.Fd(), b.Fd())
			ln := r.listen()
			fds = append(fds, ln.Fd())
			r.do(func() {
				start(&started, t, r.SleepFor(time.Hour), new(reactor.SleepOp), count)
				start(&started, t, a.Recv(make([]byte, 10)), new(reactor.RecvOp), count)
				start(&started, t, a.SendAll(large), new(reactor.SendOp), count)
				start(&started, t, b.Sendv([][]byte{large, large}), new(reactor.SendvOp), count)
				start(&started, t, a.Poll(unix.POLLPRI), new(reactor.PollOp), count)
				start(&started, t, ln.Accept(), new(reactor.AcceptOp), count)
				startMany(&started, t, b.RecvMany(2), new(reactor.RecvManyOp), count)
				startMany(&started, t, ln.AcceptMany(2), new(reactor.AcceptManyOp), count)
			})
			// With two buffers in all, most sequences wait for one.
			write(t, peerB, []byte("x"))
		}
		r.settle()
		if got := r.Stats().InFlight; int64(got) < started {
			t.Errorf("%d are in flight of %d", got, started)
		}
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if got := completions.Load(); got != started {
			t.Errorf("%d of %d operations completed", got, started)
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
		if after := descriptors(); after != before {
			t.Errorf("%d descriptors were open before and %d are now", before, after)
		}
	})
}

// start starts an operation that calls f however it completes.
func start[T, O any](n *int64, t *testing.T, s sender.Sender[T, O], op *O, f func()) {
	*n++
	s.Connect(op, &sink[T]{t: t, value: func(T) { f() }, stopped: f}).Start()
}

func startMany[T, O any](n *int64, t *testing.T, s interface {
	Connect(*O, seq.Receiver[T]) sender.Operation
}, op *O, f func()) {
	*n++
	s.Connect(op, &seqSink[T]{sink: sink[struct{}]{t: t, stopped: f}, next: func(v T) {
		if l, ok := any(v).(reactor.Lease); ok {
			l.Release()
		}
	}}).Start()
}

// Threads post work while another one stops the loop: each work is run or abandoned, once.
func TestStopWhilePosting(t *testing.T) {
	const threads, pieces = 4, 500
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for range 20 {
			r := run(t, reactor.LoopConfig{Ring: kind})
			fates := make([][pieces]atomic.Int32, threads)
			var ran atomic.Int32
			done := make(chan bool)
			for i := range fates {
				go func() {
					for k := range fates[i] {
						w := newWork(func() { fates[i][k].Add(1); ran.Add(1) }, func() { fates[i][k].Add(1) })
						r.Enqueue(&w.Work)
						if k%64 == 0 {
							runtime.Gosched()
						}
					}
					done <- true
				}()
			}
			for ran.Load() == 0 {
				runtime.Gosched()
			}
			r.Stop()
			for range fates {
				<-done
			}
			if err := r.wait(); err != nil {
				t.Error(err)
			}
			for i := range fates {
				for k := range fates[i] {
					if n := fates[i][k].Load(); n != 1 {
						t.Fatalf("a piece of work was run or abandoned %d times", n)
					}
				}
			}
		}
	})
}

// Work that posts itself again and again keeps the loop from draining until DrainTimeout. Then it is abandoned, and
// nothing has leaked.
func TestStopWithEndlessWork(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: 30 * time.Millisecond})
		var w *work
		abandoned := 0
		w = newWork(func() { r.Enqueue(&w.Work) }, func() { abandoned++ })
		r.Enqueue(&w.Work)
		r.Stop()
		if err := r.wait(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Run: %v, want one that says why it gave up", err)
		}
		if abandoned != 1 {
			t.Errorf("abandoned %d times", abandoned)
		}
		r.Enqueue(&w.Work)
		if abandoned != 2 {
			t.Error("a loop that has ended took work")
		}
	})
}

// A completion never arrives: the loop gives up in time, reports that, and frees nothing.
func TestLeak(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{DrainTimeout: 50 * time.Millisecond})
		h.pop = func(cqe *uring.CQE) bool { return cqe.Res != -int32(unix.ECANCELED) }
		r := runLoop(t, l)
		s, peer := r.pair()
		done := newResult()
		var op reactor.RecvOp
		r.do(func() {
			s.Recv(make([]byte, 1)).Connect(&op, sinkOf[int](t, done, nil)).Start()
		})
		r.settle()
		began := time.Now()
		r.Stop()
		if err := r.wait(); !errors.Is(err, reactor.ErrLeaked) {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took < 50*time.Millisecond {
			t.Errorf("gave up after %v", took)
		}
		if st := r.Stats(); st.Leaked != 1 || st.InFlight != 1 {
			t.Errorf("%+v", st)
		}
		done.none(t)
		abandoned := false
		r.Enqueue(&newWork(func() { t.Error("run") }, func() { abandoned = true }).Work)
		if !abandoned {
			t.Error("a loop that has ended took work")
		}
		unix.Close(s.Fd())
		unix.Close(peer)
	})
}

// The ring fails: Run returns the error, and has leaked only what was in flight.
func TestRingFails(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, loaded := range []bool{false, true} {
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
			var op reactor.SleepOp
			abandoned := false
			r.do(func() {
				if loaded {
					r.SleepFor(time.Hour).Connect(&op, &sink[struct{}]{t: t}).Start()
				}
				fail.Store(true)
				r.Enqueue(&newWork(func() { t.Error("run") }, func() { abandoned = true }).Work)
			})
			err := r.wait()
			if !errors.Is(err, broken) || errors.Is(err, reactor.ErrLeaked) != loaded {
				t.Errorf("operations in flight: %v; Run: %v", loaded, err)
			}
			if !abandoned {
				t.Error("what was posted was not abandoned")
			}
		}
	})
}
