package planner

import (
	"context"
	"time"
)

// run makes the steps until ctx is done.
func (p *Planner) run(ctx context.Context) {
	defer close(p.ended)
	defer p.finish()
	for {
		var due <-chan time.Time
		if next := p.Step(ctx); !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-due:
		}
	}
}

// finish waits for a file that is being read, and stops discovery.
func (p *Planner) finish() {
	p.reading.Wait()
	if p.cfg.Discover != nil {
		p.cfg.Discover()
	}
}
