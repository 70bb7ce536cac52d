// Package timerqueue is a queue of timers, ordered by deadline. It is a 4-ary min-heap in which each timer stores its
// index, so a timer is removed or moved in O(log n) without a search.
//
//	var q timerqueue.Queue
//	q.Push(&conn.timer, now+timeout) // conn.timer.Handler is conn
//	for t := q.Pop(now); t != nil; t = q.Pop(now) {
//		t.Handler.OnTimer(now)
//	}
//
// # What it guarantees
//
// A deadline is a time in nanoseconds, on any clock that the caller chooses. The queue does not read a clock: Pop gets
// the current time. A timer is due when its deadline is at or before that
// time. Timers come out in the order of their deadlines. Timers with equal deadlines come out in the order in which
// Push or Update was called.
//
// # Ownership
//
// The caller owns each [Timer]; it is usually a field of a larger struct. While it is pending it must stay where it is:
// do not copy it, do not reuse it, and do not push it to another queue. The queue keeps it reachable until then. After
// Pop or Remove the queue no longer refers to it, and it may be pushed again, also from inside its handler.
//
// # Threads
//
// A [Queue] and its timers belong to one thread. Nothing is synchronised.
//
// # Memory
//
// Nothing allocates except the queue's one slice, which grows as append does. When three quarters of the slice have
// been unused for a second, measured by the times that Pop gets, unused memory is released. So a burst of timers does
// not keep its memory, and timers that come in waves do not make the slice grow and shrink each time.
//
// # Why this structure
//
// The heap entries contain the deadline and a sequence number next to the pointer. So finding the smallest of four
// children reads one or two cache lines of the slice, and no timer. Four children instead of two halve the height of
// the heap, and with it the number of timers whose index has to be written (D. H. Johnson, "Priority queues with update
// and finding minimum spanning trees", Information Processing Letters 4(3), 1975). A timer wheel would be O(1), but it
// rounds deadlines to its tick, has to advance while nothing is due, and cannot say when the next timer is due without
// a search.
package timerqueue
