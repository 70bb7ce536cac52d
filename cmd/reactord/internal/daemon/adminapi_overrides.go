package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Servers returns the readings of the servers in force, with who has overridden settings of them.
func (d *adminDaemon) Servers() []stats.Server {
	all := d.proxy.Stats().Servers
	d.markOverridden(all)
	return all
}

// markOverridden notes which servers an operator has overridden, or added, and who.
func (d *adminDaemon) markOverridden(all []stats.Server) {
	type server struct{ backend, address string }
	s := d.planner.Status()
	overridden := make(map[server]plan.Override, len(s.Overrides))
	for key, o := range s.Overrides {
		overridden[server{key.Backend, key.Address.String()}] = o
	}
	for i := range all {
		if o, known := overridden[server{all[i].Backend, all[i].Address}]; known {
			all[i].Overridden, all[i].Override = o.Overrides(), overrideOf(&o)
		}
	}
}

func overrideOf(o *plan.Override) *stats.Override {
	return &stats.Override{By: o.By, Since: o.At, Until: o.Until}
}

// SetServer changes those parts of a server's override that are set in c.
func (d *adminDaemon) SetServer(ctx context.Context, backend, server string, c admin.ServerChange, by string) error {
	stamp := plan.Stamp{By: by, At: time.Now().UTC()}
	return d.edit(ctx, backend, func(in *plan.Plan, parts *plan.Parts) error {
		return parts.EditOverride(in, backend, server, func(o *plan.Override) error { return change(o, &c, stamp) })
	})
}

// change changes an override.
func change(o *plan.Override, c *admin.ServerChange, stamp plan.Stamp) error {
	if o.Removed {
		return fmt.Errorf("%w: the server is removed: add it again, or reset it", plan.ErrConflict)
	}
	o.Stamp = stamp
	if c.State != nil {
		state, err := plan.ParseState(*c.State)
		if err != nil {
			return err
		}
		o.State = &state
	}
	if c.Weight != nil {
		o.Weight = c.Weight
	}
	if c.MaxConnections != nil {
		o.MaxConnections = c.MaxConnections
	}
	if c.Health == nil {
		return nil
	}
	health, err := plan.ParseHealth(*c.Health)
	if err != nil {
		return err
	}
	o.Health, o.Until = health, time.Time{}
	if c.For != nil {
		lasts, err := time.ParseDuration(*c.For)
		if err != nil {
			return err
		}
		o.Until = stamp.At.Add(lasts)
	}
	return nil
}

// ResetServer removes what overrides the source of a server.
func (d *adminDaemon) ResetServer(ctx context.Context, backend, server string) error {
	return d.edit(ctx, backend, func(in *plan.Plan, parts *plan.Parts) error {
		return parts.EditOverride(in, backend, server, func(o *plan.Override) error {
			*o = o.Reset()
			return nil
		})
	})
}

// AddServer adds a server to a backend.
func (d *adminDaemon) AddServer(ctx context.Context, backend string, s *admin.NewServer, by string) error {
	at, err := serveraddr.Parse(strings.TrimPrefix(s.Address, "tcp://"))
	if err != nil {
		return fmt.Errorf("address %q: write IP:PORT, unix:///PATH or unix://@NAME", s.Address)
	}
	s.Address = at.Unmap().String() // as the caller finds it again
	added := plan.Added{
		Name: s.Name, Weight: 1, MaxConnections: s.MaxConnections, Priority: s.Priority, Backup: s.Backup,
		Locality: s.Locality,
	}
	if s.Weight != nil {
		added.Weight = *s.Weight
	}
	key, stamp := plan.ServerKey{Backend: backend, Address: at.Unmap()}, plan.Stamp{By: by, At: time.Now().UTC()}
	return d.edit(ctx, backend, func(in *plan.Plan, parts *plan.Parts) error {
		return parts.AddServer(in, key, added, stamp)
	})
}

// RemoveServer removes a server from its backend.
func (d *adminDaemon) RemoveServer(ctx context.Context, backend, server, by string) error {
	stamp := plan.Stamp{By: by, At: time.Now().UTC()}
	return d.edit(ctx, backend, func(in *plan.Plan, parts *plan.Parts) error {
		return parts.RemoveServer(in, backend, server, stamp)
	})
}

