package program

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Queues runs tasks on several loops, and threads, that pass items through one queue, and tasks of each loop that wait
// for a condition. Some tasks are stopped, and sometimes a loop. No item may be lost or come twice.
func Queues(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	q := &queues{k: k, taken: map[int]int{}}
	q.queue.Limit = rng.IntN(5)
	loops := make([]*reactor.Loop, 1+rng.IntN(3))
	for i := range loops {
		loops[i] = NewLoop(k)
	}
	all := runLoops(k, loops, func(l *reactor.Loop) {
		for range 1 + rng.IntN(3) {
			q.launch(l, func(t *task.T) error { return q.put(t, l) })
			q.launch(l, q.pop)
		}
		q.onCond(l)
	})
	for i := range rng.IntN(3) {
		q.left++
		k.Go(fmt.Sprintf("pusher%d", i), func(t *simring.Thread) {
			for range 10 {
				t.Sleep(time.Duration(1 + rng.Int64N(int64(time.Millisecond))))
				q.next++
				if n := q.next; q.queue.Push(n) {
					q.passed = append(q.passed, n)
				}
			}
			q.left--
		})
	}
	k.Go("end", func(t *simring.Thread) {
		t.Until(all.Up)
		for rng.IntN(3) != 0 {
			t.Sleep(time.Duration(1 + rng.Int64N(int64(3*time.Millisecond))))
			if rng.IntN(4) == 0 {
				loops[rng.IntN(len(loops))].Stop()
			} else if len(q.tasks) != 0 {
				q.tasks[rng.IntN(len(q.tasks))].source.RequestStop()
			}
		}
		q.queue.Close()
		t.Until(func() bool { return q.left == 0 })
		all.Stop()
	})
	return q.judge
}

type queues struct {
	k      *simring.Kernel
	queue  task.Queue[int]
	tasks  []*taskRun
	left   int
	next   int   // the last item that was made
	passed []int // the items that the queue has taken
	taken  map[int]int
}

func (q *queues) launch(l *reactor.Loop, f func(*task.T) error) {
	q.left++
	q.tasks = append(q.tasks, launch(q.k, l, f, func(*taskRun) { q.left-- }))
}

// put puts items, until the queue is closed.
func (q *queues) put(t *task.T, l *reactor.Loop) error {
	for range 20 {
		q.next++
		n := q.next
		_, err := task.Await(t, q.queue.Put(n))
		if errors.Is(err, sender.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		q.passed = append(q.passed, n)
		if q.k.Rand().IntN(3) == 0 {
			if _, err := task.Await(t, l.SleepFor(time.Duration(q.k.Rand().Int64N(int64(time.Millisecond))))); err != nil {
				return err
			}
		}
	}
	return nil
}

// pop takes items, until the queue is closed.
func (q *queues) pop(t *task.T) error {
	for {
		n, err := task.Await(t, q.queue.Pop())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		q.taken[n]++
	}
}

// onCond runs tasks of a loop that wait for tokens, and one that makes as many.
func (q *queues) onCond(l *reactor.Loop) {
	cond, tokens := new(task.Cond), 0
	waiting := q.k.Rand().IntN(4)
	all := q.k.Rand().IntN(2) == 0
	for range waiting {
		q.launch(l, func(t *task.T) error {
			for tokens == 0 {
				if _, err := task.Await(t, cond.Wait()); err != nil {
					return err
				}
			}
			tokens--
			return nil
		})
	}
	q.launch(l, func(t *task.T) error {
		for range waiting {
			err := task.Yield(t)
			if tokens++; all {
				cond.Broadcast()
			} else {
				cond.Signal()
			}
			if err != nil {
				tokens += waiting
				cond.Broadcast()
				return err
			}
		}
		return nil
	})
}

func (q *queues) judge() {
	for {
		n, ok := q.queue.TryPop()
		if !ok {
			break
		}
		q.taken[n]++
	}
	for _, n := range q.passed {
		if q.taken[n] != 1 {
			q.k.Errorf("item %d was taken %d times", n, q.taken[n])
		}
		delete(q.taken, n)
	}
	for n := range q.taken {
		q.k.Errorf("item %d was taken, and the queue did not accept it", n)
	}
}
