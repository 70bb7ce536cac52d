package xds

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"go.uber.org/zap"
)

// plan puts the chosen resources in force, and answers the updates that wait for that. Resources that turn out to
// conflict with others are left out one by one, until the rest is in force. It is called with the lock, which is
// released while a plan is applied.
func (c *Client) plan(ctx context.Context) {
	c.planAt = time.Time{}
	for {
		chosen, again := c.resources.choose(time.Now())
		c.again = again
		if c.resources.inForce(&chosen) {
			c.resources.commit(&chosen)
			break
		}
		ended, changed := c.try(ctx, &chosen)
		if ended {
			return // the process is ending: nothing is answered
		}
		if changed {
			continue // with the rest
		}
		left := c.resources.commit(&chosen)
		c.status.applied()
		c.saver.change(time.Now())
		c.ready(&chosen)
		if left && c.resources.retry() {
			continue // what was refused because of it may be valid now
		}
		break
	}
	c.answer()
	c.note()
	c.want(time.Now())
	c.settles(time.Now())
}

// settles records whether the first resources are in force or have had their time. It is called with the lock.
func (c *Client) settles(now time.Time) {
	if c.settled || c.machine.Missing(ads.Listener) != nil {
		c.settleAt = time.Time{}
		return
	}
	warming := false
	for _, r := range c.resources.all[listeners] {
		warming = warming || r.state == Warming
	}
	if c.settleAt.IsZero() {
		c.settleAt = now.Add(cmp.Or(c.cfg.Settings.InitialFetchTimeout, warmTimeout))
	}
	if !warming || !now.Before(c.settleAt) {
		c.settleAt = time.Time{}
		c.markSettled()
	}
}

// warmTimeout limits how long the first listeners wait for what they need, if the settings do not.
const warmTimeout = 15 * time.Second

// try puts a choice in force. changed reports that a part of it was found invalid and marked, ended that the planner
// accepts nothing more.
func (c *Client) try(ctx context.Context, chosen *choice) (ended, changed bool) {
	made, faults, err := c.resources.decoder.tryBuild(c.resources.set(chosen))
	if err != nil {
		c.panicked(err)
		return !c.resources.blamePanic(chosen, err), true
	}
	for _, f := range faults {
		changed = chosen.blame(f.kind, f.name, f.err) || changed
	}
	if changed {
		return false, true
	}
	c.name(made)
	c.mu.Unlock()
	err = c.cfg.Apply(ctx, made)
	c.mu.Lock()
	if err == nil {
		return false, false
	}
	if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
		return true, false
	}
	items, rest := plan.ControlErrors(err)
	for _, item := range items {
		changed = chosen.blameItem(item) || changed
	}
	if !changed || len(items) == 0 {
		c.log.Error("xds: plan refused as a whole", zap.Error(cmp.Or(rest, err)))
		if !c.resources.blame(chosen, cmp.Or(rest, err)) {
			return true, false // what is already in force is refused: nothing to do
		}
	}
	c.retryAt = time.Now().Add(retryInterval)
	return false, true
}

// blame marks a content of a choice as faulty, and reports whether that is new.
func (ch *choice) blame(k kind, name string, err error) bool {
	content := ch[k][name]
	if content == nil || content.fault != nil {
		return false
	}
	content.fault = err
	return true
}

// blameItem marks the resource behind an item of the plan: a listener, of which several addresses may be made, or the
// cluster of a backend. Without such a cluster, the resources that refer to it are marked.
func (ch *choice) blameItem(item *plan.ControlError) (changed bool) {
	if name := item.Listener; name != "" {
		if ch[listeners][name] == nil {
			if i := strings.LastIndex(name, " ("); i >= 0 {
				name = name[:i]
			}
		}
		return ch.blame(listeners, name, item.Err)
	}
	if ch[clusters][item.Backend] != nil {
		return ch.blame(clusters, item.Backend, item.Err)
	}
	for name, l := range ch[listeners] {
		if slices.Contains(l.value.needs(clusters), item.Backend) {
			changed = ch.blame(listeners, name, item) || changed
		}
	}
	return changed
}

