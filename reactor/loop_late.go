//go:build linux

package reactor

import "time"

// A loop is late when it has not checked its ring for much longer than it meant to sleep: the process was stopped
// (SIGSTOP, a frozen cgroup), the machine was suspended, the thread had no CPU, or a callback blocked it. By then
// completions wait, and so do timers. In its usual order a read would fail by its deadline although its bytes are
// there. So a late loop takes what has arrived before it expires timers.

const (
	// lateAfter is the excess of a gap over its planned length from which on the loop is late.
	lateAfter = 500 * time.Millisecond
	// lateTurns bounds the turns in which timers are held back, while more and more completions arrive.
	lateTurns = 64
)

// lateness tracks how late a loop is.
type lateness struct {
	turns   int   // for how many more turns timers are held back
	stalled int64 // ns
	timers  distribution
}

// judge reports whether a loop that has checked its ring again after gap is late. It had meant to sleep for planned,
// or, if that is negative, for as long as nothing happens.
//
// The whole gap counts as stalled: in which part of it the loop could not run cannot be known.
func (t *lateness) judge(gap int64, planned time.Duration) bool {
	if planned < 0 || gap-int64(planned) < int64(lateAfter) {
		return false
	}
	t.stalled += gap
	t.turns = lateTurns
	return true
}

// holdBack reports whether timers are held back in a turn that has taken that many completions.
func (t *lateness) holdBack(completions int) bool {
	if t.turns == 0 {
		return false
	}
	if t.turns--; completions == 0 {
		t.turns = 0
	}
	return t.turns != 0
}

// Stalled returns how much of the time up to [Loop.Now] the loop was kept from checking its ring, in nanoseconds:
// because the process or the machine was stopped, the thread had no CPU, or a callback blocked it, for half a second or
// longer than it meant to sleep. The sleep in which that happened counts as well.
//
// It is for timeouts that judge a peer by what it did, such as an idle timeout: Now minus Stalled is a clock that
// stands still while the loop could not see what peers did. Timers expire by Now. While no timer is pending the loop
// does not know how long it meant to sleep, and Stalled does not grow.
func (l *Loop) Stalled() int64 { return l.late.stalled }
