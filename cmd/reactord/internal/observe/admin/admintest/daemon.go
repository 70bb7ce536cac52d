package admintest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// Daemon is an [admin.Daemon]. Its fields may be set before it is used.
type Daemon struct {
	Reactor *reactor.Reactor // may be nil
	Err     error            // returned by Reload, Drain and Upgrade

	By string // recorded as who has set something, instead of who asks; "": who asks

	// Upgraded is what Status returns after an upgrade, one after the other; the last one stays.
	Upgraded []admin.Status

	mu       sync.Mutex
	upgraded bool
	conns    []admin.Connection
	servers  []stats.Server
	drains   []admin.ServerDrain
	drain    *admin.Drain
	reloaded *admin.Reload
	pause    time.Duration    // left of the backend
	entries  []admin.SetEntry // added to the set
}

// Start is the daemon's start time.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// New returns a daemon with two servers of a backend, and n connections.
func New(n int) *Daemon {
	since := time.Now().Add(-73*time.Hour - time.Minute)
	d := &Daemon{servers: []stats.Server{
		{
			Backend: "app", Name: "a", Address: "192.0.2.1:80", State: "up", AdminState: "up", Since: since,
			Weight: 10, WeightPercent: 100, Connections: 2, MaxConnections: 100, Origin: "proxy.yaml:9:5",
			Health: "auto", OwnChecks: "check port 8008", ServerCounts: stats.ServerCounts[uint64]{Total: 1234},
		},
		{
			Backend: "app", Name: "b", Address: "192.0.2.2:80", State: "down", AdminState: "up", Since: since,
			Reason: "check: connection refused", Weight: 1, WeightPercent: 40, Failures: 3, Origin: "dns app.test",
			Health: "auto", ServerCounts: stats.ServerCounts[uint64]{Total: 7},
		},
	}}
	for i := range n {
		d.conns = append(d.conns, admin.Connection{
			ID: strconv.Itoa(i + 1), Listener: "web", Backend: "app", Server: d.servers[i%2].Name,
			Client:        netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 4000).String(),
			ServerAddress: d.servers[i%2].Address, State: "data", Age: admin.Seconds(i), Idle: 0.25,
			ReceivedBytes: 1 << 20, SentBytes: uint64(i),
			ClientTCP: &admin.TCP{RTT: admin.Seconds(i%7) / 100, MinRTT: 0.00025, Retransmits: uint64(i % 5)},
			ServerTCP: &admin.TCP{RTT: 0.000125, MinRTT: 0.0001, DeliveryRate: 1 << 30},
		})
	}
	return d
}

// Status returns the status.
func (d *Daemon) Status() admin.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.upgraded && len(d.Upgraded) > 0 {
		s := d.Upgraded[0]
		if len(d.Upgraded) > 1 {
			d.Upgraded = d.Upgraded[1:]
		}
		return s
	}
	s := admin.Status{
		Version: "v1.2.3", Revision: "0123abc", PID: 42, Started: Start, Uptime: 93784, Phase: admin.Serving,
		Ring: "io_uring", Loops: 4, Plan: 7, Connections: len(d.conns), LastReload: d.reloaded,
	}
	if d.pause != 0 {
		s.Paused = []admin.PausedBackend{{Backend: "app", Left: stats.Of(d.pause), Held: 3}}
	}
	if d.drain != nil {
		s.Phase = admin.Draining
		s.Drain = &admin.Drain{Phase: admin.Draining, Elapsed: 2, Left: 28, Connections: len(d.conns)}
	}
	return s
}

// Reading returns everything.
func (d *Daemon) Reading() admin.Reading {
	return admin.Reading{
		Status: d.Status(), Listeners: d.Listeners(), Backends: d.Backends(), Servers: d.Servers(),
		Failing: []stats.Failing{{
			Failure: stats.Failure{
				Listener: "web", Backend: "app", Server: "b", Reason: "server", Phase: "connect", Code: "SC", Fault: "server",
				Text: "the servers that were tried could not be reached", Count: 3,
			},
			Recent: 1, Share: 0.01, Last: Start,
		}},
	}
}

// History returns a point of a series.
func (d *Daemon) History() stats.History {
	return stats.History{Ended: Start, Ranges: []stats.HistoryRange{
		{Step: 1, Series: []stats.HistorySeries{{Name: "open", Points: []float32{2}}}},
	}}
}

// Config returns a configuration with one setting.
func (d *Daemon) Config() []byte { return []byte("ring: auto # default\n") }

