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
	"github.com/reactord/reactord/cmd/reactord/internal/xds/ads"
	"go.uber.org/zap"
)

// plan has the plan follow the book, and answers what waits for that. What turns out to be wrong beside others is left
// out, one after the other, until the rest is in force. It is called with the lock, which is free while a plan is
// applied.
func (c *Client) plan(ctx context.Context) {
	c.planAt = time.Time{}
	for {
		chosen, again := c.book.choose(time.Now())
		c.again = again
		if c.book.inForce(&chosen) {
			c.book.commit(&chosen)
			break
		}
		ended, changed := c.try(ctx, &chosen)
		if ended {
			return // nothing is answered: the process ends
		}
		if changed {
			continue // with what is left
		}
		left := c.book.commit(&chosen)
		c.status.applied(time.Now())
		c.saver.change(time.Now())
		c.ready(&chosen)
		if left && c.book.retry() {
			continue // what was refused because of it may be right now
		}
		break
	}
	c.answer()
	c.note()
	c.want(time.Now())
	c.settles(time.Now())
}

// settles notes whether what was received first is in force, or has had the time for it. It is called with the lock.
func (c *Client) settles(now time.Time) {
	if c.settled || c.machine.Missing(ads.Listener) != nil {
		c.settleAt = time.Time{}
		return
	}
	warming := false
	for _, r := range c.book.all[listeners] {
		warming = warming || r.state == Warming
	}
	if c.settleAt.IsZero() {
		c.settleAt = now.Add(cmp.Or(c.cfg.Settings.InitialFetchTimeout, warmTimeout))
	}
	if !warming || !now.Before(c.settleAt) {
		c.settleAt = time.Time{}
		c.isSettled()
	}
}

// warmTimeout is how long the first listeners may wait for what they need, if the settings do not say.
const warmTimeout = 15 * time.Second

// try puts a choice in force. changed: something of it was found to be wrong, and is marked. ended: the plan takes
// nothing any more.
func (c *Client) try(ctx context.Context, chosen *choice) (ended, changed bool) {
	made, faults, err := c.book.language.tryBuild(c.book.set(chosen))
	if err != nil {
		c.panicked(err)
		return !c.book.blamePanic(chosen, err), true
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
		c.log.Error("xds: the plan is refused as a whole", zap.Error(cmp.Or(rest, err)))
		if !c.book.blame(chosen, cmp.Or(rest, err)) {
			return true, false // what is in force is refused: nothing can be done
		}
	}
	c.retryAt = time.Now().Add(retryInterval)
	return false, true
}

// blame marks a content of a choice, and reports whether it is new.
func (ch *choice) blame(k kind, name string, err error) bool {
	content := ch[k][name]
	if content == nil || content.fault != nil {
		return false
	}
	content.fault = err
	return true
}

// blameItem marks the resource of an item of the plan: a listener, which may have become several with an address
// each, or the cluster of a backend. If there is no such cluster, those who refer to it are to blame.
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

// leaveOut notes that an item is not in force any more, and neither are the listeners of a backend.
func (b *book) leaveOut(item *plan.ControlError) {
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

// blamePanic marks what leads to a panic alone, or everything that a choice would change if nothing does, and reports
// whether there is something.
func (b *book) blamePanic(ch *choice, err error) (changed bool) {
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
		if _, _, err := b.language.tryBuild(b.set(&before)); err != nil {
			changed = ch.blame(r.kind, r.name, err) || changed
		}
		if delete(before[r.kind], r.name); was != nil {
			before[r.kind][r.name] = was
		}
	})
	return changed || b.blame(ch, err)
}

// blame marks everything that a choice would change, and reports whether there is something.
func (b *book) blame(ch *choice, err error) (changed bool) {
	b.each(func(r *resource) {
		if one := ch[r.kind][r.name]; one != nil && one != r.used {
			changed = ch.blame(r.kind, r.name, err) || changed
		}
	})
	return changed
}

// name says where what was made comes from.
func (c *Client) name(made *plan.Control) {
	made.Origin = "xds " + cmp.Or(c.status.versionsOf, "last_good "+c.saver.path)
	for _, servers := range made.Servers {
		for i := range servers {
			servers[i].Origin = cmp.Or(servers[i].Origin, made.Origin)
		}
	}
}

// answer answers what was pending.
func (c *Client) answer() {
	for _, u := range c.pending {
		refused := c.book.refused(u)
		c.machine.Answer(u, refused)
		c.status.answered(u, len(refused)+len(u.Refused) == 0, time.Now())
	}
	c.pending = nil
	c.send()
}

// note notes and logs the states that have changed.
func (c *Client) note() {
	now := time.Now()
	c.book.each(func(r *resource) {
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
			what := "xds: a resource is refused; what was in force before stays"
			if r.used == nil {
				what = "xds: a resource is refused, and no version of it is in force"
			}
			c.log.Warn(what, append(fields, zap.String("reason", problem))...)
		case state == HeldBack:
			c.log.Warn("xds: a removal is held back", append(fields, zap.String("reason", problem))...)
		case state == Accepted && problem != "":
			c.log.Warn("xds: a resource is accepted with a remark", append(fields, zap.String("remark", problem))...)
		case state == Accepted && (was == Refused || was == HeldBack):
			c.log.Info("xds: a resource is accepted again", fields...)
		default:
			c.log.Debug("xds: a resource is "+state.String(), append(fields, zap.String("reason", problem))...)
		}
	})
}

func (c *Client) panicked(err error) {
	if p, ok := errors.AsType[*panicked](err); ok {
		c.log.Error("xds: a panic; what led to it is refused", zap.Any("panic", p.value), zap.ByteString("stack", p.stack))
	}
}

// ready tells the listeners that the process answers itself.
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
