package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/discovery"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// adminDaemon is the daemon as the admin API sees it.
type adminDaemon struct {
	*daemon
	overriding sync.Mutex // an override that changes a part of the one before
}

var _ admin.Daemon = (*adminDaemon)(nil)

// slowTurn logs and remembers a slow turn of a loop.
func (d *daemon) slowTurn(t reactor.SlowTurn) {
	d.log.Warn("a turn of a loop lasts too long", zap.String("loop", t.Loop.Name()), zap.Duration("lasted", t.Lasted),
		zap.ByteString("stack", t.Stack))
	d.slow.Add(t)
}

// Status is the state of the process.
func (d *adminDaemon) Status() admin.Status {
	b, loops := proxymetrics.ReadBuild(), d.proxy.Loops()
	choice := loops[0].RingChoice()
	s := admin.Status{
		Version: b.Version, Revision: b.Revision, PID: os.Getpid(), Started: d.began.UTC(),
		Uptime: admin.Of(time.Since(d.began)), Phase: phase(d.phase.Load()).String(),
		Ring: string(choice.Kind), RingReason: choice.Reason, Loops: len(loops), Plan: d.planner.Plan().Revision,
		LastReload: d.lastReload(),
	}
	stats := d.proxy.Stats()
	s.Limit, s.IdleTimeout = stats.Process.Limit, stats.Process.Patience
	s.AccessLog = (*admin.AccessLog)(stats.AccessLog)
	for _, l := range stats.Listeners {
		s.Connections += int(l.Current)
	}
	s.Predecessors = d.older.statuses()
	if since := d.drainBegan.Load(); since != nil {
		c := d.planner.Plan().Drain
		elapsed := time.Since(*since)
		s.Drain = &admin.Drain{
			Phase: s.Phase, Held: d.readiness.held.Load(), Elapsed: admin.Of(elapsed), Connections: s.Connections,
		}
		for i := range s.Predecessors {
			s.Drain.Connections += s.Predecessors[i].Connections
		}
		if at := d.drainsAt.Load(); at != nil {
			s.Drain.Left = admin.Of(max(time.Until(*at), 0))
		} else if !s.Drain.Held && d.replaced.Load() == nil {
			s.Drain.Left = admin.Of(max(c.Delay+c.Timeout-elapsed, 0))
		}
	}
	return s
}

// lastReload is the last reload, or nil.
func (d *adminDaemon) lastReload() *admin.Reload {
	s := d.planner.Status()
	if s.Reloads.Succeeded+s.Reloads.Failed == 0 {
		return nil
	}
	r := &admin.Reload{
		OK: s.Reloads.LastSuccessful, At: s.File.LastSuccess.UTC(), Revision: s.Revision, Errors: admin.Places(s.Reloads.Err),
	}
	if changes := d.changes.Load(); r.OK && changes != nil {
		r.Changes = *changes
	}
	if !r.OK {
		r.At = s.File.LastError.UTC()
	}
	return r
}

// Config is the configuration in force.
func (d *adminDaemon) Config() []byte {
	if f := d.planner.InForce(); f != nil {
		return inForce(f, d.planner.Plan(), d.planner.Status().Overrides)
	}
	return nil
}

// Plan is the plan in force.
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
			next.Servers = append(next.Servers, admin.PlanServer{
				Name: s.Name, Address: s.Address.String(), State: s.State.String(), Weight: s.Weight, Priority: s.Priority,
				Backup: s.Backup, Locality: s.Locality, MaxConnections: s.MaxConnections, Plain: s.Plain, Origin: s.Origin,
			})
		}
		out.Backends = append(out.Backends, next)
	}
	return out
}

