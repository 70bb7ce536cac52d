package timerqueue

import "github.com/reactord/reactord/internal/assert"

const (
	arity    = 4    // children of a node
	minRoom  = 1024 // entries the slice keeps at least once it has them
	patience = 1e9  // ns that most of a slice is unused before it is given back
)

// Queue is an ordered set of timers. The zero Queue is empty and ready for use.
type Queue struct {
	heap     []entry // heap[i] is not before its parent heap[(i-1)/arity]
	age      uint64  // number of entries ever made
	lowSince int64   // when Pop first saw most of the slice unused; 0: it is not, or nobody has looked
}

// entry is a pending timer with all that ordering needs.
type entry struct {
	deadline int64
	age      uint64 // unique, growing: the order among equal deadlines
	timer    *Timer
}

func (e *entry) before(f *entry) bool {
	return e.deadline < f.deadline || e.deadline == f.deadline && e.age < f.age
}

// Len is the number of pending timers.
func (q *Queue) Len() int { return len(q.heap) }

// Min is the earliest deadline; ok is false when no timer is pending.
func (q *Queue) Min() (deadline int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].deadline, true
}

// Push puts t, which must not be pending, into the queue, behind those of the same deadline. It
// panics if t is pending, because going on would leave two entries fighting over one place.
func (q *Queue) Push(t *Timer, deadline int64) {
	if t.place != 0 {
		panic("timerqueue: Push of a pending timer")
	}
	q.heap = append(q.heap, entry{})
	if q.lowSince != 0 && !q.low() {
		q.lowSince = 0
	}
	q.up(len(q.heap)-1, q.entry(t, deadline))
	q.check(t.place - 1)
}

// Update moves t to a new deadline, behind those that have it already; if t is not pending, it is
// pushed. It costs more than Push and Remove, which mostly work at the far end of the heap: an idle
// timeout that would be moved with every message is better left where it is, and compared with the
// time of the last message when it is due.
func (q *Queue) Update(t *Timer, deadline int64) {
	if t.place == 0 {
		q.Push(t, deadline)
		return
	}
	i := q.index(t)
	q.place(i, q.entry(t, deadline))
}

// Remove takes t out of the queue and reports whether it was pending.
func (q *Queue) Remove(t *Timer) bool {
	if t.place == 0 {
		return false
	}
	q.removeAt(q.index(t))
	return true
}

// Pop takes out the first timer whose deadline is at or before now, or returns nil if none is.
// The caller then calls its handler.
func (q *Queue) Pop(now int64) *Timer {
	if q.low() {
		q.shrink(now)
	}
	if len(q.heap) == 0 || q.heap[0].deadline > now {
		return nil
	}
	t := q.heap[0].timer
	q.removeAt(0)
	return t
}

// entry makes a new entry for t, the youngest of the queue.
func (q *Queue) entry(t *Timer, deadline int64) entry {
	q.age++
	t.deadline = deadline
	return entry{deadline, q.age, t}
}

// index is where t's entry is.
func (q *Queue) index(t *Timer) int {
	i := t.place - 1
	if assert.Enabled && (i >= len(q.heap) || q.heap[i].timer != t) {
		panic("timerqueue: the timer is pending in another queue, or was copied")
	}
	return i
}

// removeAt takes out entry i and fills the hole with the last entry.
func (q *Queue) removeAt(i int) {
	n := len(q.heap) - 1
	q.heap[i].timer.place = 0
	last := q.heap[n]
	q.heap[n] = entry{} // lets go of the timer
	q.heap = q.heap[:n]
	if i < n {
		q.place(i, last)
	}
}

// place puts e where it belongs, starting from the hole i.
func (q *Queue) place(i int, e entry) {
	if i > 0 && e.before(&q.heap[(i-1)/arity]) {
		q.up(i, e)
	} else {
		q.down(i, e)
	}
	q.check(e.timer.place - 1)
}

// up moves the hole i towards the root until e fits in, and puts it there.
func (q *Queue) up(i int, e entry) {
	heap := q.heap
	for i > 0 {
		p := (i - 1) / arity
		if !e.before(&heap[p]) {
			break
		}
		heap[i] = heap[p]
		heap[i].timer.place = i + 1
		i = p
	}
	heap[i] = e
	e.timer.place = i + 1
}

// down moves the hole i towards the leaves until e fits in, and puts it there.
func (q *Queue) down(i int, e entry) {
	heap := q.heap
	for {
		c := arity*i + 1 // the first child, then the smallest
		if c >= len(heap) {
			break
		}
		for j, end := c+1, min(c+arity, len(heap)); j < end; j++ {
			if heap[j].before(&heap[c]) {
				c = j
			}
		}
		if !heap[c].before(&e) {
			break
		}
		heap[i] = heap[c]
		heap[i].timer.place = i + 1
		i = c
	}
	heap[i] = e
	e.timer.place = i + 1
}

// low: three quarters of the slice and more are unused.
func (q *Queue) low() bool { return cap(q.heap) > minRoom && len(q.heap) <= cap(q.heap)/4 }

// shrink gives back what is unused when it has been for long. Timers that come in waves find the room that
// the last wave made.
func (q *Queue) shrink(now int64) {
	switch {
	case q.lowSince == 0:
		q.lowSince = now
	case now-q.lowSince >= patience:
		q.heap = append(make([]entry, 0, max(2*len(q.heap), minRoom)), q.heap...)
		q.lowSince = 0
	}
}
