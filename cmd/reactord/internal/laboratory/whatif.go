package laboratory

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
)

// WhatIf says what becomes of clients if something goes wrong: the worst of all seeds.
type WhatIf struct {
	What     string
	Clients  int
	Refused  int
	Broken   int
	Late     int
	Recovery time.Duration // for which clients fail that come after it
	Ends     bool          // they stop to fail
	Retries  int
	Wait     time.Duration // the longest in a queue
	Slowest  time.Duration // the longest time until an answer
	Peak     int           // connections of clients to a server
	Busiest  string        // that server
	Left     string        // of the backends that have lost servers
	Findings []string      // what somebody should look at
	Run      *simulation.Result

	scenario   *simulation.Scenario
	kind       kind
	discovered map[string]bool // backends with discovery
}

// kind is what goes wrong.
type kind uint8

const (
	nothing kind = iota
	oneServer
	several // servers, and other servers are left
	all     // servers of a backend
	network // of clients
)

// WhatIfConfig says how much is tried.
type WhatIfConfig struct {
	Rate  float64 // clients in a second; 0: three fifths of what the limits allow, at most 100
	Seeds int
	First uint64 // seed
}

// mostPairs limits the pairs of servers of a backend that die.
const mostPairs = 10

// calm is the time before something goes wrong.
const calm = 10 * time.Second

// WhatIf lets each server, each zone, pairs of servers, all servers of a backend, each discovery, and half of the
// network of the clients fail, one after the other.
func (l *Laboratory) WhatIf(ctx context.Context, cfg WhatIfConfig) ([]WhatIf, error) {
	base, err := l.Build(ctx, &Scenario{form: scenarioForm{Rate: cfg.Rate}})
	if err != nil {
		return nil, err
	}
	base.Duration = calm + l.detection(base)
	rows := l.cases(base)
	errs := make([]error, len(rows))
	work := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range work {
				errs[i] = rows[i].play(cfg)
			}
		})
	}
	for i := range rows {
		work <- i
	}
	close(work)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	rows[0].Findings = append(l.misled(base), rows[0].Findings...)
	return rows, nil
}

// detection returns for how long a run goes on behind a trouble: twice the time in which checks find it, or discovery
// learns of it.
func (l *Laboratory) detection(s *simulation.Scenario) time.Duration {
	longest := 20 * time.Second
	for _, f := range l.finders() {
		switch f := f.(type) {
		case *config.DNS:
			longest = max(longest, 2*min(max(s.TTL, f.MinInterval), f.MaxInterval))
		case *config.HTTPDiscovery:
			longest = max(longest, 2*f.Interval)
		}
	}
	for i := range s.Plan.Backends {
		if c := &s.Plan.Backends[i].Settings.Check; c.Interval > 0 {
			longest = max(longest, 2*(c.Interval+time.Duration(c.Fall)*(max(c.FastInterval, c.Interval/5)+c.Timeout)))
		}
	}
	return min(longest, 2*time.Minute)
}

// cases returns what is tried.
func (l *Laboratory) cases(base *simulation.Scenario) []WhatIf {
	discovered := map[string]bool{}
	for i := range l.file.Config.Backends {
		b := &l.file.Config.Backends[i]
		discovered[b.Name] = len(b.Finders()) > 0
	}
	c := &caseMaker{
		base: base, rows: []WhatIf{{What: "nothing goes wrong", scenario: base, discovered: discovered}},
	}
	names, servers := namesOfServers(base.Plan)
	for _, a := range servers {
		c.lose(oneServer, names[a]+" dies", simulation.Refuses, a)
		c.lose(oneServer, names[a]+" hangs", simulation.Hangs, a)
	}
	zones := map[string][]serveraddr.Addr{}
	for i := range base.Plan.Backends {
		b := &base.Plan.Backends[i]
		var own []serveraddr.Addr
		for n := range b.Servers {
			own = append(own, b.Servers[n].Address)
			if z := b.Servers[n].Locality; z != "" && !slices.Contains(zones[z], b.Servers[n].Address) {
				zones[z] = append(zones[z], b.Servers[n].Address)
			}
		}
		c.losePairs(names, own)
		if len(own) > 1 {
			c.lose(all, "all servers of "+b.Name()+" die", simulation.Refuses, own...)
		}
	}
	if len(zones) > 1 {
		for _, z := range slices.Sorted(maps.Keys(zones)) {
			c.cut(z, zones[z])
		}
	}
	c.loseDiscovery(l)
	c.loseClients()
	return c.rows
}

