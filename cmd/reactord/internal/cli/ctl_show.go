package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

type ctlStatus struct{}

// Run shows the state of the process.
func (ctlStatus) Run(c *ctl) error { return call(c, admin.GetStatus, admin.None{}, showStatus) }

func showStatus(w *bufio.Writer, s *admin.Status) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, plain(fmt.Sprintf(format, args...)))
	}
	line("phase", "%s", s.Phase)
	line("version", "%s, revision %s", s.Version, s.Revision)
	line("pid", "%d", s.PID)
	line("uptime", "%s", humanTime(s.Uptime))
	ring := s.Ring
	if s.RingReason != "" {
		ring += " (" + s.RingReason + ")"
	}
	line("ring", "%s", ring)
	line("loops", "%d", s.Loops)
	line("plan", "revision %d", s.Plan)
	line("connections", "%d", s.Connections)
	line("log level", "%s", s.LogLevel)
	switch r := s.LastReload; {
	case r == nil:
		line("last reload", "none")
	case r.OK:
		line("last reload", "%s ago, revision %d", ago(r.At), r.Revision)
	default:
		line("last reload", "%s ago, refused:", ago(r.At))
		for _, e := range r.Errors {
			line("", "%s", e)
		}
	}
	for _, b := range s.Paused {
		line("paused", "backend %s, %s left, %d connections are held", b.Backend, humanTime(b.Left), b.Held)
	}
	if h := s.Handover; h != nil && h.Taken > 0 {
		line("taken over", "%d connections of old processes", h.Taken)
	}
	for _, p := range s.Predecessors {
		line("old process", "%s", describePredecessor(&p))
	}
	if d := s.Drain; d != nil && d.Held {
		line("not ready", "for %s; nothing ends", humanTime(d.Elapsed))
	} else if d != nil {
		line("drain", "for %s, %s left", humanTime(d.Elapsed), humanTime(d.Left))
	}
}

// describePredecessor returns the state of an old process of an upgrade.
func describePredecessor(p *admin.Predecessor) string {
	if p.Error != "" {
		return fmt.Sprintf("%d: %s", p.PID, p.Error)
	}
	parts := []string{
		fmt.Sprintf("%d: version %s", p.PID, p.Version), "replaced " + humanTime(p.Elapsed) + " ago",
		fmt.Sprintf("%d connections", p.Connections),
	}
	if p.Left > 0 {
		parts = append(parts, humanTime(p.Left)+" left")
	}
	if p.Moved > 0 {
		parts = append(parts, fmt.Sprintf("%d moved", p.Moved))
	}
	for _, n := range p.Staying {
		parts = append(parts, fmt.Sprintf("%d stay (%s)", n.Count, n.Reason))
	}
	return strings.Join(parts, ", ")
}

type ctlPlan struct{}

// Run shows the plan in force.
func (ctlPlan) Run(c *ctl) error {
	return call(c, admin.GetPlan, admin.None{}, func(w *bufio.Writer, p *admin.Plan) {
		fmt.Fprintf(w, "revision %d\n\n", p.Revision)
		listeners := newTable("LISTENER", "ADDRESS", "BACKEND")
		for _, l := range p.Listeners {
			listeners.add(l.Name, l.Address, leadsTo(l.Backend, l.Routes))
		}
		c.table(w, listeners)
		fmt.Fprintln(w)
		servers := newTable("BACKEND", "SERVER", "ADDRESS", "STATE", ">WEIGHT", ">PRIORITY", "BACKUP",
			"HEALTH", "CHECKS", "ORIGIN")
		for _, b := range p.Backends {
			for _, s := range b.Servers {
				servers.add(b.Name, s.Name, s.Address, s.State, s.Weight, s.Priority, yes(s.Backup), s.Health, ownChecks(&s),
					s.Origin)
			}
			if len(b.Servers) == 0 {
				servers.add(b.Name, "", "", "", "", "", "", "", "", "")
			}
		}
		c.table(w, servers)
	})
}

