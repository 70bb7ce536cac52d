package timerqueue

import "github.com/reactord/reactord/internal/assert"

// check asserts, in a debug build, what must hold around entry i: it is not before its parent, none
// of its children is before it, and its timer knows where it is. An operation changes the order on
// one path only, so looking at its end is enough to catch an error there at O(1); the tests look at
// the whole heap.
func (q *Queue) check(i int) {
	if !assert.Enabled {
		return
	}
	e := &q.heap[i]
	if e.timer.place != i+1 || e.timer.deadline != e.deadline {
		panic("timerqueue: a timer does not know its place")
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
