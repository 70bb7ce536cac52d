package sched

// Armed returns how many timers a loop has. On its thread.
func Armed(l *TimedRunLoop) int { return l.timers.Len() }
