package planner

import (
	"context"
	"net"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// apply puts the changes in force: all in one plan, or, if that is refused, each by itself.
func (p *Planner) apply(ctx context.Context, changes []change) {
	if len(changes) == 0 {
		return
	}
	err := p.try(ctx, changes)
	if err != nil && len(changes) > 1 {
		for _, c := range changes {
			c.done(p.try(ctx, []change{c}))
		}
		return
	}
	for _, c := range changes {
		c.done(err)
	}
}

// try puts all of the changes in force, or none. If the control plane and the file use the same name or address, the
// file wins, and the control plane's item is left out.
func (p *Planner) try(ctx context.Context, changes []change) error {
	var left []*plan.ControlError
	for {
		err := p.tryWithout(ctx, changes, left)
		if err == nil && len(left) > 0 && p.cfg.LeftOut != nil {
			p.cfg.LeftOut(left)
		}
		items, rest := plan.ControlErrors(err)
		if len(items) == 0 || rest != nil || !fileMayWin(changes) {
			return err
		}
		left = append(left, items...)
	}
}

// fileMayWin reports whether items of the control plane may be left out for a file among the changes. A part of the
// control plane that is itself among the changes is refused instead, so that the control plane learns of it.
func fileMayWin(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.file }) &&
		!slices.ContainsFunc(changes, func(c change) bool { return c.control })
}

// tryWithout puts all of the changes in force, or none, without these items of the control plane.
func (p *Planner) tryWithout(ctx context.Context, changes []change, left []*plan.ControlError) error {
	edits := make([]func(*plan.Parts) error, len(changes), len(changes)+1)
	for i := range changes {
		edits[i] = changes[i].edit
	}
	if len(left) > 0 {
		edits = append(edits, func(parts *plan.Parts) error {
			parts.Control = parts.Control.Without(left)
			return nil
		})
	}
	parts, err := p.good.With(edits...)
	if err != nil {
		return err
	}
	file := parts.File != p.good.File
	if file && p.good.File != nil {
		if problems := checkFixed(p.good.File.Config, parts.File.Config); len(problems) > 0 {
			return parts.File.Explain(problems)
		}
	}
	before := p.Plan()
	next, err := plan.MergeFrom(before, &parts, untouchedBackends(changes, before))
	if err != nil {
		return err
	}
	d := plan.Compare(before, next)
	if before != nil {
		next.Revision = before.Revision
	}
	if !d.Empty() {
		next.Revision++
		if err := p.carryOut(ctx, parts.File, next, d); err != nil {
			return parts.Blame(err)
		}
	}
	p.good, p.expires = parts, parts.NextExpiry()
	p.inForce.Store(parts.Merged())
	p.plan.Store(next)
	p.log(d)
	if p.cfg.Committed != nil && (file || !d.Empty()) {
		p.cfg.Committed(parts.File, d)
	}
	return nil
}

// untouchedBackends returns a predicate for the backends that no change touches; nil if all may be touched.
func untouchedBackends(changes []change, before *plan.Plan) func(string) bool {
	touched := map[string]bool{}
	for _, c := range changes {
		if c.backends == nil || before == nil {
			return nil
		}
		for _, b := range c.backends {
			touched[b] = true
		}
	}
	return func(backend string) bool { return !touched[backend] }
}

// carryOut makes the target carry out next. The first plan begins the target.
func (p *Planner) carryOut(ctx context.Context, f *plan.File, next *plan.Plan, d plan.Diff) error {
	if p.target == nil {
		target, err := p.cfg.Begin(f, next)
		if err == nil {
			p.target = target
		}
		return err
	}
	change, err := p.target.Prepare(next, d)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		change.Discard()
		return net.ErrClosed
	}
	change.Commit()
	return nil
}

func (p *Planner) log(d plan.Diff) {
	if d.Old == nil {
		return
	}
	for _, line := range d.Lines(maxLines) {
		p.cfg.Log.Info("changed", zap.Uint64("revision", d.New.Revision), zap.String("change", line))
	}
}