// Listeners is the listeners of the plan that the proxy has in force.
func (d *adminDaemon) Listeners() (all []admin.Listener) {
	stats, addresses := d.proxy.Stats().Listeners, d.proxy.Places()
	planned := map[string]*plan.Listener{}
	inForce := d.proxy.Plan()
	for i := range inForce.Listeners {
		planned[inForce.Listeners[i].Name] = &inForce.Listeners[i]
	}
	for i, s := range stats {
		l := admin.Listener{
			Name: s.Name, Connections: s.Current, Limit: s.Limit, Accepted: s.Accepted,
			Pauses: s.Pauses, ReceivedBytes: s.ReceivedBytes, SentBytes: s.SentBytes,
			Rejected: counts(s.Rejected), AcceptErrors: counts(s.AcceptErrors), Ended: endCounts(s.Closed),
			Handshakes: handshakes(s.Handshakes), Certificates: certificates(s.Certificates),
			ReceivedDatagrams: s.ReceivedDatagrams, SentDatagrams: s.SentDatagrams,
			DroppedDatagrams: counts(s.DroppedDatagrams),
		}
		if p := planned[s.Name]; p != nil {
			l.Backend, l.Routes = p.Backend, len(p.Routes)
		}
		if i < len(addresses) {
			l.Address = addresses[i]
		}
		all = append(all, l)
	}
	return all
}

// counts is what has happened at least once.
func counts(of []proxymetrics.Count) (all []admin.Count) {
	for _, c := range of {
		if c.N > 0 {
			all = append(all, admin.Count{Reason: c.Reason, Count: c.N})
		}
	}
	return all
}

func endCounts(of []proxymetrics.EndCount) (all []admin.EndCount) {
	for _, e := range of {
		if e.N > 0 {
			all = append(all, admin.EndCount{By: e.By, Phase: e.Phase, Count: e.N})
		}
	}
	return all
}

func handshakes(of []proxymetrics.Handshakes) (all []admin.Handshakes) {
	for _, h := range of {
		if h.N > 0 {
			all = append(all, admin.Handshakes{Version: h.Version, Result: h.Result, Count: h.N})
		}
	}
	return all
}

func certificates(of []proxymetrics.Certificate) (all []admin.Certificate) {
	for _, c := range of {
		all = append(all, admin.Certificate{Name: c.Name, Expires: time.Unix(int64(c.Expires), 0).UTC()})
	}
	return all
}

// Backends is the backends of the plan in force.
func (d *adminDaemon) Backends() (all []admin.Backend) {
	counted := map[string]*proxymetrics.BackendStats{}
	stats := d.proxy.Stats().Backends
	for i := range stats {
		counted[stats[i].Name] = &stats[i]
	}
	for _, b := range d.proxy.Backends() {
		out := admin.Backend{
			Name: b.Name, Servers: len(b.Servers), Panic: b.Panic, Connections: b.Connections, MaxConnections: b.Limit,
			Policy: b.Settings.Balance.Policy, QueueSize: b.Settings.Queue.Size,
		}
		if s := counted[b.Name]; s != nil {
			out.Queued, out.QueueRefused = int(s.Waiting), s.QueueRefused
			out.Total, out.RetriesRefused = s.Connections, s.RetriesRefused
			out.Handshakes = handshakes(s.Handshakes)
			out.ConnectTime = &admin.Histogram{}
			out.ConnectTime.Bounds, out.ConnectTime.Counts, out.ConnectTime.Sum = s.ConnectTime.Classic()
		}
		for _, s := range b.Servers {
			if s.State == upstream.Up {
				out.Up++
			}
		}
		all = append(all, out)
	}
	return all
}

// Servers is the servers of the plan in force.
func (d *adminDaemon) Servers() (all []admin.BackendServer) {
	overrides := d.planner.Status().Overrides
	p := d.planner.Plan()
	for _, b := range d.proxy.Backends() {
		planned := map[netip.AddrPort]*plan.Server{}
		if in := p.Backend(b.Name); in != nil {
			for i := range in.Servers {
				planned[in.Servers[i].Address] = &in.Servers[i]
			}
		}
		for _, s := range b.Servers {
			out := admin.BackendServer{
				Backend: b.Name, Name: s.Name, Address: s.Address.String(), State: s.State.String(), Reason: s.Reason,
				Since: s.Since.UTC(), AdminState: plan.Up.String(), Weight: s.Weight, WeightPercent: s.Percent,
				Connections: s.Connections, MaxConnections: s.Limit, Total: s.Total, Failures: s.Failures,
				Retries: s.Retries, Ejections: s.Ejections, Origin: s.Origin, Check: checkOf(s.Check),
				Overridden: !overrides[plan.ServerKey{Backend: b.Name, Address: s.Address}].IsZero(),
			}
			if in := planned[s.Address]; in != nil {
				out.AdminState, out.Priority, out.Backup, out.Locality = in.State.String(), in.Priority, in.Backup, in.Locality
			}
			all = append(all, out)
		}
	}
	return all
}

