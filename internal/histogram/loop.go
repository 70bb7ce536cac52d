package histogram

import "time"

// The cells of what a loop counts. They divide each power of two into two.
var (
	// SlowTurns are from 1 ms on: a loop looks at how long a turn took only if it took that long.
	SlowTurns = New(1, -10, 6,
		2500*time.Microsecond, 5*time.Millisecond, 10*time.Millisecond, 25*time.Millisecond, 50*time.Millisecond,
		100*time.Millisecond, 250*time.Millisecond, 500*time.Millisecond, time.Second, 2500*time.Millisecond,
		5*time.Second, 10*time.Second)
	// Lateness has the cells for the lateness of timers. Up to 61 µs are not told apart: it is about the slack that
	// timers have.
	Lateness = New(1, -14, 6,
		100*time.Microsecond, 250*time.Microsecond, 500*time.Microsecond, time.Millisecond, 2500*time.Microsecond,
		5*time.Millisecond, 10*time.Millisecond, 25*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond,
		250*time.Millisecond, 500*time.Millisecond, time.Second, 10*time.Second)
)