// ownChecks returns the settings of the checks that are the server's own.
func ownChecks(s *admin.PlanServer) string {
	var parts []string
	if s.Check != nil {
		parts = append(parts, "check "+string(*s.Check))
	}
	if s.Agent != nil {
		parts = append(parts, "agent "+string(*s.Agent))
	}
	return strings.Join(parts, ", ")
}

type ctlConfig struct{}

// Run prints every setting in force.
func (ctlConfig) Run(c *ctl) error {
	return call(c, admin.GetConfig, admin.None{}, func(w *bufio.Writer, text *admin.Raw) { _, _ = w.Write(*text) })
}

type ctlListeners struct{}

// Run lists the listeners.
func (ctlListeners) Run(c *ctl) error {
	return call(c, admin.ListListeners, admin.None{}, func(w *bufio.Writer, all *admin.Listeners) {
		t := newTable("LISTENER", "ADDRESS", "BACKEND", ">CONNECTIONS", ">LIMIT", ">ACCEPTED", ">REJECTED",
			">PAUSES", ">RECEIVED", ">SENT")
		for _, l := range all.Listeners {
			t.add(l.Name, l.Address, leadsTo(l.Backend, l.Routes), l.Connections, limited(l.Limit), l.Accepted,
				stats.Sum(l.Rejected), l.Pauses, humanBytes(l.ReceivedBytes), humanBytes(l.SentBytes))
		}
		c.table(w, t)
	})
}

// leadsTo returns the backend of a listener, and the number of its routes.
func leadsTo(backend string, routes int) string {
	switch {
	case routes == 0:
		return backend
	case backend == "":
		return fmt.Sprintf("by %d routes", routes)
	}
	return fmt.Sprintf("%s, %d routes", backend, routes)
}

type ctlBackends struct{}

// Run lists the backends.
func (ctlBackends) Run(c *ctl) error {
	return call(c, admin.ListBackends, admin.None{}, func(w *bufio.Writer, all *admin.Backends) {
		t := newTable("BACKEND", "POLICY", ">SERVERS", ">UP", ">CONNECTIONS", ">LIMIT", ">QUEUED", ">HELD", ">QUEUE",
			">REFUSED", ">STICKY", "PANIC", "PAUSED")
		for _, b := range all.Backends {
			t.add(b.Name, b.Policy, b.Servers, b.Up, b.Connections, limited(b.MaxConnections), b.Queued, b.Held,
				b.QueueSize, b.QueueRefused, b.Sticky, yes(b.Panic), pauseLeft(&b))
		}
		c.table(w, t)
	})
}

// pauseLeft returns how long the pause of a backend lasts yet, or "".
func pauseLeft(b *stats.Backend) string {
	if !b.Paused {
		return ""
	}
	return humanTime(b.PauseLeft) + " left"
}

type ctlServers struct {
	Backend string `placeholder:"NAME" help:"Only servers of this backend."`
}

// Run lists the servers.
func (s ctlServers) Run(c *ctl) error {
	return call(c, admin.ListServers, admin.ServerQuery{Backend: s.Backend}, func(w *bufio.Writer, all *admin.Servers) {
		c.servers(w, all.Servers)
	})
}

// servers prints servers. The weight is that of the plan, with the effective part if that is less.
func (c *ctl) servers(w io.Writer, all []stats.Server) {
	t := newTable("BACKEND", "SERVER", "ADDRESS", "STATE", ">FOR", ">WEIGHT", ">CONNECTIONS", ">LIMIT", ">TOTAL",
		">FAILURES", "CHECKS", "OVERRIDE", "ORIGIN", "REASON")
	for _, s := range all {
		weight := strconv.Itoa(s.Weight)
		if s.WeightPercent < 100 {
			weight += fmt.Sprintf(" (%.0f%%)", s.WeightPercent)
		}
		t.add(s.Backend, s.Name, s.Address, s.State, ago(s.Since), weight, s.Connections, limited(s.MaxConnections),
			s.Total, s.Failures, s.OwnChecks, overriddenBy(&s), s.Origin, s.Reason)
	}
	c.table(w, t)
}