// Plan returns a plan with a listener and a backend.
func (d *Daemon) Plan() admin.Plan {
	p := admin.Plan{
		Revision:  7,
		Settings:  admin.Settings(`{"limits":{"max_connections":100}}`),
		Listeners: []admin.PlanListener{{Name: "web", Address: "0.0.0.0:80", Backend: "app"}},
		Backends:  []admin.PlanBackend{{Name: "app", Settings: admin.Settings(`{"retries":3}`)}, {Name: "none"}},
	}
	for _, s := range d.Servers() {
		p.Backends[0].Servers = append(p.Backends[0].Servers, admin.PlanServer{
			Name: s.Name, Address: s.Address, State: s.AdminState, Weight: s.Weight, Origin: s.Origin,
			Health: s.Health,
		})
	}
	return p
}

// Listeners returns a listener.
func (d *Daemon) Listeners() []stats.Listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []stats.Listener{{
		Name: "web", Address: "0.0.0.0:80", Network: "tcp", Backend: "app", Connections: int64(len(d.conns)), Limit: 100,
		Accepted: 1241, Pauses: 1, ReceivedBytes: 5 << 30, SentBytes: 123,
		Rejected: stats.Tally[stats.Count]{{Reason: "limit", Count: 3}, {Reason: "rate", Count: 4}},
		Ended:    stats.Tally[stats.EndCount]{{By: "normal", Phase: "data", Count: 1237}},
	}}
}

// Backends returns a backend.
func (d *Daemon) Backends() []stats.Backend {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []stats.Backend{{
		Name: "app", Policy: "p2c", Servers: 2, Up: 1, Connections: 2, Queued: 3,
		Paused: d.pause > 0, PauseLeft: stats.Of(d.pause),
		QueueSize: 1024, QueueRefused: 5, Total: 1241, RetriesRefused: 1,
		ConnectTime: stats.Histogram{Bounds: []float64{0.001, 0.01}, Counts: []uint64{1200, 40, 1}, Sum: 0.9},
	}}
}

// Explain explains that a route does not match, and that one of two servers is chosen.
func (d *Daemon) Explain(_ context.Context, q *admin.ExplanationQuery) (stats.Explanation, error) {
	if q.Listener != "" && q.Listener != "web" {
		return stats.Explanation{}, fmt.Errorf("%w: listener %q", admin.ErrNotFound, q.Listener)
	}
	return stats.Explanation{
		Listener: "web", Outcome: "forward",
		Steps: []stats.ExplainedStep{{
			Setting: "allow", OK: true, Text: q.From + " is in one of the networks", Origin: "proxy.yaml:4:5",
		}},
		Routes: []stats.ExplainedRoute{
			{Name: "mail", Unmet: "sni", Text: "none is not mail.test", Origin: "proxy.yaml:6:9"},
			{Name: "rest", Origin: "proxy.yaml:8:5"},
		},
		Route:  "rest",
		Limits: []stats.ExplainedLimit{{Setting: "max_connections", Of: "listener web", Now: 4, Limit: 100}},
		Backends: []stats.ExplainedBackend{{
			Backend: "app", Percent: 100, Outcome: "forward", Policy: "maglev", Hashes: true, ClientTLS: "none", Header: "v2",
			Servers: []stats.ExplainedServer{
				{Server: "a", Address: "192.0.2.1:80", State: stats.ServerUp, Weight: 10, Percent: 100, Connections: 2,
					MaxConnections: 100, Chosen: true, Origin: "proxy.yaml:9:5"},
				{Server: "b", Address: "192.0.2.2:80", State: stats.ServerDown, Weight: 1, Origin: "dns app.test"},
			},
			Timeouts: []stats.ExplainedTimeout{{Setting: "idle_timeout", Seconds: 600, Origin: "default"}},
		}},
	}, nil
}

// Servers returns the servers.
func (d *Daemon) Servers() []stats.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.servers)
}

// Discovery returns a source that fails.
func (d *Daemon) Discovery() []stats.Source {
	at := time.Now().Add(-150*time.Minute - time.Second)
	return []stats.Source{{
		Name: "dns app.test", Backend: "app", Servers: 1, Lookups: 12, Failures: 2, LastSuccess: at, LastError: "no answer",
	}}
}

