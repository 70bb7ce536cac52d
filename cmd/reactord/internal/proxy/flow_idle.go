package proxy

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// All timeouts of a connection are checked by its one timer. While bytes flow the timer is not moved with each of them:
// the time of the last one is checked when it expires.

// idleChecks is the number of checks of a connection within its idle timeout.
const idleChecks = 4

// forever is a timeout that does not pass.
const forever = time.Duration(1) << 60

// patience returns how long the connection may be idle: no byte is received, sent, or acknowledged by a peer.
func (c *conn) patience() time.Duration {
	d := c.config.IdleTimeout
	if c.phase == phaseDraining || c.halfClosed() {
		d = c.config.HalfCloseTimeout
	}
	if d <= 0 {
		return forever
	}
	return c.worker().proxy.pressure.scale(d)
}

// lifeEnds returns when the connection has been open for as long as it may. The random part of the lifetime depends on
// the id only.
func (c *conn) lifeEnds() int64 {
	if c.config.Lifetime <= 0 {
		return int64(forever)
	}
	return lifeEnds(c.began, c.id, c.config)
}

func lifeEnds(began int64, id uint64, s *config.Backend) int64 {
	random := float64(id*0x9e3779b97f4a7c15>>32) / (1 << 32)
	return began + int64(s.Lifetime) - int64(float64(s.Lifetime)*random*float64(s.LifetimeJitter)/100)
}

// silenceEnds returns when the first byte must have come, on the connection's clock.
func (c *conn) silenceEnds() int64 {
	d := c.config.FirstByteTimeout
	if d <= 0 || c.phase != phaseFlowing || c.pipes[client].bytes != 0 || c.pipes[server].bytes != 0 {
		return int64(forever)
	}
	return c.lastActive + int64(d)
}

// restartIdleTimer sets the timer to the first check of a connection that has just changed.
func (c *conn) restartIdleTimer() {
	c.touch()
	c.setTimer(c.lastActive + int64(c.patience())/idleChecks)
}

// setTimer sets the timer to a time of the connection's clock, or to another timeout that comes before.
func (c *conn) setTimer(at int64) {
	if !c.keepAliveOn {
		for side := range c.sockets {
			if idle := c.keepAliveOf(side).Idle; idle > 0 {
				at = min(at, c.lastActive+int64(idle))
			}
		}
	}
	at = min(at, c.silenceEnds()) + c.loop().Stalled()
	if c.log != nil {
		at = min(at, c.log.interimDue)
	}
	c.loop().SetTimer(&c.timer, min(at, c.lifeEnds()))
}

// checkTimeouts ends a flowing connection whose time has passed, or sets its timer.
func (c *conn) checkTimeouts() {
	c.setKeepAlive()
	c.logInterim()
	why := reasonIdle
	switch {
	case c.loop().Now() >= c.lifeEnds():
		why = reasonLifetime
	case c.time() >= c.silenceEnds():
		why = reasonFirstByte
	case !c.idle():
		return
	case c.halfClosed():
		why = reasonHalfClosed
	}
	c.close(why, c.undelivered())
}

// setKeepAlive enables keep-alive probes of the peers. Most connections end before they are needed, and are spared
// these system calls. The kernel counts the time since the last byte, whenever the option is set.
func (c *conn) setKeepAlive() {
	if c.keepAliveOn {
		return
	}
	c.keepAliveOn = true
	for side := range c.sockets {
		if k := c.keepAliveOf(side); k.Idle > 0 {
			_ = c.sockets[side].SetKeepAlive(k.Idle, k.Interval, k.Count)
		}
	}
}

// keepAliveOf returns the keep-alive with a side: the backend's, unless the listener says otherwise for clients. A
// server on a unix socket has none.
func (c *conn) keepAliveOf(side int) config.KeepAlive {
	if side == client {
		if k := c.listener.shared.settings.Load().keepAlive; k != nil {
			return *k
		}
	} else if c.serverAddr().IsUnix() {
		return config.KeepAlive{}
	}
	return c.config.KeepAlive
}

// clientKeepAlive returns the keep-alive that a listener has with clients, or nil if the backend's applies.
func clientKeepAlive(k *config.ClientKeepAlive) *config.KeepAlive {
	switch k.Mode {
	case config.OwnKeepAlive:
		return &config.KeepAlive{Idle: k.Idle, Interval: k.Interval, Count: k.Count}
	case config.NoKeepAlive:
		return &config.KeepAlive{}
	}
	return nil
}

// setTimeouts sets the kernel's timeouts on a newly opened or accepted socket.
func (c *conn) setTimeouts(s *reactor.Socket) {
	if d := c.config.UserTimeout; d > 0 {
		_ = s.SetUserTimeout(d)
	}
}

// idle reports whether the connection has been idle for too long. If not, it sets the timer to the next check.
//
// The time of the last receive or send is known without asking the kernel. But the kernel may hold megabytes for a peer
// that reads slowly, and a send completes as soon as the kernel has room for all of it. So a connection for which the
// kernel holds bytes is idle only if the peers acknowledge none of them between two checks. It is ended too late by a
// quarter of the timeout at most.
func (c *conn) idle() bool {
	if c.throttled() {
		c.touch()
	}
	now, patience := c.time(), int64(c.patience())
	step := patience / idleChecks
	if now-c.lastActive < step {
		c.setTimer(c.lastActive + step)
		return false
	}
	acked, holds := c.acknowledged()
	if checked := c.checkedAt >= c.lastActive; checked && uint32(acked) != c.acked || !checked && holds {
		c.lastActive = now
	}
	c.acked, c.checkedAt = uint32(acked), now
	end := c.lastActive + patience
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
