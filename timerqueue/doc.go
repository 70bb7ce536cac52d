// Package timerqueue is a queue of timers ordered by deadline: a 4-ary min-heap in which every timer
// knows its own place, so that it can be taken out or moved in O(log n) without a search.
//
// # Contract
//
// A deadline is a time in nanoseconds on whatever clock the caller reads; in this module that is
// CLOCK_MONOTONIC. The queue reads no clock: Pop is told what time it is. A timer is due when its
// deadline is at or before that time. Timers come out in the order of their deadlines, and among
// equal deadlines in the order in which Push or Update put them there.
//
// # Ownership
//
// A Timer is the caller's, usually a field of a larger structure, and holds its place in the queue.
// While it is pending it must stay where it is: do not copy or reuse it, and do not hand it to a
// second queue. The queue keeps it reachable until then. After Pop or Remove the queue has forgotten
// it, and it may be pushed again, also from inside its own handler.
//
// # Threads
//
// A Queue and its timers belong to one thread; nothing here is synchronised.
//
// # Memory
//
// No operation allocates, but for the queue's one slice: it grows as append does. Once three quarters of it
// have been unused for a second, as Pop sees it, what is unused is given back: a burst of timers does not
// keep its memory, and timers that come in waves do not have it made anew each time.
//
// # Why this structure
//
// The entries carry deadline and age beside the pointer, so finding the smallest of four children
// reads one or two cache lines of the slice and touches no timer. Four children instead of two halve
// the height, and with it the number of timers whose place has to be written (D. H. Johnson,
// "Priority queues with update and finding minimum spanning trees", Information Processing Letters
// 4(3), 1975). A timer wheel would be O(1), but rounds deadlines to its tick, has to be turned while
// nothing is due, and cannot say when the next timer is due without a search.
package timerqueue