// overriddenBy returns whether an operator has set something of a server, or added it, and who.
func overriddenBy(s *stats.Server) string {
	o := s.Override
	switch {
	case o == nil:
		return yes(s.Overridden)
	case o.By == "":
		return "for " + ago(o.Since)
	}
	return fmt.Sprintf("by %s for %s", o.By, ago(o.Since))
}

// ctlFilter chooses connections.
type ctlFilter struct {
	Listener string        `placeholder:"NAME" help:"Only connections of this listener."`
	Backend  string        `placeholder:"NAME" help:"Only connections to this backend."`
	Server   string        `placeholder:"NAME" help:"Only connections to this server: its name or its address."`
	Client   prefix        `placeholder:"PREFIX" help:"Only connections of clients with this address or prefix, such as 192.0.2.0/24."`
	MinAge   time.Duration `placeholder:"TIME" help:"Only connections that have been open for so long, such as 10m."`
	MinIdle  time.Duration `placeholder:"TIME" help:"Only connections on which no byte has moved for so long, such as 30s."`
	PID      int           `name:"pid" placeholder:"PID" help:"Only connections of this process: the old one of an upgrade, or the one that is asked."`
}

func (f ctlFilter) filter() admin.Filter {
	return admin.Filter{
		Listener: f.Listener, Backend: f.Backend, Server: f.Server, Client: f.Client.Prefix,
		MinAge: f.MinAge, MinIdle: f.MinIdle, PID: f.PID,
	}
}

// prefix is an address prefix, or an address.
type prefix struct{ netip.Prefix }

// UnmarshalText reads a prefix or an address.
func (p *prefix) UnmarshalText(text []byte) (err error) {
	if p.Prefix, err = admin.ParsePrefix(string(text)); err != nil {
		return errors.New("write an address or a prefix such as 192.0.2.1 or 192.0.2.0/24")
	}
	return nil
}

type ctlConnections struct {
	ctlFilter
	Limit int            `placeholder:"N" help:"List no more than so many. 0: all."`
	Wide  bool           `help:"Add SNI, TLS, bytes a second, and round-trip times, retransmits and delivery rates of TCP."`
	Sort  connectionSort `enum:"id,rtt,retransmits,rate" default:"id" help:"Order: id (the newest first), or the largest rtt or retransmits of either side, or rate (bytes a second) first. All but id imply --wide."`
	Watch bool           `help:"List them again every 2 s, until Ctrl-C."`
}

const refreshInterval = 2 * time.Second

