package planner

import (
	"context"
	"time"
)

func (p *Planner) run(ctx context.Context) {
	defer close(p.ended)
	defer p.finish()
	var gathered <-chan time.Time
	for {
		var late, lateControl <-chan time.Time
		if p.loading != nil {
			late = p.loading.expired
		}
		if p.coming != nil {
			lateControl = p.coming.expired
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			p.load(ctx)
			p.nextControl()
			if gathered == nil {
				gathered = time.After(p.cfg.Gather)
			}
		case <-gathered:
			gathered = nil
			p.apply(ctx, p.takeChanges())
		case r := <-p.loaded:
			p.fileRead(r)
			p.apply(ctx, p.takeChanges())
		case <-late:
			p.loading.missing = nil
			p.apply(ctx, p.takeChanges())
		case <-lateControl:
			p.coming.missing = nil
			p.apply(ctx, p.takeChanges())
		}
		p.load(ctx)
		p.nextControl()
	}
}

// finish waits for a file that is being read, and stops discovery.
func (p *Planner) finish() {
	if p.loading != nil && p.loading.file == nil {
		<-p.loaded
	}
	if p.cfg.Discover != nil {
		p.cfg.Discover()
	}
}

// signal wakes the planner's goroutine to look for input.
func (p *Planner) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
