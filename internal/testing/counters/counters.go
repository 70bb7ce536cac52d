// Package counters checks the counters of loops that have ended.
package counters

import (
	"fmt"

	"github.com/reactord/reactord/reactor"
)

// Check returns what is wrong with the counters of a loop that has ended with nothing left, or "".
func Check(s reactor.Stats) string {
	ended := s.Canceled + s.CancelsNotFound + s.CancelsAlready
	switch {
	case s.InFlight != 0 || s.Stale != 0 || s.Leaked != 0 || s.LeasedBytes != 0:
		return fmt.Sprintf("something is left: %+v", s)
	case ended != s.Cancels:
		return fmt.Sprintf("%d cancels were submitted, and %d have completed: %+v", s.Cancels, ended, s)
	case s.Completions < s.Entries:
		return fmt.Sprintf("%d entries have only %d completions: %+v", s.Entries, s.Completions, s)
	case s.Lateness.Count() != s.Timers:
		return fmt.Sprintf("%d timers have expired, and the lateness of %d was counted: %+v",
			s.Timers, s.Lateness.Count(), s)
	}
	return ""
}
