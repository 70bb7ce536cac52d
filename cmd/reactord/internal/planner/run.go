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
			p.control()
			if gathered == nil {
				gathered = time.After(p.cfg.Gather)
			}
		case <-gathered:
			gathered = nil
			p.apply(ctx, p.changes())
		case r := <-p.loaded:
			p.wait(r)
			p.apply(ctx, p.changes())
		case <-late:
			p.loading.missing = nil
			p.apply(ctx, p.changes())
		case <-lateControl:
			p.coming.missing = nil
			p.apply(ctx, p.changes())
		}
		p.load(ctx)
		p.control()
	}
}

// finish ends what is on its way.
func (p *Planner) finish() {
	if p.loading != nil && p.loading.file == nil {
		<-p.loaded
	}
	if p.cfg.Discover != nil {
		p.cfg.Discover()
	}
}

// poke has the planner look again.
func (p *Planner) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
