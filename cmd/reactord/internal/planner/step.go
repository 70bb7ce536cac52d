package planner

import (
	"context"
	"time"
)

// Driver lets the owner of a planner make its steps, by a clock of its own such as a virtual one.
type Driver struct {
	// Now returns the time.
	Now func() time.Time
	// Wake is called when there is something to do for a step. It must not block, or call the planner.
	Wake func()
}

// Step takes the input so far, and puts in force what is due. It returns when the next step is due at the latest; zero:
// with the next input. The owner of a planner with a [Driver] calls it, on one thread.
func (p *Planner) Step(ctx context.Context) (next time.Time) {
	now := p.now()
	read := p.takeInput(now)
	if p.takeDue(now) || read {
		p.apply(ctx, p.takeChanges(now))
	}
	p.load(ctx)
	p.nextControl()
	next = earlier(p.gathered, p.expires)
	if p.loading != nil {
		next = earlier(next, p.loading.until)
	}
	if p.coming != nil {
		next = earlier(next, p.coming.until)
	}
	return next
}

// earlier returns the earlier of two times that are not zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// takeInput takes a file that was read, and begins to gather changes. It reports whether a file was read: what has come
// meanwhile does not wait then.
func (p *Planner) takeInput(now time.Time) bool {
	p.mu.Lock()
	read, pending := p.read, p.pending
	p.read, p.pending = nil, false
	p.mu.Unlock()
	if pending {
		p.beginGathering(now)
	}
	if read != nil {
		p.fileRead(*read)
	}
	return read != nil
}

// beginGathering lets changes wait for others, unless some do.
func (p *Planner) beginGathering(now time.Time) {
	if p.gathered.IsZero() {
		p.gathered = now.Add(p.cfg.Gather)
	}
}

// takeDue reports whether a wait has ended: of changes for others, of a part for its new sources, or of an override.
func (p *Planner) takeDue(now time.Time) (due bool) {
	if !p.gathered.IsZero() && !now.Before(p.gathered) {
		p.gathered, due = time.Time{}, true
	}
	if p.loading != nil && p.loading.expire(now) {
		due = true
	}
	if p.coming != nil && p.coming.expire(now) {
		due = true
	}
	return due || p.expired(now)
}

// expired reports whether an override has expired.
func (p *Planner) expired(now time.Time) bool { return !p.expires.IsZero() && !now.Before(p.expires) }

// expire reports the same, and lets some time pass before the next attempt if this one fails.
func (p *Planner) expire(now time.Time) bool {
	expired := p.expired(now)
	if expired {
		p.expires = now.Add(expiryRetry)
	}
	return expired
}

// now returns the time.
func (p *Planner) now() time.Time {
	if d := p.cfg.Driver; d != nil {
		return d.Now()
	}
	return time.Now()
}

// signal says that there is something to do for a step.
func (p *Planner) signal() {
	if d := p.cfg.Driver; d != nil {
		d.Wake()
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
