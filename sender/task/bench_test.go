package task_test

import (
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// benchLoop is the simplest scheduler that hosts coroutines: a queue on the benchmark's own thread.
type benchLoop struct {
	pool  task.CoroutinePool
	queue sender.WorkQueue
	awake bool
}

// newBenchLoop returns a benchLoop with tasks, of the calling goroutine.
func newBenchLoop() *benchLoop {
	l := new(benchLoop)
	l.pool.Wake = func() { l.awake = true }
	l.pool.Enter()
	return l
}

// end ends it.
func (l *benchLoop) end() {
	l.pool.Drain(nil)
	l.pool.Leave()
}

func (l *benchLoop) Coroutines() *task.CoroutinePool { return &l.pool }

func (l *benchLoop) Enqueue(w *sender.Work) { l.queue.Push(w) }

// run runs what is enqueued, until nothing is.
func (l *benchLoop) run() {
	for !l.queue.Empty() || l.awake {
		for w := l.queue.Pop(); w != nil; w = l.queue.Pop() {
			w.Runner.Run()
		}
		if l.awake {
			l.awake = false
			l.pool.Run()
		}
	}
}

// onBenchLoop runs f as a task on a new benchLoop.
func onBenchLoop(b *testing.B, f func(l *benchLoop, t *task.T)) {
	done := make(chan unit)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		l := newBenchLoop()
		var op task.Op
		task.New(func(t *task.T) error { f(l, t); return nil }).Connect(&op, &dropped{sch: l}).Start()
		l.run()
		l.end()
	}()
	<-done
}

// dropped is a receiver that ignores every completion.
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
	onBenchLoop(b, func(_ *benchLoop, t *task.T) {
		for b.Loop() {
			_, _ = task.Await(t, sender.Just(1))
		}
	})
}

// An operation that completes on a benchLoop, without a task, for comparison with an await.
func BenchmarkScheduleAlone(b *testing.B) {
	l := new(benchLoop)
	d := &dropped{sch: l}
	var op sender.ScheduleOp
	for b.Loop() {
		sender.Schedule(l).Connect(&op, d).Start()
		l.run()
	}
}

func BenchmarkAwaitSuspended(b *testing.B) {
	onBenchLoop(b, func(l *benchLoop, t *task.T) {
		for b.Loop() {
			_, _ = task.Await(t, sender.Schedule(l))
		}
	})
}

// An operation that has declared to complete on the benchLoop.
func BenchmarkAwaitSuspendedAffine(b *testing.B) {
	onBenchLoop(b, func(l *benchLoop, t *task.T) {
		for b.Loop() {
			_, _ = task.Await(t, affineSchedule{sender.Schedule(l)})
		}
	})
}

// affineSchedule is a Schedule on the benchLoop where it is started.
type affineSchedule struct{ sender.ScheduleSender }

func (affineSchedule) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

func spawn(b *testing.B, sch func(l *benchLoop) sender.Scheduler) {
	done := make(chan unit)
	b.ReportAllocs()
	go func() {
		defer close(done)
		runtime.LockOSThread()
		l := newBenchLoop()
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

func BenchmarkSpawn(b *testing.B) { spawn(b, func(l *benchLoop) sender.Scheduler { return l }) }

// Coroutines that are all new: no idle coroutine is left.
func BenchmarkSpawnNewCoroutine(b *testing.B) {
	done := make(chan unit)
	b.ReportAllocs()
	go func() {
		defer close(done)
		runtime.LockOSThread()
		d, f := new(dropped), func(t *task.T) error { return nil }
		for b.Loop() {
			l := newBenchLoop()
			d.sch = l
			op := new(task.Op)
			task.New(f).Connect(op, d).Start()
			l.run()
			l.end()
		}
	}()
	<-done
}

// On an ordinary scheduler, with its own goroutine.
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
