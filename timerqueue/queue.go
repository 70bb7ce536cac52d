package timerqueue

const (
	arity       = 4    // children of a node
	minCapacity = 1024 // entries; a slice with at most this capacity never shrinks
	shrinkAfter = 1e9  // ns that most of a slice is unused before it is released
)

// Queue is an ordered set of timers. The zero Queue is empty, and ready.
type Queue struct {
	heap     []entry // heap[i] is not before its parent heap[(i-1)/arity]
	sequence uint64  // number of entries ever made
	lowSince int64   // time of the first Pop that saw most of the slice unused, or 0
}

// entry is a pending timer, with its sort key.
type entry struct {
	deadline int64
	sequence uint64 // unique and increasing: the order of equal deadlines
	timer    *Timer
}

func (e *entry) before(f *entry) bool {
	return e.deadline < f.deadline || e.deadline == f.deadline && e.sequence < f.sequence
}

// Len returns the number of pending timers.
func (q *Queue) Len() int { return len(q.heap) }

// Min returns the earliest deadline; ok is false if no timer is pending.
func (q *Queue) Min() (deadline int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].deadline, true
}

// Push adds t to the queue, behind the timers with the same deadline. It panics if t is pending, because two entries
// would refer to one timer.
func (q *Queue) Push(t *Timer, deadline int64) {
	if t.index != 0 {
		panic("timerqueue: Push of a pending timer: use Update to change its deadline")
	}
	q.heap = append(q.heap, entry{})
	if q.lowSince != 0 && !q.low() {
		q.lowSince = 0
	}
	q.up(len(q.heap)-1, q.entry(t, deadline))
	q.check(t.index - 1)
}

// Update changes the deadline of t, and puts it behind the timers with the same deadline. If t is not pending, it is
// pushed. Update costs more than Push and Remove, which mostly work near the leaves of the heap. Do not update an idle
// timeout with every message: when it is due, compare the time of the last message and push it again.
func (q *Queue) Update(t *Timer, deadline int64) {
	if t.index == 0 {
		q.Push(t, deadline)
		return
	}
	i := q.indexOf(t)
	q.place(i, q.entry(t, deadline))
}

// Remove removes t from the queue, and reports whether it was pending.
func (q *Queue) Remove(t *Timer) bool {
	if t.index == 0 {
		return false
	}
	q.removeAt(q.indexOf(t))
	return true
}

// Pop removes the first timer if its deadline is at or before now, and returns it; nil if no timer is due. The caller
// then calls its handler.
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

// entry makes a new entry for t, with the next sequence number.
func (q *Queue) entry(t *Timer, deadline int64) entry {
	q.sequence++
	t.deadline = deadline
	return entry{deadline, q.sequence, t}
}

// indexOf returns the index of t's entry.
func (q *Queue) indexOf(t *Timer) int {
	i := t.index - 1
	if i >= len(q.heap) || q.heap[i].timer != t {
		panic("timerqueue: the timer is pending in another queue, or was copied")
	}
	return i
}

// removeAt removes entry i, and moves the last entry there.
func (q *Queue) removeAt(i int) {
	n := len(q.heap) - 1
	q.heap[i].timer.index = 0
	last := q.heap[n]
	q.heap[n] = entry{} // otherwise the slice would keep the timer reachable
	q.heap = q.heap[:n]
	if i < n {
		q.place(i, last)
	}
}

// place puts e at its position in the heap. Index i is free.
func (q *Queue) place(i int, e entry) {
	if i > 0 && e.before(&q.heap[(i-1)/arity]) {
		q.up(i, e)
	} else {
		q.down(i, e)
	}
	q.check(e.timer.index - 1)
}

// up moves the free index i towards the root until e fits, and puts e there.
func (q *Queue) up(i int, e entry) {
	heap := q.heap
	for i > 0 {
		p := (i - 1) / arity
		if !e.before(&heap[p]) {
			break
		}
		heap[i] = heap[p]
		heap[i].timer.index = i + 1
		i = p
	}
	heap[i] = e
	e.timer.index = i + 1
}

// down moves the free index i towards the leaves until e fits, and puts e there.
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
		heap[i].timer.index = i + 1
		i = c
	}
	heap[i] = e
	e.timer.index = i + 1
}

// low reports whether at least three quarters of the slice are unused.
func (q *Queue) low() bool { return cap(q.heap) > minCapacity && len(q.heap) <= cap(q.heap)/4 }

// shrink releases unused memory when it has been unused for shrinkAfter. Timers that come in faster waves reuse it.
func (q *Queue) shrink(now int64) {
	switch {
	case q.lowSince == 0:
		q.lowSince = now
	case now-q.lowSince >= shrinkAfter:
		q.heap = append(make([]entry, 0, max(2*len(q.heap), minCapacity)), q.heap...)
		q.lowSince = 0
	}
}