// Sets returns a set.
func (d *Daemon) Sets() []stats.Set {
	return []stats.Set{{
		Name: "blocked", Type: "networks", Entries: 1203, Added: len(d.entries), Bytes: 6015, Sources: []stats.SetSource{
			{Kind: "entries", Name: "the configuration", Entries: 3, Successful: true},
			{
				Kind: "http", Name: "https://lists.example/blocked", Entries: 1200, Attempts: 9, Failures: 1,
				LastSuccess: time.Now().Add(-5 * time.Minute), LastError: "status 502 Bad Gateway",
			},
		},
	}}
}

// SetEntries returns the entries that were added.
func (d *Daemon) SetEntries(set string) ([]admin.SetEntry, error) {
	if set != "blocked" {
		return nil, fmt.Errorf("%w: set %q", admin.ErrNotFound, set)
	}
	return d.entries, nil
}

// AddSetEntry adds an entry.
func (d *Daemon) AddSetEntry(_ context.Context, set string, c admin.SetAddition) (admin.SetEntry, error) {
	e := admin.SetEntry{Entry: c.Entry, Added: time.Now().Add(-5 * time.Minute), Why: c.Why}
	if c.For != 0 {
		e.Until = time.Now().Add(c.For.Duration() + time.Minute/2)
	}
	_, err := d.SetEntries(set)
	if err == nil {
		d.entries = append(d.entries, e)
	}
	return e, err
}

// RemoveSetEntry removes an entry.
func (d *Daemon) RemoveSetEntry(_ context.Context, set, entry string) error {
	before := len(d.entries)
	d.entries = slices.DeleteFunc(d.entries, func(e admin.SetEntry) bool { return e.Entry == entry })
	if set != "blocked" || len(d.entries) == before {
		return fmt.Errorf("%w: set %q", admin.ErrNotFound, set)
	}
	return nil
}

// MatchSets finds one address.
func (d *Daemon) MatchSets(_, value string) ([]admin.SetMatch, error) {
	if value != "192.0.2.7" {
		return nil, nil
	}
	return []admin.SetMatch{{Set: "blocked", Entry: "192.0.2.0/24", Source: "file /etc/reactord/blocked"}}, nil
}

// XDS returns a control plane with a refused resource.
func (d *Daemon) XDS() (stats.ControlPlane, error) {
	at := time.Now().Add(-150*time.Minute - time.Second)
	return stats.ControlPlane{
		Server: "control.test:18000", Connected: true, Since: at, Node: "proxy-1", Heard: at, Pushes: 3, Changes: 2,
		Resources: []stats.Resource{
			{Type: "cluster", Name: "app", Version: "7", State: "accepted", Since: at, InForce: true},
			{Type: "listener", Name: "web", Version: "8", State: "refused", Since: at, InForce: true, Problem: "no chain"},
		},
	}, nil
}

// Loops returns the loops of the reactor.
func (d *Daemon) Loops() []*reactor.Loop {
	if d.Reactor == nil {
		return nil
	}
	return d.Reactor.Loops()
}

// LoopStats returns nothing.
func (d *Daemon) LoopStats() []stats.Loop { return nil }

// Events returns two events.
func (d *Daemon) Events(after uint64) []admin.Event {
	all := []admin.Event{
		{Number: 1, At: Start, Times: 1, Level: "info", Message: "started"},
		{Number: 2, At: Start, Times: 1, Level: "warn", Message: "server is down", Fields: admin.Settings(`{"server":"b"}`)},
	}
	return all[min(after, 2):]
}

func (d *Daemon) update(backend, server string, f func(*stats.Server)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.servers {
		if s := &d.servers[i]; s.Backend == backend && (s.Name == server || s.Address == server) {
			f(s)
			return nil
		}
	}
	return fmt.Errorf("%w: server %q of backend %q", admin.ErrNotFound, server, backend)
}

// PauseBackend pauses the backend.
func (d *Daemon) PauseBackend(_ context.Context, backend string, length time.Duration) error {
	return d.setPause(backend, length)
}

// ResumeBackend ends its pause.
func (d *Daemon) ResumeBackend(_ context.Context, backend string) error {
	return d.setPause(backend, 0)
}

