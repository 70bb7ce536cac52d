package planner

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

var errBind = errors.New("address already in use")

// thing is what a target has for a key: a socket, or the counters of a server.
type thing struct{ key any }

// fakeTarget opens a thing for each key, and asserts how it is used. It refuses to listen on some addresses.
type fakeTarget struct {
	mu       sync.Mutex
	refuse   map[netip.AddrPort]bool
	force    *plan.Plan
	things   map[any]*thing
	prepared *fakeChange // not yet ended
	open     int         // things that were opened and not closed
	commits  int
	fault    error // of its user
}

type fakeChange struct {
	target *fakeTarget
	next   *plan.Plan
	opened map[any]*thing
}

func keysOf(p *plan.Plan) map[any]bool {
	keys := map[any]bool{}
	if p == nil {
		return keys
	}
	for i := range p.Listeners {
		keys[p.Listeners[i].Key()] = true
	}
	for _, b := range p.Backends {
		keys[b.Name()] = true
		for _, s := range b.Servers {
			keys[plan.ServerKey{Backend: b.Name(), Address: s.Address}] = true
		}
	}
	return keys
}

func nameAt(p *plan.Plan, key plan.ListenerKey) string {
	for i := range p.Listeners {
		if p.Listeners[i].Key() == key {
			return p.Listeners[i].Name
		}
	}
	return ""
}

func (t *fakeTarget) wrong(format string, args ...any) {
	if t.fault == nil {
		t.fault = fmt.Errorf(format, args...)
	}
}

func (t *fakeTarget) Prepare(next *plan.Plan, d plan.Diff) (plan.Change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.prepared != nil {
		t.wrong("prepare before the change before has ended")
	}
	t.checkDiff(next, d)
	c := &fakeChange{target: t, next: next, opened: map[any]*thing{}}
	for key := range keysOf(next) {
		if t.things[key] != nil {
			continue
		}
		if l, ok := key.(plan.ListenerKey); ok && t.refuse[l.Bind] {
			t.open -= len(c.opened)
			return nil, &plan.ListenerError{Listener: nameAt(next, l), Err: fmt.Errorf("listen on %v: %w", l.Bind, errBind)}
		}
		c.opened[key] = &thing{key}
		t.open++
	}
	t.prepared = c
	return c, nil
}

// checkDiff checks that the difference is between the plan in force and the next one, and is all of it.
func (t *fakeTarget) checkDiff(next *plan.Plan, d plan.Diff) {
	if d.New != next || t.force != nil && (d.Old == nil || d.Old.Revision != t.force.Revision) {
		t.wrong("a difference of other plans")
	}
	if t.force != nil && next.Revision != t.force.Revision+1 || t.force == nil && next.Revision != 1 {
		t.wrong("revision %d after %v", next.Revision, t.force)
	}
	if d.Empty() {
		t.wrong("prepare without a difference")
	}
	keys := keysOf(t.force)
	apply := func(old, next bool, key any) {
		if old != keys[key] {
			t.wrong("%v was there: %v", key, old)
		}
		if delete(keys, key); next {
			keys[key] = true
		}
	}
	for _, c := range d.Listeners {
		l := c.Old
		if l == nil {
			l = c.New
		}
		apply(c.Old != nil, c.New != nil, l.Key())
	}
	for _, c := range d.Backends {
		b := c.Old
		if b == nil {
			b = c.New
		}
		apply(c.Old != nil, c.New != nil, b.Name())
		for _, s := range c.Servers {
			either := s.Old
			if either == nil {
				either = s.New
			}
			apply(s.Old != nil, s.New != nil, plan.ServerKey{Backend: b.Name(), Address: either.Address})
		}
	}
	if want := keysOf(next); fmt.Sprint(keys) != fmt.Sprint(want) {
		t.wrong("the difference leads to %v, not %v", keys, want)
	}
	for i := range next.Backends { // equal settings are the same settings
		b := &next.Backends[i]
		if t.force == nil || t.force.Backend(b.Name()) == nil {
			continue
		}
		was := t.force.Backend(b.Name()).Settings
		if was != b.Settings && reflect.DeepEqual(was, b.Settings) {
			t.wrong("backend %s: the same settings at another place", b.Name())
		}
	}
}

func (c *fakeChange) end() {
	if c.target.prepared != c {
		c.target.wrong("a change that has ended is ended again")
	}
	c.target.prepared = nil
}

func (c *fakeChange) Commit() {
	t := c.target
	t.mu.Lock()
	defer t.mu.Unlock()
	c.end()
	if t.things == nil {
		t.things = map[any]*thing{}
	}
	maps.Copy(t.things, c.opened)
	stays := keysOf(c.next)
	for key := range t.things {
		if !stays[key] {
			delete(t.things, key)
			t.open--
		}
	}
	t.force = c.next
	t.commits++
}

func (c *fakeChange) Discard() {
	c.target.mu.Lock()
	defer c.target.mu.Unlock()
	c.end()
	c.target.open -= len(c.opened)
}

// begin is a Config.Begin.
func (t *fakeTarget) begin(_ *plan.File, first *plan.Plan) (plan.Target, error) {
	c, err := t.Prepare(first, plan.Compare(nil, first))
	if err != nil {
		return nil, err
	}
	c.Commit()
	return t, nil
}

// check is what is wrong with the use of t while no change is prepared.
func (t *fakeTarget) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.fault != nil:
		return t.fault
	case t.prepared != nil:
		return errors.New("a change was neither committed nor discarded")
	case t.open != len(t.things):
		return fmt.Errorf("%d things are open, %d in force", t.open, len(t.things))
	case len(t.things) != len(keysOf(t.force)):
		return fmt.Errorf("%d things for %d keys", len(t.things), len(keysOf(t.force)))
	}
	return nil
}
