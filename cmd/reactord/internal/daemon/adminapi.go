package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/history"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/logging"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// adminDaemon answers the admin API.
type adminDaemon struct {
	log           *logging.Log
	proxy         *proxy.Proxy
	planner       *planner.Planner
	sources       *sources
	sets          *sets.Manager
	controlPlane  *controlPlane
	configuration *configuration
	lifecycle     *lifecycle
	predecessors  *predecessors
	history       *history.Recorder
	do            actions
}

// actions are the operations that both the admin API and signals request.
type actions interface {
	reload(context.Context) error
	upgrade(context.Context) (pid int, err error)
	reopenAccessLog()
}

// adminDaemon returns the daemon's side of the admin API.
func (d *daemon) adminDaemon() *adminDaemon {
	return &adminDaemon{
		log: d.log, proxy: d.proxy, planner: d.planner, sources: &d.sources, sets: d.sets, controlPlane: &d.controlPlane,
		configuration: &d.configuration, lifecycle: &d.lifecycle, predecessors: &d.predecessors,
		history: d.recording.recorder, do: d,
	}
}

var _ admin.Daemon = (*adminDaemon)(nil)

// Status returns the state of the process.
func (d *adminDaemon) Status() admin.Status {
	all := d.proxy.Read(stats.Wanted{})
	return d.status(&all)
}

// Reading returns one reading of everything, for the page.
func (d *adminDaemon) Reading() admin.Reading {
	all := d.proxy.Stats()
	d.markOverridden(all.Servers)
	return admin.Reading{
		Status: d.status(&all), Listeners: all.Listeners, Backends: all.Backends, Servers: all.Servers,
		Failing: d.history.Failing(),
	}
}

// History returns what has happened lately.
func (d *adminDaemon) History() stats.History { return d.history.Read() }

// status returns the state of the process, of which all is a reading.
func (d *adminDaemon) status(all *stats.All) admin.Status {
	b, loops := build.Read(), d.proxy.Loops()
	choice := loops[0].RingChoice()
	host, _ := os.Hostname() // or no name
	s := admin.Status{
		Version: b.Version, Revision: b.Revision, Host: host, PID: os.Getpid(), Started: d.lifecycle.began.UTC(),
		Uptime: stats.Of(time.Since(d.lifecycle.began)), Phase: d.lifecycle.phase().String(),
		Ring: string(choice.Kind), RingReason: choice.Reason, Loops: len(loops), Plan: d.planner.Plan().Revision,
		LastReload: d.lastReload(),
	}
	s.Limit, s.IdleTimeout, s.AccessLog = all.Process.Limit, all.Process.IdleTimeoutRatio, all.AccessLog
	for i := range all.Listeners {
		s.Connections += int(all.Listeners[i].Connections)
	}
	for i := range all.Backends {
		if b := &all.Backends[i]; b.Paused {
			s.Paused = append(s.Paused, admin.PausedBackend{Backend: b.Name, Left: b.PauseLeft, Held: b.Held})
		}
	}
	s.Predecessors = d.predecessors.statuses()
	s.Handover = d.handover() // afterwards: it includes what a process that has ended handed over
	open := s.Connections
	for i := range s.Predecessors {
		open += s.Predecessors[i].Connections
	}
	s.Drain = d.lifecycle.drain(d.planner.Plan().Drain, open)
	return s
}

// handover returns what has moved between processes, or nil.
func (d *adminDaemon) handover() *stats.Handovers {
	h := d.proxy.Handovers()
	if h.Moved+h.Taken == 0 && !h.Taking && len(h.Staying) == 0 {
		return nil
	}
	return &h
}

// lastReload returns the last reload, or nil.
func (d *adminDaemon) lastReload() *admin.Reload {
	s := d.planner.Status()
	if s.Reloads.Succeeded+s.Reloads.Failed == 0 {
		return nil
	}
	r := &admin.Reload{
		OK: s.Reloads.LastSuccessful, At: s.File.LastSuccess.UTC(), Revision: s.Revision, Errors: admin.Places(s.Reloads.Err),
	}
	if changes := d.configuration.changes.Load(); r.OK && changes != nil {
		r.Changes = *changes
	}
	if !r.OK {
		r.At = s.File.LastError.UTC()
	}
	return r
}

// Config returns the configuration in force.
func (d *adminDaemon) Config() []byte {
	if f := d.planner.InForce(); f != nil {
		return inForce(f, d.planner.Plan(), d.planner.Status().Overrides)
	}
	return nil
}

