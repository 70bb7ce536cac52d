//go:build linux

package reactor

import "fmt"

// Leftover tells what an idle loop still holds, "" if nothing.
func (l *Loop) Leftover() string {
	switch {
	case l.slots.used != 0:
		return fmt.Sprintf("%d slots", l.slots.used)
	case len(l.ready) != 0:
		return fmt.Sprintf("%d operations ready", len(l.ready))
	case l.timers.Len() != own(
		&l.buffers.memory.trim, &l.buffers.starved.retry, &l.missed.rest, &l.futile.timer,
		&l.buffers.exhausted.timer):
		return fmt.Sprintf("%d timers", l.timers.Len())
	case l.buffers.leased != 0:
		return fmt.Sprintf("%d buffers leased", l.buffers.leased)
	case l.buffers.large.leased != 0:
		return fmt.Sprintf("%d large buffers leased", l.buffers.large.leased)
	case l.buffers.inRing+len(l.buffers.free) != cap(l.buffers.free):
		return fmt.Sprintf("%d buffers in the ring and %d free, of %d",
			l.buffers.inRing, len(l.buffers.free), cap(l.buffers.free))
	}
	return ""
}

// JobsQueued is how many blocking funcs wait for a worker thread.
func (l *Loop) JobsQueued() (n int) {
	for j := l.jobs.waiting.First(); j != nil; j = j.Next() {
		n++
	}
	return n
}

// WaitingForBuffers is how many receives wait for one.
func (l *Loop) WaitingForBuffers() int {
	return l.buffers.len(&l.buffers.waiting)
}

// ResidentBuffers is how many receive buffers may have memory.
func (l *Loop) ResidentBuffers() int { return l.buffers.memory.n }

// ResidentLarge is how many large buffers may have memory.
func (l *Loop) ResidentLarge() (n int) {
	for _, is := range l.buffers.large.resident {
		if is {
			n++
		}
	}
	return n
}

// TrimBuffers does what the loop does a while after many buffers were in use.
func (l *Loop) TrimBuffers() { l.buffers.memory.trim.Handler.OnTimer(l.now) }

// own is how many of the loop's own timers are pending.
func own(timers ...*Timer) (n int) {
	for _, t := range timers {
		if t.Pending() {
			n++
		}
	}
	return n
}

// AssertOnThread is what every Start does first.
func (l *Loop) AssertOnThread() { l.assertOnThread() }

// ExpireExhausted does what the loop does a while after receives began to wait for buffers.
func (l *Loop) ExpireExhausted() {
	t := &l.buffers.exhausted.timer
	l.timers.Remove(t)
	t.Handler.OnTimer(l.now)
}
