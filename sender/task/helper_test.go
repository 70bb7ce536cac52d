package task_test

import (
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// No test leaves a goroutine behind: not that of a task, and no coroutine, except for one that is to be stranded.
func TestMain(m *testing.M) {
	code := m.Run()
	stranded := goleak.IgnoreAnyFunction("github.com/reactord/reactord/sender/task.(*coroutine).strand")
	if err := goleak.Find(stranded); code == 0 && err != nil {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

type unit = struct{}

// coroutineLoop is a scheduler that hosts coroutines: a run loop on a locked thread.
type coroutineLoop struct {
	sender.RunLoop
	pool  task.CoroutinePool
	ended chan unit
}

func (r *coroutineLoop) Coroutines() *task.CoroutinePool { return &r.pool }

// newCoroutineLoop returns one that runs until the test ends or end is called.
func newCoroutineLoop(t testing.TB) *coroutineLoop {
	r := &coroutineLoop{ended: make(chan unit)}
	r.pool.Wake = func() { r.post(r.pool.Run) }
	go func() {
		defer close(r.ended)
		runtime.LockOSThread()
		r.pool.Enter()
		defer r.pool.Leave()
		r.Run()
	}()
	t.Cleanup(r.end)
	return r
}

// end lets the tasks end, and then the thread.
func (r *coroutineLoop) end() {
	select {
	case <-r.ended:
		return
	default:
	}
	r.post(func() { r.pool.Drain(r.Finish) })
	<-r.ended
}

// posted is a func as work.
type posted struct {
	sender.Work
	f func()
}

func (p *posted) Run()          { p.f() }
func (p *posted) Abandon(error) { panic("abandoned") }

// post makes the thread call f.
func (r *coroutineLoop) post(f func()) {
	p := &posted{f: f}
	p.Runner = p
	r.Enqueue(&p.Work)
}

// do makes the thread call f, and waits.
func (r *coroutineLoop) do(f func()) {
	done := make(chan unit)
	r.post(func() { f(); close(done) })
	<-done
}

// eachScheduler runs f on every kind of scheduler there is for a task.
func eachScheduler(t *testing.T, f func(t *testing.T, sch sender.Scheduler)) {
	t.Run("coroutines", func(t *testing.T) { f(t, newCoroutineLoop(t)) })
	t.Run("run loop", func(t *testing.T) { f(t, newRunLoop(t, false)) })
	t.Run("locked run loop", func(t *testing.T) { f(t, newRunLoop(t, true)) })
	t.Run("thread pool", func(t *testing.T) {
		p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
		t.Cleanup(p.Close)
		f(t, p)
	})
	t.Run("inline", func(t *testing.T) { f(t, nil) })
}

// newRunLoop returns a run loop whose thread ends with the test.
func newRunLoop(t testing.TB, locked bool) *sender.RunLoop {
	l, ended := new(sender.RunLoop), make(chan unit)
	go func() {
		defer close(ended)
		if locked {
			runtime.LockOSThread()
		}
		l.Run()
	}()
	t.Cleanup(func() { l.Finish(); <-ended })
	return l
}

// outcome is how a task completed, and where it can be waited for.
type outcome[V any] struct {
	sendertest.Recorder[V]
	done chan sendertest.Result[V]
}

// begin starts s on sch.
func begin[V, O any, S sender.Sender[V, O]](
	t testing.TB, sch sender.Scheduler, s S, source *stop.Source,
) *outcome[V] {
	o := &outcome[V]{done: make(chan sendertest.Result[V], 1)}
	o.T, o.Stop, o.Sch = t, source, sch
	o.Then = func(x sendertest.Result[V]) { o.done <- x }
	op := new(O)
	start := s.Connect(op, o)
	o.Starting()
	start.Start()
	return o
}

// result waits for it.
func (o *outcome[V]) result() sendertest.Result[V] { return <-o.done }

// run runs s on sch.
func run[V, O any, S sender.Sender[V, O]](t testing.TB, sch sender.Scheduler, s S) sendertest.Result[V] {
	t.Helper()
	return begin[V, O](t, sch, s, nil).result()
}
