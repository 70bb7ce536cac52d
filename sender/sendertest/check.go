package sendertest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/stop"
)

// Point is the time at which stop is requested.
type Point uint8

// The points, in their order during an operation.
const (
	BeforeConnect Point = iota
	BeforeStart
	Concurrently // on another thread, while the operation is started and in flight
	AfterStart   // by the thread that started it
	InCompletion
	Never
)

var points = map[Point]string{
	BeforeConnect: "before Connect", BeforeStart: "before Start", Concurrently: "concurrently",
	AfterStart: "after Start", InCompletion: "inside the completion", Never: "never", InNext: "inside SetNext",
}

// String returns "before Start", for example.
func (p Point) String() string { return points[p] }

// Options say how [Check] checks a sender. The zero Options are for a sender that completes by itself and can be
// started on any thread.
type Options[T any] struct {
	// Accept reports whether x is a correct completion when stop was requested at p. nil: every completion is.
	Accept func(p Point, x Result[T]) bool
	// Where reports, inside each completion, whether this is the correct thread. nil: every thread is.
	Where func() bool
	// Do calls f on the thread where the sender is to be connected and started, and may return before f does. nil: on
	// the caller's thread. If Do is set, a sender that is sender.Affine has to complete on that thread, or where Where
	// says.
	Do func(f func())
	// Scheduler is that of the environment.
	Scheduler sender.Scheduler
	// Endless says that the sender does not complete before stop is requested.
	Endless bool
	// Restartable says that the operation may be started again without another Connect.
	Restartable bool
	// Rounds is how often each combination is tried. 0: 4 times.
	Rounds int
	// Deadline is how long a round may take until the completion. A longer round is reported, with the stacks of all
	// goroutines, and ends Check. If Start does not return, the program panics. 0: 10 s.
	Deadline time.Duration
	// Linger is how long Check waits at its end for late errors: a second completion, a write to the operation state.
	// 0: 1 ms.
	Linger time.Duration
}

// Check runs s through every [Point] at which stop can be requested. For each point it reuses the storage in every
// way: overwritten inside the completion, connected and started again inside the completion, started again inside the
// completion (if Options.Restartable), and connected again afterwards.
func Check[T, O any, S sender.Sender[T, O]](t testing.TB, s S, o Options[T]) {
	t.Helper()
	c := &checker[T, O]{t: t, o: o, claim: sender.CompletionBehaviorOf(&s)}
	c.connect = func(r *round, then func(recorder[T], Result[T])) recorder[T] {
		rec := &Recorder[T]{T: r, Stop: &r.source, Sch: o.Scheduler, Key: r}
		rec.Then = func(x Result[T]) { then(rec, x) }
		c.start = s.Connect(c.op, rec)
		return rec
	}
	c.check(Never)
}

// reuse is what Check does with the storage inside the completion.
type reuse uint8

const (
	afterwards reuse = iota // nothing: it is connected again after the round
	overwrite
	reconnect
	restart
)

var reuses = map[reuse]string{
	afterwards: "afterwards", overwrite: "overwritten inside the completion",
	reconnect: "connected and started inside the completion", restart: "started inside the completion",
}

// checker checks a sender, or a sequence, whose value is T.
type checker[T, O any] struct {
	t       testing.TB
	o       Options[T]
	claim   sender.CompletionBehavior
	places  bool // Options.Do decides where it is started
	used    *O   // storage that is used again and again
	left    []remains
	op      *O                                                            // of this round
	start   sender.Operation                                              // of op, once it is connected
	connect func(r *round, then func(recorder[T], Result[T])) recorder[T] // op, to a new receiver
}

// recorder is a receiver that has been connected.
type recorder[T any] interface {
	Starting()
	base() *Recorder[T]
	seen() string // all that it has been called with
}

// round is one operation from Connect to the completion.
type round struct {
	testing.TB // says which round it is in what it reports
	point      Point
	reuse      reuse
	source     stop.Source
	done       chan bool // closed by the last completion
	launch     *launch   // the last Start
}

// launch is a call of Start: where it was made, and whether it has returned.
type launch struct {
	goroutine uintptr
	thread    int
	returned  atomic.Bool
}

// start starts the operation that rec was connected to.
func (r *round) start(rec interface{ Starting() }, op sender.Operation) {
	l := &launch{goroutine: goroutine.Current(), thread: goroutine.Thread()}
	r.launch = l
	rec.Starting()
	op.Start()
	l.returned.Store(true)
}

// remains are the bytes of an operation state that was overwritten with zeros inside its completion.
type remains struct {
	r     *round
	bytes []byte
}

// verify reports a write to them.
func (x remains) verify() {
	x.r.Helper()
	for _, b := range x.bytes {
		if b != 0 {
			x.r.Errorf("wrote to the operation state after the completion")
			return
		}
	}
}

// String returns "stop never, storage reused afterwards", for example.
func (r *round) String() string {
	return fmt.Sprintf("stop %v, storage reused %s", r.point, reuses[r.reuse])
}

func (r *round) Errorf(format string, args ...any) {
	r.TB.Helper()
	r.TB.Errorf("%v: %s", r, fmt.Sprintf(format, args...))
}