// namesOfServers returns the servers that are up, in the order of the plan, with their names.
func namesOfServers(p *plan.Plan) (names map[serveraddr.Addr]string, servers []serveraddr.Addr) {
	names = map[serveraddr.Addr]string{}
	for i := range p.Backends {
		for n := range p.Backends[i].Servers {
			s := &p.Backends[i].Servers[n]
			if s.State != plan.Up || s.Weight == 0 {
				continue
			}
			if names[s.Address] == "" {
				servers = append(servers, s.Address)
				names[s.Address] = p.Backends[i].Name() + "/" + s.Name
			}
		}
	}
	return names, servers
}

// caseMaker makes the rows.
type caseMaker struct {
	base *simulation.Scenario
	rows []WhatIf
}

// add adds a row with events.
func (c *caseMaker) add(k kind, what, left string, events ...simulation.Event) {
	s := *c.base
	s.Events = events
	c.rows = append(c.rows, WhatIf{What: what, Left: left, scenario: &s, kind: k})
}

func (c *caseMaker) lose(k kind, what string, mode simulation.Mode, servers ...serveraddr.Addr) {
	if k == several && empties(c.base.Plan, servers) {
		k = all
	}
	c.add(k, what, left(c.base.Plan, servers), simulation.Event{
		At: calm, Text: what, Servers: servers, Mode: mode, Trouble: true,
	})
}

func (c *caseMaker) losePairs(names map[serveraddr.Addr]string, own []serveraddr.Addr) {
	if len(own) < 3 { // two are all
		return
	}
	pairs := 0
	for i := range own {
		for k := i + 1; k < len(own) && pairs < mostPairs; k++ {
			if names[own[i]] != "" && names[own[k]] != "" {
				c.lose(several, names[own[i]]+" and "+names[own[k]]+" die", simulation.Refuses, own[i], own[k])
				pairs++
			}
		}
	}
}

func (c *caseMaker) cut(zone string, servers []serveraddr.Addr) {
	what := "zone " + zone + " is cut off"
	c.add(several, what, left(c.base.Plan, servers), simulation.Event{
		At: calm, Text: what, Zones: []string{zone}, Cut: true, Trouble: true,
	})
}

// loseDiscovery lets the sources of a backend find nothing; those that take that for an error get no answer.
func (c *caseMaker) loseDiscovery(l *Laboratory) {
	backends := map[string]map[plan.Source]simulation.Found{}
	finders := l.finders()
	for _, source := range slices.SortedFunc(maps.Keys(finders), plan.CompareSources) {
		if backends[source.Backend] == nil {
			backends[source.Backend] = map[plan.Source]simulation.Found{}
		}
		backends[source.Backend][source] = simulation.Found{}
	}
	for _, backend := range slices.Sorted(maps.Keys(backends)) {
		what, found, k := "discovery of "+backend+" gets no answer", backends[backend], several
		var servers []serveraddr.Addr
		for source := range found {
			if reportOf(finders[source], simulation.Found{}) == nil {
				found[source] = simulation.Found{Err: discovery.ErrUnanswered}
				continue
			}
			what = "discovery finds no servers of " + backend
			for _, s := range reportOf(finders[source], c.base.Found[source]) {
				servers = append(servers, s.Address)
			}
		}
		if empties(c.base.Plan, servers) {
			k = all
		}
		c.add(k, what, left(c.base.Plan, servers), simulation.Event{At: calm, Text: what, Found: found, Trouble: true})
	}
}

// loseClients lets half of the clients be away for five seconds, and come back at once.
func (c *caseMaker) loseClients() {
	what := "half of the clients come back at once"
	rate := func(at time.Duration, text string, factor float64) (events []simulation.Event) {
		for i := range c.base.Clients {
			g := &c.base.Clients[i]
			events = append(events, simulation.Event{
				At: at, Text: text, Clients: []string{g.Name}, Rate: factor * g.Rate, Trouble: factor > 1 && i == 0,
			})
			text = ""
		}
		return events
	}
	events := rate(calm, "half of the clients go", 0.5)
	events = append(events, rate(calm+5*time.Second, "they come back", 6)...) // those of 5 s in half a second
	events = append(events, rate(calm+5500*time.Millisecond, "as before", 1)...)
	c.add(network, what, "", events...)
}

