package timerqueue

import "github.com/reactord/reactord/internal/assert"

// check asserts the invariants of entry i, in builds with the tag reactordebug: it is not before its parent, none of
// its children is before it, and its timer stores its index. An operation changes the heap on one path only, so a
// check at the end of that path, in O(1), finds an error. The tests check the whole heap.
func (q *Queue) check(i int) {
	if !assert.Enabled {
		return
	}
	e := &q.heap[i]
	if e.timer.index != i+1 || e.timer.deadline != e.deadline {
		panic("timerqueue: a timer has the wrong index: it was copied or changed while it was pending")
	}
	if i > 0 && e.before(&q.heap[(i-1)/arity]) {
		panic("timerqueue: an entry is before its parent")
	}
	for c := arity*i + 1; c <= arity*i+arity && c < len(q.heap); c++ {
		if q.heap[c].before(e) {
			panic("timerqueue: an entry is after its child")
		}
	}
}