// check plays all rounds, for the points up to last.
func (c *checker[T, O]) check(last Point) {
	c.t.Helper()
	if c.o.Rounds == 0 {
		c.o.Rounds = 4
	}
	if c.o.Deadline == 0 {
		c.o.Deadline = 10 * time.Second
	}
	if c.o.Linger == 0 {
		c.o.Linger = time.Millisecond
	}
	if c.places = c.o.Do != nil; !c.places {
		c.o.Do = func(f func()) { f() }
	}
	c.used = new(O)
	if !c.playAll(last) {
		return
	}
	time.Sleep(c.o.Linger)
	for _, x := range c.left {
		x.verify()
	}
}

// playAll returns false if a round did not end.
func (c *checker[T, O]) playAll(last Point) bool {
	c.t.Helper()
	ways := []reuse{afterwards, overwrite, reconnect}
	if c.o.Restartable {
		ways = append(ways, restart)
	}
	for p := BeforeConnect; p <= last; p++ {
		if c.o.Endless && (p == InCompletion || p == Never) {
			continue
		}
		for range c.o.Rounds {
			for _, how := range ways {
				if !c.play(p, how) {
					return false
				}
			}
		}
	}
	return true
}

func (c *checker[T, O]) play(p Point, how reuse) bool {
	c.t.Helper()
	r := &round{TB: c.t, point: p, reuse: how, done: make(chan bool)}
	if c.op = c.used; how == overwrite {
		c.op = new(O)
		c.left = append(c.left, remains{r, unsafe.Slice((*byte)(unsafe.Pointer(c.op)), unsafe.Sizeof(*c.op))})
	}
	stopped, returned := make(chan bool), make(chan bool)
	if p != Concurrently {
		close(stopped)
	}
	hung := time.AfterFunc(c.o.Deadline+time.Second, func() {
		panic(fmt.Sprintf("sendertest: %v: Start does not return", r))
	})
	defer hung.Stop()
	c.o.Do(func() {
		defer close(returned)
		if p == BeforeConnect {
			r.source.RequestStop()
		}
		rec := c.connect(r, func(rec recorder[T], x Result[T]) { c.completed(r, rec, x) })
		if p == BeforeStart {
			r.source.RequestStop()
		}
		if p == Concurrently {
			ready := make(chan bool)
			go func() {
				close(ready)
				jitter()
				r.source.RequestStop()
				close(stopped)
			}()
			<-ready
			jitter()
		}
		r.start(rec, c.start)
		if p == AfterStart {
			r.source.RequestStop()
		}
	})
	deadline := time.NewTimer(c.o.Deadline)
	defer deadline.Stop()
	for _, event := range []struct {
		what string
		is   chan bool
	}{{"complete", r.done}, {"return from Start", returned}, {"return from the stop request", stopped}} {
		select {
		case <-event.is:
		case <-deadline.C:
			stacks := make([]byte, 1<<16)
			r.Errorf("did not %s within %v\n%s", event.what, c.o.Deadline, stacks[:runtime.Stack(stacks, true)])
			return false
		}
	}
	c.scratch(r)
	r.source.RequestStop() // no callback is registered
	return true
}

// jitter takes a short time, usually a very short one, so that concurrent calls meet in many orders.
func jitter() {
	if rand.IntN(4) == 0 {
		runtime.Gosched()
	}
	var spin atomic.Int32
	for range rand.IntN(1 << rand.IntN(15)) {
		spin.Add(1)
	}
}

// scratch reports a write to the operation state after its completion. It overwrites the state once more, so that the
// race detector finds a thread that still uses it.
func (c *checker[T, O]) scratch(r *round) {
	c.t.Helper()
	if r.reuse == overwrite {
		c.left[len(c.left)-1].verify()
	}
	if r.reuse == overwrite || r.reuse == reconnect {
		var zero O
		*c.op = zero
	}
}

// completed judges the first completion of a round, inside it, and reuses the storage as the round does.
func (c *checker[T, O]) completed(r *round, rec recorder[T], x Result[T]) {
	c.judge(r, r.point, rec, x)
	if r.source.Registered() {
		r.Errorf("completed with %v and left a stop callback behind", x)
		close(r.done) // overwriting the storage would crash the stop source
		return
	}
	if r.reuse != restart && r.reuse != afterwards {
		var zero O
		*c.op = zero
	}
	if r.point == InCompletion {
		r.source.RequestStop()
	}
	if r.reuse == afterwards || r.reuse == overwrite {
		close(r.done)
		return
	}
	p := r.point
	if r.source.StopRequested() {
		p = BeforeStart // for this Start
	}
	last := func(rec recorder[T], x Result[T]) {
		c.judge(r, p, rec, x)
		close(r.done)
	}
	if r.reuse == reconnect {
		rec = c.connect(r, last)
	} else {
		rec.base().Then = func(x Result[T]) { last(rec, x) }
	}
	r.start(rec, c.start)
}

func (c *checker[T, O]) judge(r *round, p Point, rec recorder[T], x Result[T]) {
	if c.o.Accept != nil && !c.o.Accept(p, x) {
		r.Errorf("completed with %s", rec.seen())
	}
	if c.o.Where != nil && !c.o.Where() {
		r.Errorf("completed with %v on a wrong thread", x)
	}
	here := r.launch.goroutine == goroutine.Current()
	switch {
	case c.claim == sender.Inline && (!here || r.launch.returned.Load()):
		r.Errorf("says that it completes inline, and completed with %v outside of Start", x)
	case c.claim == sender.Affine && !here && c.places && c.o.Where == nil && r.launch.thread != goroutine.Thread():
		r.Errorf("says that it completes where it is started, and completed with %v on another thread", x)
	}
}
