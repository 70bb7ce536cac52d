package plan

import (
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Limits on what operators set.
const (
	MaxOverrides  = 10000 // of servers
	MaxDrainRules = 100
)

var (
	// ErrNoServer reports a backend or a server that does not exist.
	ErrNoServer = errors.New("no such server")
	// ErrConflict reports a change that the servers of the moment do not allow.
	ErrConflict = errors.New("not possible now")
)

// findServer returns the key of a server by its name or address: one that is in force, or has an override.
func (p *Parts) findServer(in *Plan, backend, server string) (ServerKey, error) {
	b, err := p.findBackend(in, backend)
	if err != nil {
		return ServerKey{}, err
	}
	if s := b.Server(server); s != nil {
		return ServerKey{backend, s.Address}, nil
	}
	at, notAddress := serveraddr.Parse(server)
	for key, o := range p.Overrides {
		if key.Backend == backend && (notAddress == nil && key.Address == at || notAddress != nil && o.Name == server) {
			return key, nil
		}
	}
	return ServerKey{}, fmt.Errorf("server %q of backend %q: %w", server, backend, ErrNoServer)
}

// findBackend returns a backend that is in force and stays.
func (p *Parts) findBackend(in *Plan, backend string) (*Backend, error) {
	if in != nil && p.Has(backend) {
		if b := in.Backend(backend); b != nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("backend %q: %w", backend, ErrNoServer)
}

// nameOf returns the name of a server for people.
func nameOf(in *Plan, key ServerKey, before Override) string {
	if s := in.Backend(key.Backend).Server(key.Address.String()); s != nil {
		return s.Name
	}
	return before.Name
}

// setOverride puts an override in place, or removes it if it is zero.
func (p *Parts) setOverride(key ServerKey, o Override) error {
	if o.IsZero() {
		delete(p.Overrides, key)
		return nil
	}
	if _, known := p.Overrides[key]; !known && len(p.Overrides) >= MaxOverrides {
		return fmt.Errorf("%w: there are %d overrides already: see ctl overrides", ErrConflict, MaxOverrides)
	}
	p.Overrides[key] = o
	return nil
}

// EditOverride changes the override of a server by its name or address, in the plan in force. p belongs to the caller:
// see [Parts.With].
func (p *Parts) EditOverride(in *Plan, backend, server string, edit func(*Override) error) error {
	key, err := p.findServer(in, backend, server)
	if err != nil {
		return err
	}
	o := p.Overrides[key]
	name := nameOf(in, key, o)
	if err := edit(&o); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	o.Name = name
	return p.setOverride(key, o)
}

// AddServer adds a server to a backend of the plan in force, or brings back one that was removed.
func (p *Parts) AddServer(in *Plan, key ServerKey, a Added, stamp Stamp) error {
	b, err := p.findBackend(in, key.Backend)
	if err != nil {
		return err
	}
	o := Override{Added: &a, Name: a.Name, Stamp: stamp}
	if o.Name == "" {
		o.Name = key.Address.String()
	}
	s := a.server(key.Address, stamp.By)
	if text := s.problem(); text != "" {
		return errors.New(text)
	}
	before := p.Overrides[key]
	switch same := b.Server(key.Address.String()); {
	case same != nil:
		return fmt.Errorf("%w: backend %s has %s already: server %q, %s", ErrConflict, key.Backend, key.Address,
			same.Name, same.Origin)
	case before.Added != nil:
		return fmt.Errorf("%w: %s was added to backend %s in the same moment", ErrConflict, key.Address, key.Backend)
	case len(b.Servers) >= MaxServers:
		return fmt.Errorf("%w: backend %s has %d servers already", ErrConflict, key.Backend, MaxServers)
	}
	for i := range b.Servers {
		if other := &b.Servers[i]; other.Name == o.Name {
			return fmt.Errorf("%w: %q is the name of another server of backend %s: %s", ErrConflict, o.Name,
				key.Backend, other.Address)
		}
	}
	for other, known := range p.Overrides {
		if other.Backend == key.Backend && other != key && known.Added != nil && known.Name == o.Name {
			return fmt.Errorf("%w: %q is the name of another server of backend %s: %s", ErrConflict, o.Name,
				key.Backend, other.Address)
		}
	}
	return p.setOverride(key, o)
}

// RemoveServer removes a server of the plan in force. What only an operator has added is forgotten; what a source has
// is left out as long as the override stands.
func (p *Parts) RemoveServer(in *Plan, backend, server string, stamp Stamp) error {
	key, err := p.findServer(in, backend, server)
	if err != nil {
		return err
	}
	before := p.Overrides[key]
	left, found := 0, (*Server)(nil)
	b := in.Backend(backend)
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.Address == key.Address {
			found = s
		} else if !p.Overrides[ServerKey{backend, s.Address}].Removed {
			left++
		}
	}
	switch {
	case found == nil || before.Removed:
		return fmt.Errorf("%w: server %q of backend %q is removed already", ErrConflict, server, backend)
	case left == 0:
		return fmt.Errorf("%w: %q is the last server of backend %q: add another one first, or drain it", ErrConflict,
			server, backend)
	}
	if found.ByHand {
		delete(p.Overrides, key)
		return nil
	}
	return p.setOverride(key, Override{Removed: true, Name: found.Name, Stamp: stamp})
}

// AddDrainRule drains servers of the plan in force by a rule.
func (p *Parts) AddDrainRule(in *Plan, r DrainRule, stamp Stamp) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.Backend != "" {
		if _, err := p.findBackend(in, r.Backend); err != nil {
			return err
		}
	}
	if _, known := p.Drains[r]; known {
		return nil // since and by stay
	}
	if len(p.Drains) >= MaxDrainRules {
		return fmt.Errorf("%w: there are %d drains of servers already: see ctl overrides", ErrConflict, MaxDrainRules)
	}
	p.Drains[r] = stamp
	return nil
}

// RemoveDrainRule ends a drain.
func (p *Parts) RemoveDrainRule(r DrainRule) error {
	if _, known := p.Drains[r]; !known {
		return fmt.Errorf("drain of %s: %w", r, ErrNoDrainRule)
	}
	delete(p.Drains, r)
	return nil
}

// ErrNoDrainRule reports a drain of servers that does not exist.
var ErrNoDrainRule = errors.New("no such drain")

// ClearOverrides removes the overrides and rules of a backend, or all if backend is "", and returns their number.
func (p *Parts) ClearOverrides(backend string) (n int) {
	for key := range p.Overrides {
		if backend == "" || key.Backend == backend {
			delete(p.Overrides, key)
			n++
		}
	}
	for r := range p.Drains {
		if backend == "" || r.Backend == backend {
			delete(p.Drains, r)
			n++
		}
	}
	return n
}

// NextExpiry returns when the first override expires; zero if none does.
func (p *Parts) NextExpiry() (first time.Time) {
	for _, o := range p.Overrides {
		if !o.Until.IsZero() && (first.IsZero() || o.Until.Before(first)) {
			first = o.Until
		}
	}
	return first
}

// Expire ends what has expired by now, and returns the servers concerned.
func (p *Parts) Expire(now time.Time) (all []ServerKey) {
	for key, o := range p.Overrides {
		if o.Until.IsZero() || o.Until.After(now) {
			continue
		}
		o.Health, o.Until = HealthAuto, time.Time{}
		if o.IsZero() {
			delete(p.Overrides, key)
		} else {
			p.Overrides[key] = o
		}
		all = append(all, key)
	}
	return all
}