// empties reports whether a backend is left without a server.
func empties(p *plan.Plan, servers []serveraddr.Addr) bool {
	gone := func(s *plan.Server) bool { return slices.Contains(servers, s.Address) }
	for i := range p.Backends {
		if b := &p.Backends[i]; len(preferred(b, nil)) > 0 && len(preferred(b, gone)) == 0 {
			return true
		}
	}
	return false
}

// left describes what backends have left that have lost servers.
func left(p *plan.Plan, servers []serveraddr.Addr) string {
	var said []string
	for i := range p.Backends {
		b := &p.Backends[i]
		gone := func(s *plan.Server) bool { return slices.Contains(servers, s.Address) }
		before, after := preferred(b, nil), preferred(b, gone)
		if len(before) == len(after) && !slices.ContainsFunc(before, gone) {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d servers", b.Name(), len(after), len(before))
		if len(after) == 0 {
			text = b.Name() + ": no server"
		} else if after[0].Backup && !before[0].Backup {
			text = fmt.Sprintf("%s: %d backup", b.Name(), len(after))
		}
		if had, has := capacityOf(b, nil), capacityOf(b, gone); had > 0 && len(after) > 0 {
			text += fmt.Sprintf(", %d of %d connections", has, had)
		}
		said = append(said, text)
	}
	return strings.Join(said, "; ")
}

// play plays the row with all seeds.
func (w *WhatIf) play(cfg WhatIfConfig) error {
	w.Ends = true
	for seed := cfg.First; seed < cfg.First+uint64(max(cfg.Seeds, 1)); seed++ {
		r, err := simulation.Run(w.scenario, seed, nil)
		if err != nil {
			return err
		}
		w.take(r)
	}
	w.judge()
	return nil
}

// take takes a run, of which it keeps the worst.
func (w *WhatIf) take(r *simulation.Result) {
	if w.Run == nil || r.Failed() > w.Run.Failed() {
		w.Run = r
	}
	w.Clients = max(w.Clients, r.Clients)
	w.Refused = max(w.Refused, r.Outcomes[simulation.Refused])
	w.Broken = max(w.Broken, r.Outcomes[simulation.Broken])
	w.Late = max(w.Late, r.Outcomes[simulation.Late])
	w.Retries = max(w.Retries, int(r.Retries))
	w.Wait, w.Slowest = max(w.Wait, r.QueueWait), max(w.Slowest, r.LongestAnswer)
	if s := busiestServer(r); s.Peak > w.Peak {
		w.Peak, w.Busiest = s.Peak, s.Backend+"/"+s.Name
	}
	recovery := r.Recovery()
	w.Recovery, w.Ends = max(w.Recovery, recovery.Longest), w.Ends && recovery.Ends
}

// The bounds of what is no finding.
const (
	longRecovery = 15 * time.Second
	someClients  = 0.05
	stormy       = 0.75 // retries of a client
)

// judge says what somebody should look at.
func (w *WhatIf) judge() {
	add := func(format string, args ...any) { w.Findings = append(w.Findings, fmt.Sprintf(format, args...)) }
	failed, clients := w.Run.Failed(), w.Run.Clients // of the worst run, whose ends are said
	switch w.kind {
	case nothing:
		if failed > 0 {
			add("%d of %d clients fail: %s", failed, clients, endsOf(w.Run))
		}
		if w.Wait > 0 {
			add("connections wait for a server, up to about %v", w.Wait.Round(10*time.Millisecond))
		}
		w.idle()
	case all:
		if float64(w.Retries) > stormy*float64(w.Clients) {
			add("a retry storm: %d retries of %d clients", w.Retries, w.Clients)
		}
	case oneServer, several:
		switch {
		case !w.Ends:
			add("clients fail until it is repaired: %s", endsOf(w.Run))
		case w.Recovery > longRecovery:
			add("clients fail for %v: %s", shorten(w.Recovery), endsOf(w.Run))
		case float64(w.Refused+w.Late) > someClients*float64(w.Clients): // those of a server that dies break in any case
			add("%d of %d clients fail: %s", failed, clients, endsOf(w.Run))
		}
	case network:
		if w.Refused+w.Late > 0 {
			add("%d of %d clients fail: %s", failed, clients, endsOf(w.Run))
		}
	}
}

// endsOf describes how connections have ended that did not end well, and to which listeners their clients came.
func endsOf(r *simulation.Result) string {
	var failing []string
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		if r.Groups[name].Failed > 0 {
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 || len(failing) == len(r.Groups) {
		return ends(r)
	}
	return ends(r) + " at " + strings.Join(failing, ", ")
}

func ends(r *simulation.Result) string {
	var said []string
	for _, e := range r.Ends {
		if e.By != "normal" {
			said = append(said, fmt.Sprintf("%s/%s %d", e.By, e.Phase, e.Count))
		}
	}
	if len(said) == 0 {
		return "they cannot connect"
	}
	return strings.Join(said, ", ")
}

// idle finds servers that get no connections although nothing is wrong.
func (w *WhatIf) idle() {
	const enough = 20 // clients for each server
	counts, clients := map[string]int{}, map[string]int{}
	for _, s := range w.Run.Servers {
		counts[s.Backend+"/"+s.Name] = s.Connections
		clients[s.Backend] += s.Connections
	}
	for i := range w.scenario.Plan.Backends {
		b := &w.scenario.Plan.Backends[i]
		if b.Settings.Balance.Subset > 0 {
			continue
		}
		servers := preferred(b, nil)
		near := func(s *plan.Server) bool { return s.Locality == b.Settings.Balance.Locality }
		if b.Settings.Balance.Locality != "" && slices.ContainsFunc(servers, near) {
			servers = slices.DeleteFunc(servers, func(s *plan.Server) bool { return !near(s) })
		}
		for _, s := range servers {
			if counts[b.Name()+"/"+s.Name] == 0 && clients[b.Name()] >= enough*len(servers) {
				w.Findings = append(w.Findings, fmt.Sprintf("%s/%s gets none of the %d connections of its backend (%s)",
					b.Name(), s.Name, clients[b.Name()], s.Origin))
			}
		}
		here := func(s plan.Server) bool { return s.Locality == b.Settings.Balance.Locality }
		if z := b.Settings.Balance.Locality; z != "" && !w.discovered[b.Name()] && len(b.Servers) > 0 &&
			!slices.ContainsFunc(b.Servers, here) {
			w.Findings = append(w.Findings, fmt.Sprintf("backend %s prefers the servers of %s, where none is", b.Name(), z))
		}
	}
}

// misled finds routes whose own clients get another route, and clients that no route is for.
func (l *Laboratory) misled(base *simulation.Scenario) (found []string) {
	for i := range base.Clients {
		c := &base.Clients[i]
		text := proxy.ClientText{Listener: c.Listener, SNI: c.SNI, ALPN: c.ALPN, TLS: c.TLS, From: firstOf(c).String()}
		if c.Via.IsValid() {
			text.Via = c.Via.String()
		}
		if a := c.To.Addr(); a.IsValid() || c.To.Port() != 0 {
			continue // a part of an address cannot be explained
		}
		x, err := l.Explain(&text)
		if err != nil {
			continue
		}
		_, route, ofRoute := strings.Cut(c.Name, "/")
		if ofRoute && x.Route != route && x.Reason == "" {
			place := ""
			for _, r := range x.Routes {
				if r.Unmet == "" {
					place = " (" + r.Origin + ")"
				}
			}
			found = append(found, fmt.Sprintf("route %s of listener %s is hidden: its clients get route %s%s", route, c.Listener,
				x.Route, place))
		}
	}
	return found
}

// firstOf returns an address of the network of clients that they have.
func firstOf(c *simulation.Clients) netip.Addr {
	a := c.Network.Addr()
	for range 1024 {
		if !slices.ContainsFunc(c.Avoid, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return a
		}
		if next := a.Next(); c.Network.Contains(next) {
			a = next
		}
	}
	return a
}

// Found returns how many findings there are.
func Found(rows []WhatIf) (n int) {
	for i := range rows {
		n += len(rows[i].Findings)
	}
	return n
}

// Change says what becomes of clients while one configuration is replaced by another one.
type Change struct {
	Run     *simulation.Result
	Broken  int // clients that were there before it, and have failed
	Failed  int // clients that came after it, and have failed
	Servers []Moved
}

// Moved is the share of a server in the connections before a change and after it.
type Moved struct {
	Server        string
	Before, After float64
}

// Compare plays the change from a configuration to another one under load: at a quarter of the time.
func (l *Laboratory) Compare(ctx context.Context, next *Laboratory, cfg WhatIfConfig) (*Change, error) {
	s, err := l.Build(ctx, &Scenario{form: scenarioForm{Rate: cfg.Rate}})
	if err != nil {
		return nil, err
	}
	added := next.standIns()
	maps.DeleteFunc(added, func(source plan.Source, _ simulation.Found) bool {
		_, known := s.Found[source]
		return known
	})
	p, err := next.expected()
	if err != nil {
		return nil, err
	}
	s.Duration = 4 * calm
	s.Events = []simulation.Event{{
		At: calm, Text: "the new configuration", File: next.file, Found: added, Plan: p, Trouble: true,
	}}
	r, err := simulation.Run(s, cfg.First, nil)
	if err != nil {
		return nil, err
	}
	out := &Change{Run: r}
	out.Broken, out.Failed = r.FailedAround(calm)
	names, _ := namesOfServers(s.Plan)
	later, _ := namesOfServers(p)
	maps.Copy(names, later)
	if len(r.Spans) == 2 {
		for _, a := range slices.SortedFunc(maps.Keys(names), serveraddr.Addr.Compare) {
			m := Moved{Server: names[a]}
			m.Before, m.After = shareOf(&r.Spans[0], a), shareOf(&r.Spans[1], a)
			out.Servers = append(out.Servers, m)
		}
	}
	return out, nil
}

// shareOf returns the percentage of the connections of a time that a server has got.
func shareOf(s *simulation.Span, a serveraddr.Addr) float64 {
	total := 0
	for _, n := range s.Servers {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 100 * float64(s.Servers[a.String()]) / float64(total)
}

// Differing returns the rows that differ between two configurations, or that one of them lacks: those of the first
// with "- " before what happens, those of the other with "+ ".
func Differing(before, after []WhatIf) (all []WhatIf) {
	add := func(sign string, w *WhatIf) {
		one := *w
		one.What = sign + one.What
		all = append(all, one)
	}
	for i := range before {
		k := slices.IndexFunc(after, func(o WhatIf) bool { return o.What == before[i].What })
		switch {
		case k < 0:
			add("- ", &before[i])
		case !before[i].same(&after[k]):
			add("- ", &before[i])
			add("+ ", &after[k])
		}
	}
	for i := range after {
		if !slices.ContainsFunc(before, func(o WhatIf) bool { return o.What == after[i].What }) {
			add("+ ", &after[i])
		}
	}
	return all
}

// Rate returns how many clients come in a second of which nothing is said: as many as fill three fifths of what the
// limits allow.
func (l *Laboratory) Rate() (total float64) {
	p, err := l.expected()
	if err != nil {
		return 0
	}
	for _, c := range allClients(p, 0) {
		total += c.Rate
	}
	return total
}

// same reports whether about the same comes of the same: chance makes small differences.
func (w *WhatIf) same(o *WhatIf) bool {
	return w.Left == o.Left && w.Ends == o.Ends && near(w.Refused, o.Refused) &&
		near(w.Broken, o.Broken) && near(w.Late, o.Late) && near(w.Retries, o.Retries) && near(w.Peak, o.Peak) &&
		near(int(w.Recovery/(100*time.Millisecond)), int(o.Recovery/(100*time.Millisecond))) &&
		near(int(w.Wait/(100*time.Millisecond)), int(o.Wait/(100*time.Millisecond))) &&
		(len(w.Findings) == 0) == (len(o.Findings) == 0)
}

// near reports whether two counts may differ by chance.
func near(a, b int) bool { return float64(max(a, b)-min(a, b)) <= 10+4*math.Sqrt(float64(max(a, b))) }
