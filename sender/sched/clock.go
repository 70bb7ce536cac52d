package sched

import "time"

var epoch = time.Now()

// monotonic is the clock of all resources of this package: nanoseconds since the process began.
func monotonic() int64 { return int64(time.Since(epoch)) }