// Run lists open connections, page by page. In JSON, each page is an answer of the API.
func (l ctlConnections) Run(c *ctl) error {
	ctx, cancel := interruptible()
	defer cancel()
	defer c.client.Close()
	var rates rates
	for {
		if l.Watch && c.colour {
			fmt.Fprint(c.out, "\x1b[H\x1b[2J") // clear the screen
		}
		if err := l.list(ctx, c, &rates); err != nil || !l.Watch {
			return err
		}
		select {
		case <-time.After(refreshInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

func (l ctlConnections) list(ctx context.Context, c *ctl, rates *rates) error {
	const most = 10000 // that the API answers with
	w := bufio.NewWriter(c.out)
	var all []admin.Connection
	sorted := l.Sort != sortByID
	q := admin.ConnectionQuery{Filter: l.filter(), TCP: l.Wide || sorted}
	for left := l.Limit; ; {
		q.Limit = 0
		if l.Limit > 0 && !sorted {
			q.Limit = min(left, most)
		}
		page, text, err := admin.ListConnections.Call(ctx, c.client, q)
		if err != nil {
			return err
		}
		if c.json && !sorted {
			_, _ = w.Write(text)
		}
		all = append(all, page.Connections...)
		left -= len(page.Connections)
		if q.After = page.Next; q.After == "" || l.Limit > 0 && !sorted && left <= 0 {
			break
		}
	}
	rates.update(all)
	if sorted {
		if all = l.Sort.largest(all, l.Limit, rates); c.json {
			if err := json.NewEncoder(w).Encode(admin.Connections{Connections: all}); err != nil {
				return err
			}
		}
	}
	if !c.json {
		c.table(w, connectionTable(all, q.TCP, rates))
	}
	return w.Flush()
}

type ctlSources struct {
	Listener string `placeholder:"NAME" help:"Only clients of this listener."`
	Sort     string `enum:"connections,accepted,bytes,rejected" default:"connections" placeholder:"BY" help:"What comes first: most open connections (connections, the default), connections so far (accepted), bytes, or connections that were reset because of a limit by source (rejected)."`
	Limit    int    `placeholder:"N" default:"20" help:"List no more than so many (20)."`
}

// Run lists the sources of clients.
func (s ctlSources) Run(c *ctl) error {
	q := admin.SourceQuery{Listener: s.Listener, Sort: s.Sort, Limit: s.Limit}
	return call(c, admin.ListSources, q, func(w *bufio.Writer, all *stats.ClientSources) {
		t := newTable("SOURCE", "LISTENER", ">CONNECTIONS", ">LIMIT", ">ACCEPTED", ">REJECTED", ">RECEIVED", ">SENT",
			"SERVER", "LIMITED BY")
		for i := range all.Sources {
			s := &all.Sources[i]
			rejected := []string{}
			for _, n := range s.Rejected {
				if n.Count > 0 {
					rejected = append(rejected, fmt.Sprintf("%d %s", n.Count, n.Reason))
				}
			}
			t.add(s.Source, cmp.Or(s.Listener, "all"), s.Connections, limited(s.Limit), untracked(s.Limit, s.Accepted),
				cmp.Or(strings.Join(rejected, ", "), untracked(s.Limit, 0)), humanBytes(s.ReceivedBytes),
				humanBytes(s.SentBytes), s.Server, strings.Join(s.Limited, ", "))
		}
		c.table(w, t)
		if more := all.Total - len(all.Sources); more > 0 {
			fmt.Fprintf(w, "%d more\n", more)
		}
		if all.Unlisted > 0 {
			fmt.Fprintf(w, "%d connections of further sources\n", all.Unlisted)
		}
	})
}

// untracked returns a number of a source, or "-" if nothing tracks it.
func untracked(limit int, n uint64) string {
	if limit == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

type ctlLoops struct {
	InFlight bool `help:"Show every operation in flight."`
}

// Run shows the loops.
func (l ctlLoops) Run(c *ctl) error {
	if l.InFlight {
		return call(c, admin.GetInFlight, admin.None{}, func(w *bufio.Writer, text *admin.Raw) { _, _ = w.Write(*text) })
	}
	return call(c, admin.ListLoops, admin.None{}, func(w *bufio.Writer, all *admin.Loops) {
		t := newTable("LOOP", "RING", ">BUSY", ">LONGEST TURN", ">IN FLIGHT", ">LEAKED", ">DESCRIPTORS", ">BUFFERS",
			">LEASED", ">BUFFER WAITS")
		for _, l := range all.Loops {
			busy := "-"
			if lasted := l.Busy + l.Waiting; lasted > 0 {
				busy = fmt.Sprintf("%.1f%%", 100*l.Busy/lasted)
			}
			t.add(l.Name, l.Ring, busy, humanTime(l.LongestTurn), l.InFlight, l.Leaked, l.Descriptors,
				humanBytes(l.BufferBytes), humanBytes(l.LeasedBytes), l.BufferWaits)
		}
		c.table(w, t)
		for _, turn := range all.SlowTurns {
			fmt.Fprintf(w, "\nslow turn of loop %s, %s ago: %s\n%s", plain(turn.Loop), ago(turn.At),
				humanTime(turn.Lasted), turn.Stack)
		}
	})
}

type ctlDiscovery struct{}

// Run lists the discovery sources.
func (ctlDiscovery) Run(c *ctl) error {
	return call(c, admin.ListDiscovery, admin.None{}, func(w *bufio.Writer, all *admin.Discovery) {
		t := newTable("BACKEND", "SOURCE", ">SERVERS", ">LOOKUPS", ">FAILURES", ">LAST SUCCESS", "LAST ERROR")
		for _, s := range all.Sources {
			success := ""
			if !s.LastSuccess.IsZero() {
				success = ago(s.LastSuccess) + " ago"
			}
			t.add(s.Backend, s.Name, s.Servers, s.Lookups, s.Failures, success, s.LastError)
		}
		c.table(w, t)
	})
}

type ctlXDS struct{}

// Run shows the control plane.
func (ctlXDS) Run(c *ctl) error {
	return call(c, admin.GetXDS, admin.None{}, func(w *bufio.Writer, x *stats.ControlPlane) {
		line := func(name, format string, args ...any) {
			fmt.Fprintf(w, "%-12s %s\n", name, plain(fmt.Sprintf(format, args...)))
		}
		state := "not connected"
		if x.Connected {
			state = "connected"
		}
		if !x.Since.IsZero() {
			state += " for " + ago(x.Since)
		}
		line("server", "%s, %s", x.Server, state)
		if x.LastError != "" {
			line("last error", "%s", x.LastError)
		}
		line("node", "%s", x.Node)
		if !x.Heard.IsZero() {
			line("heard", "%s ago", ago(x.Heard))
		}
		line("pushes", "%d, %d of them changed the plan", x.Pushes, x.Changes)
		fmt.Fprintln(w)
		t := newTable("TYPE", "NAME", "VERSION", "STATE", ">FOR", "IN FORCE", "REASON")
		for _, r := range x.Resources {
			t.add(r.Type, r.Name, r.Version, r.State, ago(r.Since), yes(r.InForce), r.Problem)
		}
		c.table(w, t)
	})
}

type ctlOpenAPI struct{}

// Run prints the OpenAPI document.
func (ctlOpenAPI) Run(c *ctl) error {
	return call(c, admin.GetOpenAPI, admin.None{}, func(w *bufio.Writer, text *admin.Raw) { _, _ = w.Write(*text) })
}

type ctlProfile struct {
	Name   string        `arg:"" optional:"" help:"cpu, trace, heap, goroutine, …; without it, the profiles are listed."`
	Length time.Duration `name:"seconds" placeholder:"TIME" help:"For how long cpu and trace record (10s)."`
	Output string        `short:"o" placeholder:"FILE" help:"File to write; -: standard output (NAME.pprof)."`
	Text   bool          `help:"Write text for people to standard output."`
}

// Run writes a profile, or lists the profiles.
func (p ctlProfile) Run(c *ctl) error {
	if p.Name == "" {
		return call(c, admin.ListProfiles, admin.None{}, func(w *bufio.Writer, all *admin.Profiles) {
			t := newTable("PROFILE", "WHAT IT SHOWS")
			for _, p := range all.Profiles {
				t.add(p.Name, p.Doc)
			}
			c.table(w, t)
		})
	}
	ctx, cancel := interruptible()
	defer cancel()
	defer c.client.Close()
	q := admin.ProfileQuery{Name: p.Name, Length: p.Length}
	if p.Text {
		q.Debug = 1
	}
	answer, err := admin.Open(ctx, c.client, admin.PostProfile, q)
	if err != nil {
		return err
	}
	defer answer.Close()
	if p.Output == "-" || p.Output == "" && p.Text {
		_, err = io.Copy(c.out, answer)
		return err
	}
	return p.save(c, answer)
}

func (p ctlProfile) save(c *ctl, profile io.Reader) error {
	name := p.Output
	if name == "" {
		name = p.Name + ".pprof"
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, profile)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	tool := "pprof"
	if p.Name == "trace" {
		tool = "trace"
	}
	fmt.Fprintf(c.out, "%s: %s; look at it by: go tool %s %s\n", name, humanBytes(n), tool, name)
	return nil
}
