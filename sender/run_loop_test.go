package sender_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/reactord/reactord/sender"
)

// job is work that counts.
type job struct {
	work           sender.Work
	ran, abandoned int
	reason         error // for which it was abandoned
	then           func()
}

func (j *job) Run() {
	j.ran++
	if j.then != nil {
		j.then()
	}
}
func (j *job) Abandon(reason error) { j.abandoned, j.reason = j.abandoned+1, reason }

func newJob(then func()) *job {
	j := &job{then: then}
	j.work.Runner = j
	return j
}

func TestRunLoopRunsInOrder(t *testing.T) {
	var l sender.RunLoop
	var order []int
	for i := range 5 {
		l.Enqueue(&newJob(func() { order = append(order, i) }).work)
	}
	l.Enqueue(&newJob(func() {
		l.Finish()
		l.Enqueue(&newJob(func() { order = append(order, 5) }).work) // not lost
	}).work)
	l.Run()
	for i, n := range order {
		if i != n {
			t.Fatalf("order %v", order)
		}
	}
	if len(order) != 6 {
		t.Fatalf("order %v", order)
	}
}

func TestRunLoopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sender.RunLoop
		returned := false
		go func() {
			l.Run()
			returned = true
		}()
		synctest.Wait()
		j := newJob(nil)
		l.Enqueue(&j.work)
		synctest.Wait()
		if j.ran != 1 || returned {
			t.Errorf("ran %d times, returned %v", j.ran, returned)
		}
		l.Finish()
		l.Finish()
		synctest.Wait()
		if !returned {
			t.Error("Run did not return")
		}
	})
}

func TestRunLoopAbandonsLateWork(t *testing.T) {
	var l sender.RunLoop
	l.Finish()
	l.Run()
	j := newJob(nil)
	l.Enqueue(&j.work)
	if j.ran != 0 || j.abandoned != 1 || j.reason != sender.ErrClosed {
		t.Errorf("ran %d times, abandoned %d times for %v", j.ran, j.abandoned, j.reason)
	}
}

// Work that enqueues itself again inside Run, from several threads.
func TestRunLoopReusesWork(t *testing.T) {
	const jobs, rounds = 4, 1000
	var l sender.RunLoop
	left := jobs
	var wg sync.WaitGroup
	for range jobs {
		var j *job
		j = newJob(func() {
			if j.ran < rounds {
				l.Enqueue(&j.work)
			} else if left--; left == 0 {
				l.Finish()
			}
		})
		wg.Go(func() { l.Enqueue(&j.work) })
	}
	l.Run()
	wg.Wait()
	if left != 0 {
		t.Errorf("%d jobs left", left)
	}
}