// Plan returns the plan in force.
func (d *adminDaemon) Plan() admin.Plan {
	p := d.planner.Plan()
	out := admin.Plan{
		Revision: p.Revision,
		Settings: admin.Settings(config.JSON(&struct {
			Limits  config.Limits
			Drain   config.Drain
			Upgrade config.Upgrade
		}{p.Limits, p.Drain, p.Upgrade})),
	}
	for i := range p.Listeners {
		l := &p.Listeners[i]
		out.Listeners = append(out.Listeners, admin.PlanListener{
			Name: l.Name, Address: l.Place(), Backend: l.Backend, Routes: len(l.Routes),
			Settings: admin.Settings(config.JSON(&l.Listener)),
		})
	}
	for i := range p.Backends {
		b := &p.Backends[i]
		next := admin.PlanBackend{Name: b.Name(), Settings: admin.Settings(config.JSON(b.Settings))}
		for _, s := range b.Servers {
			next.Servers = append(next.Servers, planServer(&s))
		}
		out.Backends = append(out.Backends, next)
	}
	return out
}

// planServer returns a server of the plan.
func planServer(s *plan.Server) admin.PlanServer {
	out := admin.PlanServer{
		Name: s.Name, Address: s.Address.String(), State: s.State.String(), Weight: s.Weight, Priority: s.Priority,
		Backup: s.Backup, Locality: s.Locality, MaxConnections: s.MaxConnections, Plain: s.Plain,
		Health: s.Health.String(), Reason: cmp.Or(s.HealthReason, s.Reason), Origin: s.Origin,
	}
	if s.Check != nil {
		own := admin.Settings(config.JSON(s.Check))
		out.Check = &own
	}
	if s.Agent != nil {
		own := admin.Settings(config.JSON(s.Agent))
		out.Agent = &own
	}
	return out
}

// Listeners returns the readings of the listeners in force.
func (d *adminDaemon) Listeners() []stats.Listener {
	return d.proxy.Read(stats.Wanted{Full: true}).Listeners
}

// Backends returns the readings of the backends in force.
func (d *adminDaemon) Backends() []stats.Backend {
	return d.proxy.Read(stats.Wanted{Full: true}).Backends
}

// Discovery returns the sources of the plan in force.
func (d *adminDaemon) Discovery() (all []stats.Source) {
	counted := d.sources.stats()
	for _, s := range d.planner.Status().Discovered {
		all = append(all, readSource(s.Source, counted[s.Source], s))
	}
	return all
}

// Loops returns the proxy's loops.
func (d *adminDaemon) Loops() []*reactor.Loop { return d.proxy.Loops() }

// LoopStats returns what listeners do on each loop.
func (d *adminDaemon) LoopStats() []stats.Loop { return d.proxy.LoopStats() }

// Events returns the last lines of the log.
func (d *adminDaemon) Events(after uint64) (all []admin.Event) {
	for _, l := range d.log.Recent.After(after) {
		all = append(all, admin.Event{
			Number: l.Number, At: l.At.UTC(), Times: l.Times, Level: l.Level.String(), Message: l.Message,
			Fields: admin.Settings(l.Fields),
		})
	}
	return all
}

// adminError maps an error of the planner or the proxy to one of the admin API.
func adminError(err error) error {
	switch {
	case errors.Is(err, planner.ErrNoServer):
		return fmt.Errorf("%w: %w", admin.ErrNotFound, err)
	case errors.Is(err, plan.ErrConflict):
		return fmt.Errorf("%w%w", err, quiet{admin.ErrConflict})
	case errors.Is(err, net.ErrClosed):
		return fmt.Errorf("%w: the process is draining, and its plan stays as it is", admin.ErrConflict)
	}
	return err
}

// Reload reads the file again.
func (d *adminDaemon) Reload(ctx context.Context) (admin.Reload, error) {
	if err := d.do.reload(ctx); err != nil {
		return admin.Reload{}, adminError(err)
	}
	return *d.lastReload(), nil
}

// Drain begins to drain the process, or, if held, only makes it not ready.
func (d *adminDaemon) Drain(held bool) error {
	kind := drainNow
	if held {
		kind = hold
	}
	return d.lifecycle.request(drainRequest{"the admin API", kind})
}

// Undrain undoes Drain.
func (d *adminDaemon) Undrain() error {
	return d.lifecycle.request(drainRequest{"the admin API", undo})
}

// ReopenAccessLog reopens the access log.
func (d *adminDaemon) ReopenAccessLog() { d.do.reopenAccessLog() }

// Upgrade starts the successor, and returns its process ID.
func (d *adminDaemon) Upgrade(ctx context.Context) (int, error) { return d.do.upgrade(ctx) }

// XDS returns a reading of the client of the control plane.
func (d *adminDaemon) XDS() (stats.ControlPlane, error) {
	client := d.controlPlane.get()
	if client == nil {
		err := fmt.Errorf("%w: the configuration has no control plane: write xds.servers", admin.ErrNotFound)
		return stats.ControlPlane{}, err
	}
	x := client.Status()
	x.Resources = client.Resources()
	return x, nil
}