func checkOf(c *upstream.CheckStatus) *admin.Check {
	if c == nil {
		return nil
	}
	out := &admin.Check{Ended: c.Ended.UTC(), Took: admin.Of(c.Took), OK: c.Err == nil}
	if c.Err != nil {
		out.Error = c.Err.Error()
	}
	return out
}

// Discovery is the sources of the plan in force.
func (d *adminDaemon) Discovery() (all []admin.Source) {
	type source struct{ backend, title string }
	counters := map[source]discovery.Stats{}
	for _, c := range d.sources.stats(nil) {
		counters[source{c.Backend, c.Source}] = c.Stats
	}
	for _, s := range d.planner.Status().Discovered {
		counted := counters[source{s.Source.Backend, s.Source.Title()}]
		out := admin.Source{Name: s.Source.Title(), Backend: s.Source.Backend, Servers: s.Servers}
		for result, n := range counted.Lookups {
			out.Lookups += n
			if result != discovery.ResultOK {
				out.Failures += n
			}
		}
		if s.Err != nil {
			out.LastError = strings.ReplaceAll(s.Err.Error(), "\n", "; ")
		}
		if t := counted.LastSuccess.UTC(); !counted.LastSuccess.IsZero() {
			out.LastSuccess = &t
		}
		if t := s.LastError.UTC(); !s.LastError.IsZero() {
			out.LastFailure = &t
		}
		all = append(all, out)
	}
	return all
}

// Loops is the proxy's loops.
func (d *adminDaemon) Loops() []*reactor.Loop { return d.proxy.Loops() }

// LoopConnections is how many connections each loop has.
func (d *adminDaemon) LoopConnections() []int { return d.proxy.OpenOnLoops() }

// Events is the last lines of the log.
func (d *adminDaemon) Events(after uint64) (all []admin.Event) {
	for _, l := range d.log.Recent.After(after) {
		all = append(all, admin.Event{
			Number: l.Number, At: l.At.UTC(), Times: l.Times, Level: l.Level.String(), Message: l.Message,
			Fields: admin.Settings(l.Fields),
		})
	}
	return all
}

// SetServer changes what is set of the override of a server, and leaves the rest of it.
func (d *adminDaemon) SetServer(_ context.Context, backend, server string, c admin.ServerChange) error {
	d.overriding.Lock()
	defer d.overriding.Unlock()
	o := d.override(backend, server)
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
	return adminError(d.planner.Override(backend, server, o))
}

// override is the override of a server, which may be zero.
func (d *adminDaemon) override(backend, server string) plan.Override {
	key := plan.ServerKey{Backend: backend}
	if b := d.planner.Plan().Backend(backend); b != nil {
		if s := b.Server(server); s != nil {
			key.Address = s.Address
		}
	}
	return d.planner.Status().Overrides[key]
}

// ResetServer ends the override of a server.
func (d *adminDaemon) ResetServer(_ context.Context, backend, server string) error {
	d.overriding.Lock()
	defer d.overriding.Unlock()
	return adminError(d.planner.Override(backend, server, plan.Override{}))
}

// adminError is an error of the planner or the proxy with what it means to the admin API.
func adminError(err error) error {
	switch {
	case errors.Is(err, plan.ErrNoServer):
		return fmt.Errorf("%w: %w", admin.ErrNotFound, err)
	case errors.Is(err, net.ErrClosed):
		return fmt.Errorf("%w: the process is draining, and its plan stays as it is", admin.ErrConflict)
	}
	return err
}

