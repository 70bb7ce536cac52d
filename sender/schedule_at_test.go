package sender_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// asked is a timed scheduler that notes what it is asked for.
type asked struct {
	immediate
	now      int64
	deadline int64
	token    stop.Token
	refuse   bool
	times    int
}

func (a *asked) Clock() int64 { return a.now }

func (a *asked) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	a.deadline, a.token = deadline, token
	a.times++
	if a.refuse {
		w.Runner.Abandon(nil)
	} else {
		w.Runner.Run()
	}
}

func TestScheduleAtAsksForItsDeadline(t *testing.T) {
	for _, c := range []struct {
		now, want int64
		s         func(*asked) sender.ScheduleAtSender
	}{
		{100, 7, func(a *asked) sender.ScheduleAtSender { return sender.ScheduleAt(a, 7) }},
		{100, 107, func(a *asked) sender.ScheduleAtSender { return sender.ScheduleAfter(a, 7) }},
		{100, 100, func(a *asked) sender.ScheduleAtSender { return sender.ScheduleAfter(a, -7) }},
		{-100, -100, func(a *asked) sender.ScheduleAtSender { return sender.ScheduleAfter(a, math.MinInt64) }},
		{-100, -93, func(a *asked) sender.ScheduleAtSender { return sender.ScheduleAfter(a, 7) }},
		{100, math.MaxInt64, func(a *asked) sender.ScheduleAtSender { return sender.ScheduleAfter(a, math.MaxInt64) }},
		{-100, math.MaxInt64 - 100, func(a *asked) sender.ScheduleAtSender { return sender.ScheduleAfter(a, math.MaxInt64) }},
	} {
		var source stop.Source
		a := &asked{now: 1}
		rec := &sendertest.Recorder[unit]{T: t, Stop: &source}
		var op sender.ScheduleAtOp
		c.s(a).Connect(&op, rec)
		a.now = c.now // the deadline is made by Start
		rec.Starting()
		op.Start()
		if rec.Result() != sendertest.Value(unit{}) || a.deadline != c.want || a.token != source.Token() {
			t.Errorf("%v at %d, want %d", rec.Result(), a.deadline, c.want)
		}
	}
}

func TestScheduleAtRefusedAndStopped(t *testing.T) {
	a := &asked{refuse: true}
	rec := new(sendertest.Recorder[unit])
	run(t, sender.ScheduleAt(a, 1), rec)
	if x := rec.Result(); x != sendertest.Stopped[unit]() || a.times != 1 {
		t.Errorf("refused: %v, asked %d times", x, a.times)
	}
	var source stop.Source
	source.RequestStop()
	rec = &sendertest.Recorder[unit]{Stop: &source}
	run(t, sender.ScheduleAt(a, 1), rec)
	if x := rec.Result(); x != sendertest.Stopped[unit]() || a.times != 1 {
		t.Errorf("stopped before Start: %v, asked %d times", x, a.times)
	}
}

func TestScheduleAtDoesNotAllocate(t *testing.T) {
	a := new(asked)
	s := sender.ScheduleAfter(a, time.Second)
	op, r := sender.StateOf(s), new(sink[unit])
	if n := testing.AllocsPerRun(100, func() {
		s.Connect(op, r).Start()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// loopFor runs f with a loop that is driven meanwhile.
func loopFor(f func(loop *sched.TimedRunLoop)) {
	var loop sched.TimedRunLoop
	var source stop.Source
	ended := make(chan struct{})
	go func() {
		loop.Run(source.Token())
		close(ended)
	}()
	f(&loop)
	source.RequestStop()
	<-ended
}

func ExampleScheduleAt() {
	loopFor(func(loop *sched.TimedRunLoop) {
		start := loop.Clock() // ns
		s := sender.Then(sender.ScheduleAt(loop, start+int64(time.Millisecond)), func(struct{}) bool {
			return loop.Clock()-start >= int64(time.Millisecond)
		})
		fmt.Println(sender.SyncWait(context.Background(), s))
	})
	// Output: true <nil>
}

func ExampleScheduleAfter() {
	loopFor(func(loop *sched.TimedRunLoop) {
		forever := sender.Then(sender.ScheduleAfter(loop, time.Hour), func(struct{}) string { return "late" })
		_, err := sender.SyncWait(context.Background(), sender.Timeout(forever, sender.ScheduleAfter(loop, time.Millisecond)))
		fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
	})
	// Output: true
}
