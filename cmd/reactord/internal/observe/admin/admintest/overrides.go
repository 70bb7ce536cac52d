package admintest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// stamp returns who has set something.
func (d *Daemon) stamp(by string) *stats.Override {
	return &stats.Override{By: cmp.Or(d.By, by), Since: time.Now().Add(-73*time.Hour - time.Minute)}
}

// SetServer changes a server.
func (d *Daemon) SetServer(_ context.Context, backend, server string, c admin.ServerChange, by string) error {
	return d.update(backend, server, func(s *stats.Server) {
		s.Overridden, s.Override = true, d.stamp(by)
		if c.State != nil {
			s.State, s.AdminState = stats.ServerState(*c.State), *c.State
		}
		if c.Weight != nil {
			s.Weight = *c.Weight
		}
		if c.MaxConnections != nil {
			s.MaxConnections = *c.MaxConnections
		}
		if c.Health != nil {
			s.Health = *c.Health
		}
		if c.For != nil {
			lasts, _ := time.ParseDuration(*c.For)
			s.Override.Until = time.Now().Add(lasts + 30*time.Second) // so that the text is the same a moment later
		}
	})
}

// ResetServer resets it to the state up and the weight 1.
func (d *Daemon) ResetServer(_ context.Context, backend, server string) error {
	return d.update(backend, server, func(s *stats.Server) {
		s.State, s.AdminState, s.Weight, s.Overridden = "up", "up", 1, false
		s.Health, s.Override = "auto", nil
	})
}

// AddServer adds a server.
func (d *Daemon) AddServer(_ context.Context, backend string, n *admin.NewServer, by string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if backend != "app" {
		return fmt.Errorf("%w: backend %q", admin.ErrNotFound, backend)
	}
	for i := range d.servers {
		if d.servers[i].Address == n.Address {
			return fmt.Errorf("%w: backend app has %s already", admin.ErrConflict, n.Address)
		}
	}
	weight := 1
	if n.Weight != nil {
		weight = *n.Weight
	}
	name := n.Name
	if name == "" {
		name = n.Address
	}
	d.servers = append(d.servers, stats.Server{
		Backend: backend, Name: name, Address: n.Address, State: "up", AdminState: "up", Health: "auto",
		Since: d.stamp(by).Since, Weight: weight, WeightPercent: 100, MaxConnections: n.MaxConnections, Priority: n.Priority,
		Backup: n.Backup, Locality: n.Locality, Origin: "by hand",
		Override: d.stamp(by),
	})
	return nil
}

// RemoveServer removes a server.
func (d *Daemon) RemoveServer(_ context.Context, backend, server, _ string) error {
	if err := d.update(backend, server, func(*stats.Server) {}); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.servers) == 1 {
		return fmt.Errorf("%w: %q is the last server of backend %q", admin.ErrConflict, server, backend)
	}
	d.servers = slices.DeleteFunc(d.servers, func(s stats.Server) bool { return s.Name == server || s.Address == server })
	return nil
}

// DrainServers remembers a drain.
func (d *Daemon) DrainServers(_ context.Context, drained *admin.DrainedServers, by string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	stamp := d.stamp(by)
	d.drains = append(d.drains, admin.ServerDrain{
		DrainedServers: *drained, By: stamp.By, Since: stamp.Since, Servers: 2,
	})
	return nil
}

// UndrainServers forgets it.
func (d *Daemon) UndrainServers(_ context.Context, drained *admin.DrainedServers) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := len(d.drains)
	d.drains = slices.DeleteFunc(d.drains, func(s admin.ServerDrain) bool { return s.DrainedServers == *drained })
	if len(d.drains) == before {
		return fmt.Errorf("%w: drain of servers", admin.ErrNotFound)
	}
	return nil
}

// Overrides returns what the methods have set.
func (d *Daemon) Overrides() (all admin.Overrides) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.servers {
		s := &d.servers[i]
		if s.Override == nil {
			continue
		}
		o := admin.ServerOverride{
			Backend: s.Backend, Server: s.Name, Address: s.Address, Override: *s.Override, InForce: true,
			Added: !s.Overridden, State: s.AdminState, Weight: &s.Weight,
		}
		if s.Health != "auto" {
			o.Health = s.Health
		}
		all.Servers = append(all.Servers, o)
	}
	all.Drains = slices.Clone(d.drains)
	return all
}

// ClearOverrides forgets what was set.
func (d *Daemon) ClearOverrides(_ context.Context, _ string) (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.servers {
		if d.servers[i].Override != nil {
			d.servers[i].Override, d.servers[i].Overridden = nil, false
			n++
		}
	}
	n += len(d.drains)
	d.drains = nil
	return n, nil
}