// ownConnections is a page of the connections of this process, the newest first.
func (d *adminDaemon) ownConnections(
	ctx context.Context, f *admin.Filter, after string, limit int,
) (page []admin.Connection, next string, err error) {
	filter := d.filter(f)
	if after != "" {
		if filter.Before, err = strconv.ParseUint(after, 10, 64); err != nil || filter.Before == 0 {
			return nil, "", fmt.Errorf("%w: page %q: after is the value next of the page before", admin.ErrNotFound, after)
		}
	}
	found, err := d.proxy.Connections(ctx, filter, limit)
	for i := range found {
		page = append(page, describe(&found[i]))
	}
	if len(found) == limit {
		next = page[limit-1].ID
	}
	return page, next, err
}

// filter is the proxy's filter. A server is a name, or else an address.
func (d *adminDaemon) filter(f *admin.Filter) proxy.Filter {
	out := proxy.Filter{
		Listener: f.Listener, Backend: f.Backend, Server: f.Server, Client: f.Client,
		OlderThan: f.MinAge, IdleFor: f.MinIdle,
	}
	if at, err := netip.ParseAddrPort(f.Server); err == nil {
		out.Server, out.Address = "", at
	}
	return out
}

func describe(c *proxy.Connection) admin.Connection {
	out := admin.Connection{
		ID: strconv.FormatUint(c.ID, 10), Listener: c.Listener, Backend: c.Backend, Server: c.Server, State: c.Phase,
		Age: admin.Of(c.Age), Idle: admin.Of(c.Idle), ReceivedBytes: c.FromClient, SentBytes: c.FromServer,
	}
	if c.Client.IsValid() || c.ClientName == "unix" {
		out.Client = c.ClientName
	}
	if c.Address.IsValid() {
		out.ServerAddress = c.Address.String()
	}
	return out
}

// closeOwn resets a connection of this process.
func (d *adminDaemon) closeOwn(ctx context.Context, id string) error {
	n, err := strconv.ParseUint(id, 10, 64)
	if err == nil && n > 0 {
		var closed int
		if closed, err = d.proxy.CloseConnections(ctx, proxy.Filter{ID: n}); err != nil || closed > 0 {
			return err
		}
	}
	return fmt.Errorf("%w: connection %q", admin.ErrNotFound, id)
}

// maxChanges is how many changes of a reload are listed.
const maxChanges = 1000

// Reload reads the file anew.
func (d *adminDaemon) Reload(ctx context.Context) (admin.Reload, error) {
	if d.loader.Path() == "" {
		return admin.Reload{}, fmt.Errorf("%w: the configuration is from flags: there is no file to read",
			admin.ErrUnsupported)
	}
	if err := d.reload(ctx); err != nil {
		return admin.Reload{}, adminError(err)
	}
	return *d.lastReload(), nil
}

// noteReload notes what a file has changed. The planner calls it after each plan.
func (d *daemon) noteReload(f *plan.File, diff *plan.Diff) {
	before := d.file.Swap(f)
	if before != nil && before != f {
		lines := diff.Lines(maxChanges)
		if !reflect.DeepEqual(before.Config.XDS, f.Config.XDS) {
			lines = append(lines, "xds: the settings have changed: a new stream begins")
		}
		d.changes.Store(&lines)
	}
}

// Drain begins to drain the process, or only makes it not ready.
func (d *adminDaemon) Drain(held bool) error {
	kind := drainNow
	if held {
		kind = hold
	}
	return d.request(withdrawal{"the admin API", kind})
}

// Undrain undoes that.
func (d *adminDaemon) Undrain() error { return d.request(withdrawal{"the admin API", undo}) }

// ReopenAccessLog opens the access log anew.
func (d *adminDaemon) ReopenAccessLog() { d.reopenAccessLog() }

// Upgrade starts the program anew.
func (d *adminDaemon) Upgrade(ctx context.Context) (int, error) { return d.upgrade(ctx) }
