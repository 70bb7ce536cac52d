package sender

import (
	"sync"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// RunLoop is a queue of work, and the goroutine that runs it: the one that calls Run. It is a [Scheduler]. Work runs
// in the order in which it was enqueued. The zero RunLoop is ready. It must not be copied.
//
// Source: P2300R10 [exec.run.loop].
type RunLoop struct {
	mu       sync.Mutex
	more     sync.Cond
	waiting  WorkQueue
	begun    bool // Run was called
	finished bool // Finish was called
	closed   bool // Run has returned
}

// Enqueue implements [Scheduler]. Work that comes after Run has returned is refused immediately, with [ErrClosed].
func (l *RunLoop) Enqueue(w *Work) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		w.Runner.Abandon(ErrClosed)
		return
	}
	l.waiting.Push(w)
	l.more.Signal()
	l.mu.Unlock()
}

// Run runs work until Finish has been called and no work is left. It may be called once.
//
// If work ends the goroutine by runtime.Goexit, the loop continues: the goroutine's deferred functions run the rest
// of the work. Then the goroutine ends, and Run does not return. The stack frames of that work stay on the stack
// until then.
func (l *RunLoop) Run() {
	l.mu.Lock()
	begun := l.begun
	l.begun = true
	l.mu.Unlock()
	if begun {
		panic("sender: Run of a RunLoop that runs or has run")
	}
	defer goroutine.Drive(false).Release()
	l.run()
}

// run runs the work until the loop has finished. It continues after runtime.Goexit.
func (l *RunLoop) run() {
	returned := false
	defer aftergoexit.Run(&returned, l.run)
	for w := l.next(); w != nil; w = l.next() {
		w.Runner.Run()
	}
	returned = true
}

// next waits for work and takes it. It returns nil when the loop has ended.
func (l *RunLoop) next() *Work {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.waiting.Empty() && !l.finished {
		l.more.L = &l.mu
		l.more.Wait()
	}
	w := l.waiting.Pop()
	l.closed = w == nil
	return w
}

// Finish makes Run return when no work is left. It may be called from any thread, and repeatedly.
func (l *RunLoop) Finish() {
	l.mu.Lock()
	l.finished = true
	l.more.Signal()
	l.mu.Unlock()
}
