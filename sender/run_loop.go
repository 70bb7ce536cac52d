package sender

import "sync"

// RunLoop is a queue of work and the thread that runs it: whichever calls Run. It is a Scheduler. The
// zero value is ready; it must not be copied.
//
// Work runs in the order it was enqueued in, on the goroutine that called Run.
//
// Source: P2300R10 [exec.run.loop].
type RunLoop struct {
	mu       sync.Mutex
	more     sync.Cond
	waiting  WorkQueue
	finished bool // Finish was called
	closed   bool // Run has returned
}

// Enqueue implements Scheduler. Work that comes after Run has returned is abandoned at once.
func (l *RunLoop) Enqueue(w *Work) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		w.Runner.Abandon()
		return
	}
	l.waiting.Push(w)
	l.more.Signal()
	l.mu.Unlock()
}

// Run runs work until Finish has been called and no work is left. It may be called once.
func (l *RunLoop) Run() {
	for w := l.next(); w != nil; w = l.next() {
		w.Runner.Run()
	}
}

// next waits for work and takes it, or returns nil when the loop is done.
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