// edit makes an edit of overrides.
func (d *adminDaemon) edit(ctx context.Context, backend string, edit func(*plan.Plan, *plan.Parts) error) error {
	return adminError(d.planner.Edit(ctx, backend, edit))
}

// drainRule parses the servers of a drain.
func drainRule(d *admin.DrainedServers) (r plan.DrainRule, err error) {
	r = plan.DrainRule{Backend: d.Backend, Locality: d.Locality}
	if d.Network != "" {
		r.Network, err = admin.ParsePrefix(d.Network)
		if err != nil {
			return r, fmt.Errorf("network %q: write a network such as 10.2.0.0/16", d.Network)
		}
		r.Network = netip.PrefixFrom(r.Network.Addr().Unmap(), r.Network.Bits()).Masked()
	}
	return r, r.Check()
}

// DrainServers drains the servers of a locality or network.
func (d *adminDaemon) DrainServers(ctx context.Context, s *admin.DrainedServers, by string) error {
	r, err := drainRule(s)
	if err != nil {
		return err
	}
	stamp := plan.Stamp{By: by, At: time.Now().UTC()}
	return d.edit(ctx, r.Backend, func(in *plan.Plan, parts *plan.Parts) error { return parts.AddDrainRule(in, r, stamp) })
}

// UndrainServers ends a drain.
func (d *adminDaemon) UndrainServers(ctx context.Context, s *admin.DrainedServers) error {
	r, err := drainRule(s)
	if err != nil {
		return err
	}
	return d.edit(ctx, r.Backend, func(_ *plan.Plan, parts *plan.Parts) error { return parts.RemoveDrainRule(r) })
}

// ClearOverrides ends overrides and drains of a backend, or all of them.
func (d *adminDaemon) ClearOverrides(ctx context.Context, backend string) (int, error) {
	n := 0
	err := d.edit(ctx, backend, func(_ *plan.Plan, parts *plan.Parts) error {
		if backend != "" && !parts.Has(backend) {
			return fmt.Errorf("backend %q: %w", backend, planner.ErrNoServer)
		}
		n = parts.ClearOverrides(backend)
		return nil
	})
	if err != nil { // n may still be written
		return 0, err
	}
	return n, nil
}

// Overrides returns what operators have set of servers.
func (d *adminDaemon) Overrides() (all admin.Overrides) {
	s, p := d.planner.Status(), d.planner.Plan()
	for key, o := range s.Overrides {
		out := admin.ServerOverride{
			Backend: key.Backend, Server: o.Name, Address: key.Address.String(), Override: *overrideOf(&o),
			Added: o.Added != nil, Removed: o.Removed, InForce: o.Removed, Weight: o.Weight,
			MaxConnections: o.MaxConnections,
		}
		if b := p.Backend(key.Backend); b != nil {
			if server := b.Server(out.Address); server != nil {
				out.Server, out.InForce = server.Name, true
			}
		}
		if o.State != nil {
			out.State = o.State.String()
		}
		if o.Health != plan.HealthAuto {
			out.Health = o.Health.String()
		}
		all.Servers = append(all.Servers, out)
	}
	slices.SortFunc(all.Servers, func(a, b admin.ServerOverride) int {
		if c := strings.Compare(a.Backend, b.Backend); c != 0 {
			return c
		}
		return strings.Compare(a.Address, b.Address)
	})
	for r, stamp := range s.Drains {
		out := admin.ServerDrain{
			DrainedServers: admin.DrainedServers{Backend: r.Backend, Locality: r.Locality}, By: stamp.By, Since: stamp.At,
		}
		if r.Network.IsValid() {
			out.Network = r.Network.String()
		}
		for i := range p.Backends {
			for j := range p.Backends[i].Servers {
				if r.Matches(p.Backends[i].Name(), &p.Backends[i].Servers[j]) {
					out.Servers++
				}
			}
		}
		all.Drains = append(all.Drains, out)
	}
	slices.SortFunc(all.Drains, func(a, b admin.ServerDrain) int {
		return strings.Compare(a.Locality+a.Network+a.Backend, b.Locality+b.Network+b.Backend)
	})
	return all
}

// quiet is an error that matches another one without its text.
type quiet struct{ error }

func (quiet) Error() string          { return "" }
func (q quiet) Is(target error) bool { return errors.Is(q.error, target) }
