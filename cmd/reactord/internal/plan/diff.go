package plan

import (
	"reflect"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Diff is the difference of two plans, and refers to both.
type Diff struct {
	Old, New  *Plan // Old is nil for the first plan
	Listeners []ListenerChange
	Backends  []BackendChange
}

// ListenerChange is a listener that is new (Old is nil), gone (New is nil), or that keeps its key and changes.
type ListenerChange struct{ Old, New *Listener }

// BackendChange is a backend that is new (Old is nil), gone (New is nil), or that keeps its name and changes.
type BackendChange struct {
	Old, New *Backend
	Settings bool           // whether they differ, with both Old and New
	Servers  []ServerChange // in the order of their addresses
}

// ServerChange is a server that is new (Old is nil), gone (New is nil), or that keeps its address and changes.
type ServerChange struct{ Old, New *Server }

// Compare returns the difference of two plans. It ignores Revision, and the origins and reasons of servers. Changes are
// in the order of the names, with removals last; old may be nil.
func Compare(old, next *Plan) Diff {
	d := Diff{Old: old, New: next}
	if old == nil {
		old = &Plan{}
	}
	d.listeners(old, next)
	d.backends(old, next)
	return d
}

// Limits reports whether the limits of the process change.
func (d *Diff) Limits() bool { return d.Old == nil || d.Old.Limits != d.New.Limits }

// Drain reports whether the settings of the drain change.
func (d *Diff) Drain() bool { return d.Old == nil || d.Old.Drain != d.New.Drain }

// Upgrade reports whether the settings of upgrades change.
func (d *Diff) Upgrade() bool { return d.Old == nil || d.Old.Upgrade != d.New.Upgrade }

// AccessLog reports whether the settings of the access log change.
func (d *Diff) AccessLog() bool {
	return d.Old == nil || !reflect.DeepEqual(d.Old.AccessLog, d.New.AccessLog)
}

// Empty reports whether nothing changes.
func (d *Diff) Empty() bool {
	return len(d.Listeners) == 0 && len(d.Backends) == 0 && !d.Limits() && !d.Drain() && !d.Upgrade() &&
		!d.AccessLog()
}

func (d *Diff) listeners(old, next *Plan) {
	if len(old.Listeners) == len(next.Listeners) && len(old.Listeners) > 0 && &old.Listeners[0] == &next.Listeners[0] {
		return // they share the listeners
	}
	before := make(map[ListenerKey]*Listener, len(old.Listeners))
	for i := range old.Listeners {
		before[old.Listeners[i].Key()] = &old.Listeners[i]
	}
	for i := range next.Listeners {
		l := &next.Listeners[i]
		was := before[l.Key()]
		delete(before, l.Key())
		if was == nil || !reflect.DeepEqual(was, l) {
			d.Listeners = append(d.Listeners, ListenerChange{was, l})
		}
	}
	for i := range old.Listeners {
		if l := &old.Listeners[i]; before[l.Key()] != nil {
			d.Listeners = append(d.Listeners, ListenerChange{l, nil})
		}
	}
}

func (d *Diff) backends(old, next *Plan) {
	for i := range next.Backends {
		b := &next.Backends[i]
		if c := compareBackends(old.Backend(b.Name()), b); c.Old == nil || c.Settings || len(c.Servers) > 0 {
			d.Backends = append(d.Backends, c)
		}
	}
	for i := range old.Backends {
		if b := &old.Backends[i]; next.Backend(b.Name()) == nil {
			d.Backends = append(d.Backends, BackendChange{Old: b, Servers: compareServers(b.Servers, nil)})
		}
	}
}

// compareBackends compares a backend with its old version, which may be nil.
func compareBackends(was, b *Backend) BackendChange {
	c := BackendChange{Old: was, New: b}
	if was == nil {
		c.Servers = compareServers(nil, b.Servers)
		return c
	}
	c.Settings = !sameSettings(was.Settings, b.Settings) || !was.Keys.Same(b.Keys)
	c.Servers = compareServers(was.Servers, b.Servers)
	return c
}

func sameSettings(a, b *config.Backend) bool { return a == b || reflect.DeepEqual(a, b) }

// compareServers returns the differences of two lists, both in the order of addresses.
func compareServers(old, next []Server) (changes []ServerChange) {
	if len(old) == len(next) && (len(old) == 0 || &old[0] == &next[0]) {
		return nil // a backend that was not merged again
	}
	for len(old) > 0 || len(next) > 0 {
		order := 0
		switch {
		case len(old) == 0:
			order = 1
		case len(next) == 0:
			order = -1
		default:
			order = old[0].Address.Compare(next[0].Address)
		}
		var c ServerChange
		if order <= 0 {
			c.Old, old = &old[0], old[1:]
		}
		if order >= 0 {
			c.New, next = &next[0], next[1:]
		}
		if c.Old == nil || c.New == nil || !c.Old.same(c.New) {
			changes = append(changes, c)
		}
	}
	return changes
}

// same reports whether two servers are equal, origins and reasons aside.
func (s *Server) same(other *Server) bool {
	a, b := s.unexplained(), other.unexplained()
	return a == b || reflect.DeepEqual(a, b) // which compares own checks
}

// unexplained returns s without what is for people only.
func (s *Server) unexplained() Server {
	out := *s
	out.Origin, out.Reason, out.HealthReason, out.ByHand = "", "", "", false
	return out
}
