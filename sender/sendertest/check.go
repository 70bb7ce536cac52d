package sendertest

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Point is when stop is requested.
type Point uint8

// The points, in the order of an operation's life.
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

// String is such as "before Start".
func (p Point) String() string { return points[p] }

// Options say how a sender is to be checked. The zero value will do for one that completes by itself
// and can be started anywhere.
type Options[T any] struct {
	// Accept tells whether x is right when stop was requested at p. nil: whatever it is.
	Accept func(p Point, x Result[T]) bool
	// Where is asked inside each completion whether this is the thread for it. nil: any is.
	Where func() bool
	// Do calls f on the thread where the sender is to be connected and started, and may return before
	// f does. nil: on the caller's.
	Do func(f func())
	// Scheduler is that of the environment.
	Scheduler sender.Scheduler
	// Endless says that the sender does not complete before it is asked to stop.
	Endless bool
	// Restartable says that its operation may be started again without connecting it anew.
	Restartable bool
	// Rounds is how often each way is tried. 0: 4 times.
	Rounds int
}

// Check runs s through every point at which stop can be requested, each with the ways to use the
// storage again: overwritten inside the completion, connected and started again inside the
// completion, started again inside the completion (if Restartable), and connected again afterwards.
func Check[T, O any, P sender.Operation[O], S sender.Sender[T, O]](t testing.TB, s S, o Options[T]) {
	t.Helper()
	c := &checker[T, O, P]{t: t, o: o, op: new(O)}
	c.connect = func(r *round, then func(recorder[T], Result[T])) recorder[T] {
		rec := &Recorder[T]{T: r, Stop: &r.source, Sch: o.Scheduler, Key: r}
		rec.Then = func(x Result[T]) { then(rec, x) }
		s.Connect(c.op, rec)
		return rec
	}
	c.check(Never)
}

// reuse is what happens to the storage inside the completion.
type reuse uint8

const (
	afterwards reuse = iota // nothing: it is connected again later
	overwrite
	reconnect
	restart
)

var reuses = map[reuse]string{
	afterwards: "afterwards", overwrite: "overwritten inside the completion",
	reconnect: "connected and started inside the completion", restart: "started inside the completion",
}

// checker checks a sender, or a sequence, whose value is T.
type checker[T, O any, P sender.Operation[O]] struct {
	t       testing.TB
	o       Options[T]
	op      *O
	connect func(r *round, then func(recorder[T], Result[T])) recorder[T] // op, to a new receiver
}

// recorder is a receiver that has been connected.
type recorder[T any] interface {
	Starting()
	base() *Recorder[T]
	seen() string // all that it has been called with
}

// round is one operation from Connect to completion, and what is done about it.
type round struct {
	testing.TB // says which round it is in what it reports
	point      Point
	reuse      reuse
	source     stop.Source
	done       chan bool
}

func (r *round) Errorf(format string, args ...any) {
	r.TB.Helper()
	r.TB.Errorf("stop %v, storage reused %s: %s", r.point, reuses[r.reuse], fmt.Sprintf(format, args...))
}

// check plays all the rounds, up to a point.
func (c *checker[T, O, P]) check(last Point) {
	c.t.Helper()
	if c.o.Rounds == 0 {
		c.o.Rounds = 4
	}
	if c.o.Do == nil {
		c.o.Do = func(f func()) { f() }
	}
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
				c.play(p, how)
			}
		}
	}
}

func (c *checker[T, O, P]) play(p Point, how reuse) {
	c.t.Helper()
	r := &round{TB: c.t, point: p, reuse: how, done: make(chan bool)}
	stopped := make(chan bool)
	c.o.Do(func() {
		if p == BeforeConnect {
			r.source.RequestStop()
		}
		rec := c.connect(r, func(rec recorder[T], x Result[T]) { c.completed(r, rec, x) })
		if p == BeforeStart {
			r.source.RequestStop()
		}
		if p == Concurrently {
			go func() {
				runtime.Gosched()
				r.source.RequestStop()
				close(stopped)
			}()
		}
		rec.Starting()
		P(c.op).Start()
		if p == AfterStart {
			r.source.RequestStop()
		}
	})
	<-r.done
	if p == Concurrently {
		<-stopped
	}
	r.source.RequestStop() // nobody is there to hear it
}

// completed is called inside the first completion of a round.
func (c *checker[T, O, P]) completed(r *round, rec recorder[T], x Result[T]) {
	c.judge(r, r.point, rec, x)
	if r.source.Registered() {
		r.Errorf("completed with %v and left a stop callback behind", x)
		close(r.done) // to overwrite the storage would be deadly
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
		p = BeforeStart // as far as this start is concerned
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
	rec.Starting()
	P(c.op).Start()
}

func (c *checker[T, O, P]) judge(r *round, p Point, rec recorder[T], x Result[T]) {
	if c.o.Accept != nil && !c.o.Accept(p, x) {
		r.Errorf("completed with %s", rec.seen())
	}
	if c.o.Where != nil && !c.o.Where() {
		r.Errorf("completed with %v on a wrong thread", x)
	}
}
