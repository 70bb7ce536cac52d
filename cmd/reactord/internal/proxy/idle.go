package proxy

import "time"

// looks is how often a connection is looked at in the time for which it may be idle.
const looks = 4

// time is the loop's, less what the loop has lost: time that the process did not have is nobody's idleness.
func (c *conn) time() int64 {
	l := c.loop()
	return l.Now() - l.Stalled()
}

// touch notes that something moved.
func (c *conn) touch() { c.active = c.time() }

// patience is how long the connection may be idle: without a byte that was received, sent, or acknowledged by a peer.
func (c *conn) patience() time.Duration {
	if c.half || c.phase == phaseResetting {
		return c.listener.backend.HalfCloseTimeout
	}
	return c.listener.backend.IdleTimeout
}

// await sets the timer for the first look at a connection that something has just moved on.
func (c *conn) await() {
	c.touch()
	c.lookAt(c.active + int64(c.patience())/looks)
}

// lookAt sets the timer to a time of the connection's.
func (c *conn) lookAt(at int64) { c.loop().SetTimer(&c.timer, at+c.loop().Stalled()) }

// idle is called by the timer. It reports whether the connection has been idle for too long, and if not sets the timer
// for the next look.
//
// What was received or sent is known without looking. But the kernel may hold megabytes for a peer that reads slowly,
// and a send completes when it has room for all of it. So a connection for which the kernel holds bytes is idle only
// if the peers have acknowledged none between two looks. It is ended a quarter late at most.
func (c *conn) idle() bool {
	now, patience := c.time(), int64(c.patience())
	step := patience / looks
	if now-c.active < step {
		c.lookAt(c.active + step)
		return false
	}
	acked, holds := c.acknowledged()
	if seen := c.looked >= c.active; seen && uint32(acked) != c.acked || !seen && holds {
		c.active = now
	}
	c.acked, c.looked = uint32(acked), now
	end := c.active + patience
	switch {
	case end <= now:
		return true
	case holds:
		c.lookAt(min(now+step, end))
	default:
		c.lookAt(end)
	}
	return false
}

// acknowledged is how many bytes the peers have acknowledged so far, and whether the kernel holds any that they have
// not. See tcp(7), TCP_INFO.
func (c *conn) acknowledged() (n uint64, holds bool) {
	for side := range c.sockets {
		info, err := c.sockets[side].TCPInfo()
		if err != nil {
			continue
		}
		n += info.Bytes_acked
		if c.dead&(1<<side) == 0 && info.State != tcpClose {
			holds = holds || info.Unacked != 0 || info.Notsent_bytes != 0
		}
	}
	return n, holds
}
