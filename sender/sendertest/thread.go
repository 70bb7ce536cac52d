package sendertest

import (
	"runtime"
	"sync"
	"testing"

	"github.com/reactord/reactord/sender/internal/goroutine"
)

// Thread is an OS thread that runs functions one after another, in the order in which they were given to it.
type Thread struct {
	mu     sync.Mutex
	more   sync.Cond
	queue  []func()
	closed bool
	runs   uintptr // the goroutine that runs them
}

// NewThread starts a thread. It ends with the test, after all functions that were given to it.
func NewThread(t testing.TB) *Thread {
	th := new(Thread)
	th.more.L = &th.mu
	started, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		th.runs = goroutine.Current()
		close(started)
		for f := th.next(); f != nil; f = th.next() {
			f()
		}
	}()
	<-started
	t.Cleanup(func() {
		th.mu.Lock()
		th.closed = true
		th.more.Signal()
		th.mu.Unlock()
		<-ended
	})
	return th
}

func (th *Thread) next() func() {
	th.mu.Lock()
	defer th.mu.Unlock()
	for len(th.queue) == 0 {
		if th.closed {
			return nil
		}
		th.more.Wait()
	}
	f := th.queue[0]
	th.queue = th.queue[1:]
	return f
}

// Do gives f to the thread, and does not wait for it.
func (th *Thread) Do(f func()) {
	th.mu.Lock()
	th.queue = append(th.queue, f)
	th.more.Signal()
	th.mu.Unlock()
}

// Wait returns when all functions that were given to the thread before have returned.
func (th *Thread) Wait() {
	done := make(chan bool)
	th.Do(func() { close(done) })
	<-done
}

// Here reports whether the caller runs on the thread.
func (th *Thread) Here() bool { return goroutine.Current() == th.runs }
