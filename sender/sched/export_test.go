package sched

// Armed is how many timers a loop has. On its thread.
func Armed(l *TimedRunLoop) int { return l.timers.Len() }
