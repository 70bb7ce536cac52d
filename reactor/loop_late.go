package reactor

import "time"

// A loop is late when it has not looked at its ring for much longer than it meant to sleep: the process was stopped
// (SIGSTOP, a frozen cgroup), the machine was, the thread had no CPU, or a callback has blocked it. What arrived in the
// meantime is waiting, and so are timers, which would be called first: a read would have met its deadline although its
// bytes are there. So a late loop takes in what has arrived before it expires timers.

const (
	// lateAfter is by how much a loop is late.
	lateAfter = 500 * time.Millisecond
	// lateTurns is for how many turns timers are held back at most while more and more arrives.
	lateTurns = 64
)

// lateness is what a loop knows of its being late.
type lateness struct {
	turns int   // for so many more turns timers are held back
	lost  int64 // ns
}

// judge is called when the ring, in which the loop meant to sleep for planned, has been looked at again after gap.
// It reports whether the loop is late.
//
// The whole gap counts as lost: in which part of it the loop could not run cannot be told.
func (t *lateness) judge(gap int64, planned time.Duration) bool {
	if planned < 0 || gap-int64(planned) < int64(lateAfter) {
		return false
	}
	t.lost += gap
	t.turns = lateTurns
	return true
}

// holdBack reports whether timers are held back in a turn that has taken so many completions.
func (t *lateness) holdBack(completions int) bool {
	if t.turns == 0 {
		return false
	}
	if t.turns--; completions == 0 {
		t.turns = 0
	}
	return t.turns != 0
}

// Stalled is how much of the time up to Now the loop was kept from looking at its ring, in nanoseconds: because the process
// or the machine was stopped, because the thread had no CPU, or because a callback blocked it, for half a second or
// longer than it meant to sleep. The sleep in which that happened counts as well.
//
// It is for who judges others by what they did in some time, such as an idle timeout: Now less Stalled is a clock
// that stands still while nothing they did could be seen. Timers expire by Now. While no timer is pending the loop does
// not know how long it meant to sleep, and loses nothing.
func (l *Loop) Stalled() int64 { return l.late.lost }
