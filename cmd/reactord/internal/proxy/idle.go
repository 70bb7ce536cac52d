package proxy

import "time"

// idleChecks is how often a connection is checked for idleness in the time for which it may be idle.
const idleChecks = 4

// patience is how long the connection may be idle: no byte is received, sent, or acknowledged by a peer.
func (c *conn) patience() time.Duration {
	if c.phase == phaseDraining || c.halfClosed() {
		return timeout(c.settings.HalfCloseTimeout)
	}
	return timeout(c.settings.IdleTimeout)
}

// restartIdleTimer sets the timer to the first check of a connection that has just changed.
func (c *conn) restartIdleTimer() {
	c.touch()
	c.setTimer(c.active + int64(c.patience())/idleChecks)
}

// setTimer sets the timer to a time of the connection's clock.
func (c *conn) setTimer(at int64) { c.loop().SetTimer(&c.timer, at+c.loop().Stalled()) }

// idle is called by the timer. It reports whether the connection has been idle for too long. If not, it sets the timer
// to the next check.
//
// The time of the last receive or send is known without asking the kernel. But the kernel may hold megabytes for a peer
// that reads slowly, and a send completes as soon as the kernel has room for all of it. So a connection for which the
// kernel holds bytes is idle only if the peers acknowledge none of them between two checks. It is ended too late by a
// quarter of the timeout at most.
func (c *conn) idle() bool {
	now, patience := c.time(), int64(c.patience())
	step := patience / idleChecks
	if now-c.active < step {
		c.setTimer(c.active + step)
		return false
	}
	acked, holds := c.acknowledged()
	if checked := c.checkedAt >= c.active; checked && uint32(acked) != c.acked || !checked && holds {
		c.active = now
	}
	c.acked, c.checkedAt = uint32(acked), now
	end := c.active + patience
	switch {
	case end <= now:
		return true
	case holds:
		c.setTimer(min(now+step, end))
	default:
		c.setTimer(end)
	}
	return false
}

// forever stands for no timeout.
const forever = 100 * 365 * 24 * time.Hour

func timeout(d time.Duration) time.Duration {
	if d == 0 {
		return forever
	}
	return d
}
