package proxy

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
)

// A backend may hold the connections that there is no server for, instead of resetting them: they wait in its queue.
// One that an operator has paused holds them in any case.
// When a server is back, they are released in order and gradually, as TCP's slow start sends packets: at first one is
// on its way, and each that gets its server lets one more be on its way. When one cannot reach a server, there is one
// at a time again, and the next one tries after a delay. New connections do not wait for that delay: they try once,
// which finds out sooner that a server is back.

// hold is what the loops share of the connections that a backend holds.
type hold struct {
	held     atomic.Int64 // in the queue, or released and on their way
	window   atomic.Int64 // how many may be on their way
	underway atomic.Int64 // how many are
	denied   atomic.Bool  // one was not released because that many are
	retryAt  atomic.Int64 // when the next one may try after one has failed; 0: at once
	since    atomic.Int64 // when the first of those that are held began to be
	outcomes [heldOutcomeCount]atomic.Uint64
	log      logEvery
	logged   atomic.Bool // the log says that connections are held
}

// maxReleases bounds how many held connections of a backend are on their way to a server at a time. The backlogs of
// servers are longer: 128 connections or more.
const maxReleases = 64

// heldOutcome is what has become of a connection that was held.
type heldOutcome uint8

const (
	heldServed  heldOutcome = iota // it has got a server
	heldTimeout                    // there was none in time
	heldClient                     // its client has left
	heldRefused                    // the queue was full: it was not held
	heldEnded                      // the process, an operator or another limit has ended it
	heldOutcomeCount
)

var heldOutcomes = [heldOutcomeCount]string{"served", "timeout", "client", "refused", "ended"}

// read completes a reading of the backend.
func (h *hold) read(out *stats.Backend, full bool) {
	out.Held = int(h.held.Load())
	for i, outcome := range heldOutcomes {
		out.Holds.Add(stats.Count{Reason: outcome, Count: h.outcomes[i].Load()}, full)
	}
}

// waits reports whether the connection waits in the queue after err, an error of take.
func (d *dial) waits(err error) bool {
	if errors.Is(err, balance.ErrNoServer) {
		return (d.keepsHeld() || errors.Is(err, errPaused)) && !d.greeted && !d.conn.backend.upstream.Gone()
	}
	return errors.Is(err, balance.ErrFull)
}

// keepsHeld reports whether the connection may be held: because of a setting, or because it was held already, perhaps
// by a pause that has ended before a server was up.
func (d *dial) keepsHeld() bool { return d.conn.config.Hold > 0 || d.held }

// holdTime returns how long the connection waits at most, if it is held.
func (d *dial) holdTime() time.Duration { return cmp.Or(d.conn.config.Hold, upstream.PauseWait) }

// exhausted reports whether no server is left to try, or no attempt.
func (d *dial) exhausted(group *upstream.Group) bool {
	return d.failures > d.conn.config.Retries || !group.HasUntried(&d.request.Tried)
}

// mayHold reports whether the connection may be held after an attempt that has failed with err. It may not if a server
// has received something of it.
func (d *dial) mayHold(err error) bool {
	c, b := d.conn, d.conn.backend.upstream
	return (d.keepsHeld() || b.Paused()) && c.config.RetryDelay > 0 && !d.greeted && d.fault == faultServer &&
		!noPort(err) && !b.Gone()
}

// holdAfterFailure gives back what the connection has after an attempt that has failed with err, so that it waits until
// servers may be tried again.
func (d *dial) holdAfterFailure(now int64, err error) error {
	c, h := d.conn, &d.conn.backend.shared.hold
	if d.heldUntil != 0 && now >= d.heldUntil {
		return d.fail(reasonHoldTimeout, err)
	}
	c.server.Retried()
	c.log.retried()
	d.failing = true
	d.forgetFailures()
	if now >= h.retryAt.Load() {
		h.retryAt.Store(now + c.worker().jitter(c.config.RetryDelay))
	}
	h.window.Store(1)
	d.endRelease()
	c.give()
	return nil
}

// forgetFailures lets the connection try all servers again.
func (d *dial) forgetFailures() {
	d.failures, d.noPort = 0, 0
	d.request.Tried.Clear()
}

