package task_test

import (
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// lane is the cheapest scheduler there can be for coroutines: a queue on the benchmark's own thread.
type lane struct {
	home  task.CoroutinePool
	queue sender.WorkQueue
	awake bool
}

// newLane is a lane with tasks, of the calling goroutine.
func newLane() *lane {
	l := new(lane)
	l.home.Wake = func() { l.awake = true }
	l.home.Enter()
	return l
}

// end ends it.
func (l *lane) end() {
	l.home.Drain(nil)
	l.home.Leave()
}

func (l *lane) Coroutines() *task.CoroutinePool { return &l.home }

func (l *lane) Enqueue(w *sender.Work) { l.queue.Push(w) }

// run runs what is enqueued, until nothing is.
func (l *lane) run() {
	for !l.queue.Empty() || l.awake {
		for w := l.queue.Pop(); w != nil; w = l.queue.Pop() {
			w.Runner.Run()
		}
		if l.awake {
			l.awake = false
			l.home.Run()
		}
	}
}

// onLane runs f as a task on a new lane.
func onLane(b *testing.B, f func(l *lane, t *task.T)) {
	done := make(chan unit)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		l := newLane()
		var op task.Op
		task.New(func(t *task.T) error { f(l, t); return nil }).Connect(&op, &dropped{sch: l}).Start()
		l.run()
		l.end()
	}()
	<-done
}

// dropped is a receiver that lets everything pass.
type dropped struct {
	sender.EmptyEnv
	sch sender.Scheduler
	n   int
}

func (d *dropped) SetValue(unit)               { d.n++ }
func (d *dropped) SetError(error)              { d.n++ }
func (d *dropped) SetStopped()                 { d.n++ }
func (d *dropped) Env() sender.Env             { return d }
func (d *dropped) Scheduler() sender.Scheduler { return d.sch }

func BenchmarkAwaitInline(b *testing.B) {
	onLane(b, func(_ *lane, t *task.T) {
		for b.Loop() {
			_, _ = task.Await(t, sender.Just(1))
		}
	})
}

// An operation that completes on a lane, and no task: what an await is to be compared with.
func BenchmarkScheduleAlone(b *testing.B) {
	l := new(lane)
	d := &dropped{sch: l}
	var op sender.ScheduleOp
	for b.Loop() {
		sender.Schedule(l).Connect(&op, d).Start()
		l.run()
	}
}

func BenchmarkAwaitSuspended(b *testing.B) {
	onLane(b, func(l *lane, t *task.T) {
		for b.Loop() {
			_, _ = task.Await(t, sender.Schedule(l))
		}
	})
}

// An operation that has declared to complete on the lane.
func BenchmarkAwaitSuspendedAffine(b *testing.B) {
	onLane(b, func(l *lane, t *task.T) {
		for b.Loop() {
			_, _ = task.Await(t, home{sender.Schedule(l)})
		}
	})
}

// home is a Schedule on the lane where it is started.
type home struct{ sender.ScheduleSender }

func (home) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

func spawn(b *testing.B, sch func(l *lane) sender.Scheduler) {
	done := make(chan unit)
	b.ReportAllocs()
	go func() {
		defer close(done)
		runtime.LockOSThread()
		l := newLane()
		d := &dropped{sch: sch(l)}
		f := func(t *task.T) error { return nil }
		for b.Loop() {
			op := new(task.Op)
			task.New(f).Connect(op, d).Start()
			l.run()
		}
		l.end()
	}()
	<-done
}

func BenchmarkSpawn(b *testing.B) { spawn(b, func(l *lane) sender.Scheduler { return l }) }

// Coroutines that are all new: as many tasks are in progress at once.
func BenchmarkSpawnNewCoroutine(b *testing.B) {
	done := make(chan unit)
	b.ReportAllocs()
	go func() {
		defer close(done)
		runtime.LockOSThread()
		d, f := new(dropped), func(t *task.T) error { return nil }
		for b.Loop() {
			l := newLane()
			d.sch = l
			op := new(task.Op)
			task.New(f).Connect(op, d).Start()
			l.run()
			l.end()
		}
	}()
	<-done
}

// On an ordinary scheduler, with a goroutine of its own.
func BenchmarkSpawnGoroutine(b *testing.B) {
	d := new(dropped)
	f := func(t *task.T) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		op := new(task.Op)
		task.New(f).Connect(op, d).Start()
	}
}

func BenchmarkAwaitSuspendedGoroutine(b *testing.B) {
	var l sender.RunLoop
	var op task.Op
	done := make(chan unit)
	go func() { l.Run(); close(done) }()
	task.New(func(t *task.T) error {
		for b.Loop() {
			_ = task.Yield(t)
		}
		l.Finish()
		return nil
	}).Connect(&op, &dropped{sch: &l}).Start()
	<-done
}