func (d *Daemon) setPause(backend string, left time.Duration) error {
	if backend != "app" {
		return fmt.Errorf("%w: backend %q", admin.ErrNotFound, backend)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pause = left
	return nil
}

func match(f *admin.Filter, c *admin.Connection) bool {
	client := netip.MustParseAddrPort(c.Client).Addr()
	return (f.Listener == "" || f.Listener == c.Listener) && (f.Backend == "" || f.Backend == c.Backend) &&
		(f.Server == "" || f.Server == c.Server || f.Server == c.ServerAddress) &&
		(!f.Client.IsValid() || f.Client.Contains(client)) &&
		c.Age.Duration() >= f.MinAge && c.Idle.Duration() >= f.MinIdle
}

// Sources returns two sources, of which one is limited.
func (d *Daemon) Sources(_ context.Context, q *admin.SourceQuery) (stats.ClientSources, error) {
	all := []stats.ClientSource{
		{Source: "192.0.2.7/32", Listener: "web", Connections: 50, Limit: 50, Accepted: 120, ReceivedBytes: 4096,
			SentBytes: 1 << 20, Rejected: stats.Tally[stats.Count]{{Reason: "source_connections", Count: 9}},
			Limited: []string{"source_connections"}},
		{Source: "2001:db8::/64", Listener: "dns", Connections: 2, ReceivedBytes: 100, SentBytes: 200},
	}
	all = slices.DeleteFunc(all, func(s stats.ClientSource) bool { return q.Listener != "" && q.Listener != s.Listener })
	return stats.ClientSources{Sources: all[:min(len(all), q.Limit)], Total: len(all)}, nil
}

// Connections returns a page of the connections.
func (d *Daemon) Connections(
	_ context.Context, f *admin.Filter, after string, most int, tcp bool,
) (page []admin.Connection, next string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	begin := 0
	if after != "" {
		last, err := strconv.Atoi(after)
		if err != nil {
			return nil, "", fmt.Errorf("%w: page %q", admin.ErrNotFound, after)
		}
		begin, _ = slices.BinarySearchFunc(d.conns, last+1, func(c admin.Connection, id int) int {
			n, _ := strconv.Atoi(c.ID)
			return n - id
		})
	}
	for i := begin; i < len(d.conns); i++ {
		if !match(f, &d.conns[i]) {
			continue
		}
		if len(page) == most {
			return page, page[most-1].ID, nil
		}
		page = append(page, d.conns[i])
		if !tcp {
			last := &page[len(page)-1]
			last.ClientTCP, last.ServerTCP = nil, nil
		}
	}
	return page, "", nil
}

// CloseConnections removes connections.
func (d *Daemon) CloseConnections(_ context.Context, f *admin.Filter) (int, error) {
	return d.remove(func(c admin.Connection) bool { return match(f, &c) }), nil
}

// CloseConnection removes one.
func (d *Daemon) CloseConnection(_ context.Context, id string) error {
	if d.remove(func(c admin.Connection) bool { return c.ID == id }) == 0 {
		return fmt.Errorf("%w: connection %q", admin.ErrNotFound, id)
	}
	return nil
}

func (d *Daemon) remove(which func(admin.Connection) bool) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := len(d.conns)
	d.conns = slices.DeleteFunc(d.conns, which)
	return before - len(d.conns)
}

// Reload returns Err, or a change.
func (d *Daemon) Reload(context.Context) (admin.Reload, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := admin.Reload{At: time.Now().Add(-25*time.Hour - time.Minute), OK: d.Err == nil, Revision: 8}
	d.reloaded = &r
	if d.Err != nil {
		r.Errors = admin.Places(d.Err)
		return r, d.Err
	}
	r.Changes = []string{"listener web: max_connections 0 → 100"}
	return r, nil
}

// Refused is an error of a reload with two places.
var Refused = errors.Join(
	&config.Error{File: "proxy.yaml", Line: 3, Column: 5, Text: `"bakend" is unknown: did you mean backend?`},
	&config.Error{File: "proxy.yaml", Line: 9, Column: 1, Text: "weight 2000 is out of range: write 0 to 1000"},
)

// Drain starts a drain.
func (d *Daemon) Drain(bool) error { return d.setDrain(&admin.Drain{}) }

// Undrain ends it.
func (d *Daemon) Undrain() error { return d.setDrain(nil) }

func (d *Daemon) setDrain(to *admin.Drain) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Err == nil {
		d.drain = to
	}
	return d.Err
}

// ReopenAccessLog does nothing.
func (d *Daemon) ReopenAccessLog() {}

// Upgrade returns a number. It refuses a context that would end an upgrade early.
func (d *Daemon) Upgrade(ctx context.Context) (int, error) {
	if at, ok := ctx.Deadline(); ok {
		return 0, fmt.Errorf("the request ends at %v", at)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.upgraded = d.Err == nil
	return UpgradedPID, d.Err
}

// UpgradedPID is the process id of the new process of an upgrade.
const UpgradedPID = 4711
