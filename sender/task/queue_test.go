package task_test

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// Tasks pass items through queues of several sizes, on every scheduler. Each item comes once, in order for each writer.
func TestQueue(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		if sch == nil {
			t.Skip("without a scheduler the tasks run one after the other")
		}
		const writers, readers, items = 3, 2, 500
		for _, limit := range []int{0, 1, 7} {
			type item struct{ writer, number int }
			q := &task.Queue[item]{Limit: limit}
			var taken, writing atomic.Int32
			writing.Store(writers)
			var all []*outcome[unit]
			for w := range writers {
				all = append(all, begin(t, sch, task.New(func(t *task.T) error {
					for n := range items {
						if _, err := task.Await(t, q.Put(item{w, n})); err != nil {
							return err
						}
					}
					if writing.Add(-1) == 0 {
						q.Close()
					}
					return nil
				}), nil))
			}
			for range readers {
				all = append(all, begin(t, sch, task.New(func(tk *task.T) error {
					next := [writers]int{}
					for {
						x, err := task.Await(tk, q.Pop())
						if err != nil {
							if err == io.EOF {
								return nil
							}
							return err
						}
						if x.number < next[x.writer] {
							t.Errorf("item %v came behind %d", x, next[x.writer])
						}
						next[x.writer] = x.number + 1
						taken.Add(1)
					}
				}), nil))
			}
			for _, o := range all {
				if got := o.result(); got.Channel != sendertest.OnValue {
					t.Errorf("limit %d: %v", limit, got)
				}
			}
			if n := taken.Load(); n != writers*items || q.Len() != 0 {
				t.Errorf("limit %d: %d items were taken, and %d are left", limit, n, q.Len())
			}
		}
	})
}

// A full or closed queue takes nothing, and what it has can be taken nevertheless.
func TestQueueCloses(t *testing.T) {
	q := &task.Queue[int]{Limit: 2}
	if !q.Push(1) || !q.Push(2) || q.Push(3) {
		t.Error("the limit is not 2")
	}
	put, pop := new(sendertest.Recorder[unit]), new(sendertest.Recorder[int])
	started[unit](put, q.Put(3), new(task.PutOp[int]))
	if v, ok := q.TryPop(); v != 1 || !ok || !put.Completed() || q.Len() != 2 {
		t.Errorf("%d, %v, and the Put that waits has completed: %v", v, ok, put.Completed())
	}
	refused := new(sendertest.Recorder[unit])
	started[unit](refused, q.Put(4), new(task.PutOp[int]))
	q.Close()
	q.Close()
	if x := refused.Result(); x.Channel != sendertest.OnError || !errors.Is(x.Err, sender.ErrClosed) {
		t.Errorf("a Put under Close: %v", x)
	}
	if q.Push(5) {
		t.Error("a closed queue took an item")
	}
	for want := 2; want <= 3; want++ {
		if v, ok := q.TryPop(); v != want || !ok {
			t.Errorf("%d, %v; want %d", v, ok, want)
		}
	}
	if _, ok := q.TryPop(); ok {
		t.Error("an item of an empty queue")
	}
	started[int](pop, q.Pop(), new(task.PopOp[int]))
	if x := pop.Result(); x.Channel != sendertest.OnError || x.Err != io.EOF {
		t.Errorf("a Pop of a closed queue: %v", x)
	}
	open := new(task.Queue[int])
	pop = new(sendertest.Recorder[int])
	started[int](pop, open.Pop(), new(task.PopOp[int]))
	open.Close()
	if x := pop.Result(); x.Err != io.EOF {
		t.Errorf("a Pop under Close: %v", x)
	}
}

// started connects and starts s.
func started[T, O any, S sender.Sender[T, O]](r *sendertest.Recorder[T], s S, op *O) {
	start := s.Connect(op, r)
	r.Starting()
	start.Start()
}

// Pop, Put and Wait keep the contract of all senders, stop requests from other threads included.
func TestWaitersKeepTheContract(t *testing.T) {
	full := &task.Queue[int]{Limit: 1}
	full.Push(1)
	endless := sendertest.Options[unit]{Endless: true, Restartable: true}
	sendertest.Check[int, task.PopOp[int]](t, new(task.Queue[int]).Pop(),
		sendertest.Options[int]{Endless: true, Restartable: true})
	sendertest.Check[unit, task.PutOp[int]](t, full.Put(2), endless)
	sendertest.Check[unit, task.WaitOp](t, new(task.Cond).Wait(), endless)
	sendertest.Check[unit, task.PutOp[int]](t, new(task.Queue[int]).Put(2), sendertest.Options[unit]{Restartable: true})
}

// An item and a stop request that meet: the item is delivered or stays in the queue.
func TestQueueStopRace(t *testing.T) {
	th := sendertest.NewThread(t)
	for range 2000 {
		q, rec := new(task.Queue[int]), new(sendertest.Recorder[int])
		rec.Stop = new(stop.Source)
		started[int](rec, q.Pop(), new(task.PopOp[int]))
		th.Do(func() { q.Push(1) })
		rec.Stop.RequestStop()
		th.Wait()
		if got := rec.Result().Channel == sendertest.OnValue; got == (q.Len() == 1) {
			t.Fatalf("completed with %v, and %d items are left", rec.Result(), q.Len())
		}
	}
}

// A task that waits when its scheduler ends is stopped, or abandoned.
func TestQueueAndTheEndOfAScheduler(t *testing.T) {
	q := new(task.Queue[int])
	r := newCoroutineLoop(t)
	o := begin(t, r, task.New(func(t *task.T) error {
		_, err := task.Await(t, q.Pop())
		return err
	}), nil)
	r.do(func() {})
	r.end()
	if x := o.result(); x.Channel != sendertest.OnStopped {
		t.Errorf("a drain: %v", x)
	}
	r = newCoroutineLoop(t)
	o = begin(t, r, task.New(func(t *task.T) (err error) {
		task.Unstoppable(t, func() { _, err = task.Await(t, q.Pop()) })
		return err
	}), nil)
	r.do(func() {})
	r.abandonAll()
	if x := o.result(); x.Channel != sendertest.OnStopped {
		t.Errorf("an abandoned task: %v", x)
	}
	if !q.Push(1) { // it is lost
		t.Error("the queue is closed")
	}
}

// Passing items between two tasks allocates nothing.
func TestQueueDoesNotAllocate(t *testing.T) {
	r := newCoroutineLoop(t)
	ping, pong := task.Queue[int]{Limit: 1}, new(task.Queue[int])
	answers := begin(t, r, task.New(func(t *task.T) error {
		for {
			v, err := task.Await(t, ping.Pop())
			if err != nil {
				return nil
			}
			pong.Push(v + 1)
		}
	}), nil)
	asks := begin(t, r, task.New(func(tk *task.T) error {
		defer ping.Close()
		if n := testing.AllocsPerRun(100, func() {
			_, _ = task.Await(tk, ping.Put(1))
			if v, err := task.Await(tk, pong.Pop()); v != 2 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	}), nil)
	asks.result()
	answers.result()
}