// leaveOut records that an item is no longer in force, and for a backend neither are its listeners.
func (b *resources) leaveOut(item *plan.ControlError) {
	var in choice
	for k := range b.all {
		in[k] = map[string]*content{}
		for name, r := range b.all[k] {
			if r.used != nil {
				in[k][name] = r.used
			}
		}
	}
	in.blameItem(item)
	b.each(func(r *resource) {
		if r.used == nil {
			return
		}
		if r.used.fault != nil || r.kind == listeners && slices.Contains(r.used.value.needs(clusters), item.Backend) {
			r.used = nil
		}
	})
}

// blamePanic marks what panics even alone, or else everything that a choice would change, and reports whether
// anything was marked.
func (b *resources) blamePanic(ch *choice, err error) (changed bool) {
	before := choice{}
	for k := range b.all {
		before[k] = map[string]*content{}
		for name, r := range b.all[k] {
			if r.used != nil && r.used.fault == nil {
				before[k][name] = r.used
			}
		}
	}
	b.each(func(r *resource) {
		one, was := ch[r.kind][r.name], before[r.kind][r.name]
		if one == nil || one == was {
			return
		}
		before[r.kind][r.name] = one
		if _, _, err := b.decoder.tryBuild(b.set(&before)); err != nil {
			changed = ch.blame(r.kind, r.name, err) || changed
		}
		if delete(before[r.kind], r.name); was != nil {
			before[r.kind][r.name] = was
		}
	})
	return changed || b.blame(ch, err)
}

// blame marks everything that a choice would change, and reports whether anything was marked.
func (b *resources) blame(ch *choice, err error) (changed bool) {
	b.each(func(r *resource) {
		if one := ch[r.kind][r.name]; one != nil && one != r.used {
			changed = ch.blame(r.kind, r.name, err) || changed
		}
	})
	return changed
}

// name sets the origin of what was built.
func (c *Client) name(made *plan.Control) {
	made.Origin = "xds " + cmp.Or(c.status.versionsOf, "last_good "+c.saver.path)
	for _, servers := range made.Servers {
		for i := range servers {
			servers[i].Origin = cmp.Or(servers[i].Origin, made.Origin)
		}
	}
}

// answer answers the pending updates.
func (c *Client) answer() {
	for _, u := range c.pending {
		refused := c.resources.refused(u)
		c.machine.Answer(u, refused)
		c.status.answered(u, len(refused)+len(u.Refused) == 0, time.Now())
	}
	c.pending = nil
	c.send()
}

// note records and logs the states that have changed.
func (c *Client) note() {
	now := time.Now()
	c.resources.each(func(r *resource) {
		state, problem := r.judge()
		if state == r.state && problem == r.problem && !r.since.IsZero() {
			return
		}
		was := r.state
		if state != was || r.since.IsZero() {
			r.since = now
		}
		r.state, r.problem = state, problem
		fields := []zap.Field{zap.Stringer("type", r.kind), zap.String("name", r.name), zap.String("version", r.version)}
		switch {
		case state == Refused:
			what := "xds: resource refused, previous version stays in force"
			if r.used == nil {
				what = "xds: resource refused, no version in force"
			}
			c.log.Warn(what, append(fields, zap.String("reason", problem))...)
		case state == HeldBack:
			c.log.Warn("xds: removal held back", append(fields, zap.String("reason", problem))...)
		case state == Accepted && problem != "":
			c.log.Warn("xds: resource accepted with a remark", append(fields, zap.String("remark", problem))...)
		case state == Accepted && (was == Refused || was == HeldBack):
			c.log.Info("xds: resource accepted again", fields...)
		default:
			c.log.Debug("xds: resource "+state.String(), append(fields, zap.String("reason", problem))...)
		}
	})
}

func (c *Client) panicked(err error) {
	if p, ok := errors.AsType[*panicked](err); ok {
		c.log.Error("xds: panic, the resources that caused it are refused", zap.Any("panic", p.value),
			zap.ByteString("stack", p.stack))
	}
}

// ready reports the listeners that the process answers itself.
func (c *Client) ready(chosen *choice) {
	if c.cfg.Ready == nil {
		return
	}
	var all []ReadyListener
	for name, l := range chosen[listeners] {
		if r, ok := l.value.(interface{ ready() (ReadyListener, bool) }); ok {
			if one, is := r.ready(); is {
				one.Name = name
				all = append(all, one)
			}
		}
	}
	slices.SortFunc(all, func(a, b ReadyListener) int { return cmp.Compare(a.Name, b.Name) })
	c.cfg.Ready(all)
}
