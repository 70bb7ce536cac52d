package task_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/task"
)

// A scheduler that drains waits for its tasks.
func TestDrainWaitsForTasks(t *testing.T) {
	r := newCoroutineLoop(t)
	l := &sendertest.Leaf[int]{Result: sendertest.Value(3)}
	o := begin(t, r, task.NewValue(func(t *task.T) (int, error) {
		_ = task.Yield(t)
		return task.Await(t, l)
	}), nil)
	for waiting := false; !waiting; r.do(func() { waiting = l.InFlight() == 1 }) {
	}
	drained := make(chan unit)
	r.do(func() { r.pool.Drain(func() { close(drained) }) })
	select {
	case <-drained:
		t.Fatal("drained with a task in progress")
	default:
	}
	late := begin(t, r, task.New(func(*task.T) error { panic("called") }), nil)
	if x := late.result(); x.Channel != sendertest.OnStopped {
		t.Errorf("a task that was started too late completed with %v", x)
	}
	r.do(func() { l.Finish() })
	if x := o.result(); x.Value != 3 {
		t.Errorf("completed with %v", x)
	}
	<-drained
	r.do(func() {
		if n := r.pool.Tasks(); n != 0 {
			t.Errorf("%d tasks are left", n)
		}
		r.Finish()
	})
	<-r.ended
}

// What a task awaits elsewhere is requested to stop when its own scheduler drains.
func TestDrainStopsWhatIsElsewhere(t *testing.T) {
	r := newCoroutineLoop(t)
	never := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
	elsewhere := newRunLoop(t, false)
	waiting := make(chan unit)
	o := begin(t, r, task.NewValue(func(t *task.T) (int, error) {
		n, err := task.On(t, elsewhere, func(t *task.T) (int, error) {
			close(waiting)
			return task.Await(t, never)
		})
		if err == sender.ErrStopped { // the second is stopped immediately
			_, again := task.On(t, elsewhere, func(*task.T) (int, error) { panic("called") })
			if again != sender.ErrStopped {
				err = fmt.Errorf("the second: %v", again)
			}
		}
		return n, err
	}), nil)
	<-waiting
	r.end()
	if x := o.result(); x.Channel != sendertest.OnStopped {
		t.Errorf("completed with %v", x)
	}
}

// A task that its pool abandons ends immediately, whatever it does.
func TestAbandonedTasksEnd(t *testing.T) {
	never := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
	for name, c := range map[string]struct {
		f    func(t *task.T, log func(string)) error
		want string
	}{
		"obedient": {func(t *task.T, log func(string)) error {
			defer log("deferred")
			_, err := task.Await(t, never)
			return err
		}, "deferred; stopped"},
		"with an error of its own": {func(t *task.T, log func(string)) error {
			_, err := task.Await(t, never)
			return errors.Join(errors.New("lost"), fmt.Errorf("%v", err))
		}, "error lost\nsender: stopped"},
		"endless": {func(t *task.T, log func(string)) error {
			defer func() {
				_, err := task.Await(t, sender.Just(1))
				log(fmt.Sprintf("deferred: %v", err))
			}()
			for {
				_, err := task.Await(t, never)
				log(fmt.Sprint(err))
			}
		}, "sender: stopped; deferred: sender: stopped; stopped"},
		"that recovers": {func(t *task.T, log func(string)) error {
			defer func() { log(fmt.Sprint(recover())) }()
			_, _ = task.Await(t, never)
			_, _ = task.Await(t, sender.Just(1))
			return errors.New("still there")
		}, "<nil>; stopped"},
		"that exits": {func(t *task.T, log func(string)) error {
			_, _ = task.Await(t, never)
			runtime.Goexit()
			return nil
		}, "error " + sender.ErrGoexit.Error()},
	} {
		r := newCoroutineLoop(t)
		var logged []string
		log := func(s string) { logged = append(logged, s) }
		before := never.InFlight()
		o := begin(t, r, task.New(func(t *task.T) error { return c.f(t, log) }), nil)
		for waiting := false; !waiting; r.do(func() { waiting = never.InFlight() > before }) {
		}
		r.do(func() { r.pool.Drain(r.Finish); r.pool.Abandon() })
		<-r.ended
		logged = append(logged, o.result().String())
		if got := strings.Join(logged, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	never.Finish() // no operation is in flight
}

// A run loop that has ended refuses what comes later: an await has its result, but is the last.
func TestOrdinarySchedulerIsGone(t *testing.T) {
	l, ended := new(sender.RunLoop), make(chan unit)
	go func() { l.Run(); close(ended) }()
	never := &sendertest.Leaf[int]{Result: sendertest.Value(4)}
	waiting := make(chan unit)
	var got int
	o := begin(t, l, task.New(func(t *task.T) error {
		defer func() { got *= 2 }()
		waiting <- unit{}
		n, err := task.Await(t, never)
		if err != nil {
			return err
		}
		got = n
		_, _ = task.Await(t, sender.Just(1))
		return errors.New("still there")
	}), nil)
	<-waiting
	l.Finish()
	<-ended
	never.Finish()
	refused := sendertest.Error[unit](sender.ErrClosed)
	if x := o.result(); x != refused || got != 8 {
		t.Errorf("completed with %v, having got %d", x, got)
	}
	x := begin(t, l, task.New(func(*task.T) error { panic("called") }), nil).result()
	if x != refused {
		t.Errorf("completed with %v", x)
	}
}

// Coroutines are used again, and idle ones bounded.
func TestManyTasksTogether(t *testing.T) {
	r := newCoroutineLoop(t)
	const n = 1000
	before := runtime.NumGoroutine()
	for range 3 {
		var all []*outcome[unit]
		l := &sendertest.Leaf[int]{Result: sendertest.Value(3)}
		for range n {
			all = append(all, begin(t, r, task.New(func(t *task.T) error {
				_, err := task.Await(t, l)
				return err
			}), nil))
		}
		for l.InFlight() != n {
			r.do(func() {})
		}
		r.do(func() { l.Finish() })
		for _, o := range all {
			if x := o.result(); x.Channel != sendertest.OnValue {
				t.Fatalf("completed with %v", x)
			}
		}
	}
	r.do(func() {})
	if idle := runtime.NumGoroutine() - before; idle > 300 {
		t.Errorf("%d idle coroutines", idle)
	}
}
