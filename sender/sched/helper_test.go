package sched_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

const ms = int64(time.Millisecond)

type unit = struct{}

// withLoop calls f with a new loop.
func withLoop(t *testing.T, f func(t *testing.T, l *sched.TimedRunLoop)) {
	f(t, new(sched.TimedRunLoop))
}

// driver is the thread that drives a loop.
type driver struct {
	loop  *sched.TimedRunLoop
	stop  stop.Source
	ended chan bool
	tid   int
}

// drive drives l on a separate thread until finish is called.
func drive(l *sched.TimedRunLoop) *driver {
	d := &driver{loop: l, ended: make(chan bool)}
	started := make(chan bool)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		d.tid = goroutine.Thread()
		close(started)
		l.Run(d.stop.Token())
		close(d.ended)
	}()
	<-started
	return d
}

func (d *driver) here() bool { return goroutine.Thread() == d.tid }

// do runs f on the loop's thread, and does not wait for it.
func (d *driver) do(f func()) { sender.Execute(d.loop, f) }

func (d *driver) finish() {
	d.stop.RequestStop()
	<-d.ended
}

// job is work, timed or not, that counts what becomes of it.
type job struct {
	work           sender.Work
	timed          sender.TimedWork
	mu             sync.Mutex
	ran, abandoned int
	reason         error // for which it was abandoned
	then           func(ran bool)
}

func newJob(then func(ran bool)) *job {
	j := &job{then: then}
	j.work.Runner, j.timed.Runner = j, j
	return j
}

func (j *job) Run() {
	j.mu.Lock()
	j.ran++
	j.mu.Unlock()
	if j.then != nil {
		j.then(true)
	}
}

func (j *job) Abandon(reason error) {
	j.mu.Lock()
	j.abandoned++
	j.reason = reason
	j.mu.Unlock()
	if j.then != nil {
		j.then(false)
	}
}

// want checks what became of the job.
func (j *job) want(t *testing.T, ran, abandoned int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ran != ran || j.abandoned != abandoned {
		t.Errorf("ran %d times and was abandoned %d times, want %d and %d", j.ran, j.abandoned, ran, abandoned)
	}
}

// wantReason checks for what the job was abandoned.
func (j *job) wantReason(t *testing.T, reason error) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.reason != reason {
		t.Errorf("abandoned for %v, want %v", j.reason, reason)
	}
}

// called tells whether a function of that name is on the stack: on a goroutine of a pool, say, which
// has no identity to compare.
func called(name string) bool {
	buf := make([]byte, 1<<14)
	return strings.Contains(string(buf[:runtime.Stack(buf, false)]), name)
}

// accept reports whether a scheduler's sender may complete so.
func accept(p sendertest.Point, x sendertest.Result[unit]) bool {
	switch p {
	case sendertest.BeforeConnect, sendertest.BeforeStart:
		return x.Channel == sendertest.OnStopped
	case sendertest.Never, sendertest.InCompletion:
		return x.Channel == sendertest.OnValue
	default:
		return x.Channel != sendertest.OnError
	}
}

// onlyStopped reports whether a sender that is far from due may complete so.
func onlyStopped(_ sendertest.Point, x sendertest.Result[unit]) bool {
	return x.Channel == sendertest.OnStopped
}

// on returns s with a check that its value comes on the right thread.
func on[O any, S sender.Sender[unit, O]](
	t *testing.T, s S, here func() bool,
) sender.ThenSender[unit, unit, O, S] {
	return sender.Then[unit, unit, O](s, func(unit) unit {
		if !here() {
			t.Error("a value on a wrong thread")
		}
		return unit{}
	})
}

// run starts s with rec.
func run[T, O any, S sender.Sender[T, O]](t *testing.T, s S, rec *sendertest.Recorder[T]) {
	t.Helper()
	rec.T = t
	op := new(O)
	start := s.Connect(op, rec)
	rec.Starting()
	start.Start()
}