// beginHold begins to hold a connection that has a place in the queue.
func (d *dial) beginHold(now int64) {
	c := d.conn
	d.held = true
	h := &c.backend.shared.hold
	if h.held.Add(1) != 1 {
		return
	}
	h.window.Store(1)
	h.since.Store(now)
	if h.log.due(now) {
		h.logged.Store(true)
		c.worker().proxy.log.Warn("no server available, holding connections", zap.String("backend", c.backend.upstream.Name),
			zap.Duration("hold", d.holdTime()), zap.Bool("paused", c.backend.upstream.Paused()))
	}
}

// endHold gives back the place in the queue of a connection that was held, and counts what has become of it.
func (d *dial) endHold(outcome heldOutcome) {
	if !d.held {
		return
	}
	c := d.conn
	q, now := c.backend.shared, c.loop().Now()
	h := &q.hold
	d.endRelease()
	q.leaveQueue(c.worker(), now-d.queuedAt)
	d.held = false
	h.outcomes[outcome].Add(1)
	if h.held.Add(-1) != 0 {
		return
	}
	h.retryAt.Store(0)
	if h.logged.Swap(false) {
		c.worker().proxy.log.Info("no longer holding connections", zap.String("backend", c.backend.upstream.Name),
			zap.Duration("after", time.Duration(now-h.since.Load())), zap.String("last", heldOutcomes[outcome]))
	}
}

// heldOutcome returns what has become of a held connection whose task has ended for a reason.
func (d *dial) heldOutcome(why closeReason) heldOutcome {
	if d.conn.phase == phaseClosed {
		why = d.conn.why
	}
	switch why {
	case reasonHoldTimeout:
		return heldTimeout
	case reasonQueueClientReset, reasonConnectClientReset:
		return heldClient
	}
	return heldEnded
}

// refuse counts a connection that finds the queue full, and would be held if held is set.
func (s *sharedBackend) refuse(held bool) {
	s.queueRefused.Add(1)
	if held {
		s.hold.outcomes[heldRefused].Add(1)
	}
}

// mustQueue reports whether a new connection waits behind those in the queue. If these wait because a server has
// failed, it may try.
func (b *backend) mustQueue() bool {
	return b.queue.length != 0 && b.worker.loop.Now() >= b.shared.hold.retryAt.Load()
}

// beginRelease reports whether a held connection may be released now, and if so counts it as on its way.
func (d *dial) beginRelease() bool {
	b := d.conn.backend
	h := &b.shared.hold
	if b.worker.loop.Now() < h.retryAt.Load() {
		b.awaitRetry()
		return false
	}
	for {
		n := h.underway.Load()
		if n < h.window.Load() {
			if h.underway.CompareAndSwap(n, n+1) {
				d.releasing = true
				return true
			}
			continue
		}
		// Whoever gives back the room below sees that it was denied, or its room is seen here.
		if h.denied.Store(true); h.underway.Load() >= h.window.Load() {
			return false
		}
	}
}

// endRelease notes that a released connection is no longer on its way, and lets another one be.
func (d *dial) endRelease() {
	if d.releasing {
		d.releasing = false
		s := d.conn.backend.shared
		s.hold.underway.Add(-1)
		s.waiters.Wake()
	}
}

// cancelRelease undoes beginRelease, because there is no room for the connection. If another one was not released
// meanwhile, it tries: there may be room now, and it is the one that was woken.
func (d *dial) cancelRelease() {
	if !d.releasing {
		return
	}
	d.releasing = false
	s := d.conn.backend.shared
	if s.hold.underway.Add(-1); s.hold.denied.Swap(false) {
		s.waiters.Wake()
	}
}

// proveServer notes that a connection has got a server: if others are held, one more of them may be on its way.
func (s *sharedBackend) proveServer() {
	h := &s.hold
	if h.held.Load() == 0 {
		return
	}
	h.retryAt.Store(0)
	if n := h.window.Load(); n < maxReleases {
		h.window.CompareAndSwap(n, n+1)
	}
	s.waiters.Wake()
}

// holdTimer is the part of a backend on one loop, as the handler of the timer after which a held connection tries
// again.
type holdTimer backend

// awaitRetry resumes the queue when held connections may try again.
func (b *backend) awaitRetry() { b.worker.loop.SetTimer(&b.retry, b.shared.hold.retryAt.Load()) }

// OnTimer resumes the queue.
func (t *holdTimer) OnTimer(int64) { (*backend)(t).Resume() }
