package stats

import "time"

// Seconds is a duration in seconds.
type Seconds float64

// Of returns d in seconds, to the millisecond.
func Of(d time.Duration) Seconds {
	return Seconds(float64(d.Round(time.Millisecond)) / float64(time.Second))
}

// Duration returns s as a duration.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }
