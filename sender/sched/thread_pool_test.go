package sched_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
)

// occupy makes the pool's workers busy until what it returns is called.
func occupy(s sender.Scheduler, workers int) (release func()) {
	hold := make(chan bool)
	var busy sync.WaitGroup
	busy.Add(workers)
	for range workers {
		s.Enqueue(&newJob(func(bool) { busy.Done(); <-hold }).work)
	}
	busy.Wait()
	return func() { close(hold) }
}

// Work that is enqueued again and again does not starve other work.
func TestThreadPoolIsFair(t *testing.T) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
	release := occupy(p, 1)
	var order []int
	for i := range 3 {
		var j *job
		j = newJob(func(bool) {
			order = append(order, i)
			if j.ran < 3 {
				p.Enqueue(&j.work)
			}
		})
		p.Enqueue(&j.work)
	}
	var last sync.WaitGroup
	last.Add(1)
	p.Enqueue(&newJob(func(bool) {
		p.Enqueue(&newJob(func(bool) { p.Enqueue(&newJob(func(bool) { last.Done() }).work) }).work)
	}).work)
	release()
	last.Wait()
	p.Close()
	if want := []int{0, 1, 2, 0, 1, 2, 0, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestThreadPoolRefusesBeyondItsLimit(t *testing.T) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2, Limit: 3})
	release := occupy(p, 2)
	var jobs [5]*job
	for i := range jobs {
		jobs[i] = newJob(nil)
		p.Enqueue(&jobs[i].work)
	}
	for _, j := range jobs[3:] {
		j.want(t, 0, 1)
		j.wantReason(t, sender.ErrFull)
	}
	release()
	p.Close()
	for _, j := range jobs[:3] {
		j.want(t, 1, 0)
	}
}

// pool is a resource with its own workers.
type pool interface {
	sender.Scheduler
	Close()
}

func eachPool(t *testing.T, f func(t *testing.T, start func() pool)) {
	t.Run("pool", func(t *testing.T) {
		f(t, func() pool { return sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2}) })
	})
	t.Run("dispatcher", func(t *testing.T) { f(t, func() pool { return sched.NewThreadDispatcher(2) }) })
}

func TestCloseRunsWhatWaitsAndRefusesTheRest(t *testing.T) {
	eachPool(t, func(t *testing.T, start func() pool) {
		synctest.Test(t, func(t *testing.T) {
			p := start()
			var late, waiting *job
			late = newJob(nil)
			waiting = newJob(func(bool) { p.Enqueue(&late.work) })
			release := occupy(p, 2)
			p.Enqueue(&waiting.work)
			closed := false
			go func() {
				p.Close()
				closed = true
			}()
			synctest.Wait()
			if closed {
				t.Error("Close did not wait")
			}
			release()
			synctest.Wait()
			if !closed {
				t.Error("Close does not return")
			}
			p.Close()
			waiting.want(t, 1, 0)
			late.want(t, 0, 1)
			late.wantReason(t, sender.ErrStopped) // it was closing
			after := newJob(nil)
			p.Enqueue(&after.work)
			after.wantReason(t, sender.ErrClosed)
		})
	})
}

// A pool is closed while others enqueue: nothing is lost and nothing hangs.
func TestPoolsCloseUnderLoad(t *testing.T) {
	const threads, each = 3, 200
	eachPool(t, func(t *testing.T, start func() pool) {
		p := start()
		jobs := make([]*job, threads*each)
		var all, started sync.WaitGroup
		all.Add(len(jobs))
		for i := range threads {
			started.Go(func() {
				for n := range each {
					j := newJob(func(bool) { all.Done() })
					jobs[i*each+n] = j
					p.Enqueue(&j.work)
					if n == each/2 {
						p.Close()
					}
				}
			})
		}
		started.Wait()
		all.Wait()
		for _, j := range jobs {
			if j.ran+j.abandoned != 1 {
				t.Fatalf("ran %d times and was abandoned %d times", j.ran, j.abandoned)
			}
		}
	})
}

// The latest first, as the paper has it.
func TestThreadDispatcherIsAStack(t *testing.T) {
	d := sched.NewThreadDispatcher(1)
	release := occupy(d, 1)
	var order []int
	for i := range 4 {
		d.Enqueue(&newJob(func(bool) { order = append(order, i) }).work)
	}
	release()
	d.Close()
	if want := []int{3, 2, 1, 0}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestThreadDispatcherNumbersItsThreads(t *testing.T) {
	d := sched.NewThreadDispatcher(1)
	defer d.Close()
	if id, err := sender.SyncWait(t.Context(), d.Schedule()); id != 1 || err != nil {
		t.Errorf("thread %d, %v", id, err)
	}
	d.Close()
	if _, err := sender.SyncWait(t.Context(), d.Schedule()); err != sender.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}
