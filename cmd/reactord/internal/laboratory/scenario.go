package laboratory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// Scenario holds what a file says happens to a proxy, and what is expected of it.
type Scenario struct {
	Config string // path of the configuration
	Expect SimulatedExpectation

	path   string
	form   scenarioForm
	events []yamltree.Position
	groups []yamltree.Position
	served map[string]yamltree.Position // keys of servers
	top    yamltree.Position
}

// scenarioForm has the keys of a file of a scenario.
type scenarioForm struct {
	Config   string                `yaml:"config"`
	Duration Duration              `yaml:"duration"`
	Loops    int                   `yaml:"loops"`
	Rate     float64               `yaml:"rate"` // of clients of which nothing is said
	TTL      Duration              `yaml:"ttl"`  // of records in DNS
	Clients  []clientsForm         `yaml:"clients"`
	Servers  map[string]serverForm `yaml:"servers"` // by BACKEND/SERVER, BACKEND, or default
	Zones    map[string]zoneForm   `yaml:"zones"`
	Events   []eventForm           `yaml:"events"`
	Expect   SimulatedExpectation  `yaml:"expect"`
}

type clientsForm struct {
	Name      string      `yaml:"name"`
	Listener  string      `yaml:"listener"`
	From      string      `yaml:"from"`
	To        string      `yaml:"to"`
	Via       string      `yaml:"via"`
	SNI       string      `yaml:"sni"`
	ALPN      []string    `yaml:"alpn"`
	TLS       *bool       `yaml:"tls"`
	Rate      float64     `yaml:"rate"`
	Burst     int         `yaml:"burst"`
	Every     Duration    `yaml:"every"`
	Begin     Duration    `yaml:"begin"`
	Exchanges int         `yaml:"exchanges"`
	Pause     *Duration   `yaml:"pause"`
	Request   config.Size `yaml:"request"`
	Response  config.Size `yaml:"response"`
	Patience  Duration    `yaml:"patience"`
	ReadRate  config.Size `yaml:"read_rate"`
	Latency   *Duration   `yaml:"latency"`
	Handshake *Duration   `yaml:"handshake"`
	End       string      `yaml:"end" enum:"half_close,close,reset"`
}

type serverForm struct {
	Latency     *Duration `yaml:"latency"`
	Workers     int       `yaml:"workers"`
	Connections int       `yaml:"connections"`
}

type zoneForm struct {
	Latency   *Duration   `yaml:"latency"`
	Jitter    *Duration   `yaml:"jitter"`
	Loss      Share       `yaml:"loss"`
	Bandwidth config.Size `yaml:"bandwidth"` // a second
}

type eventForm struct {
	At         Duration            `yaml:"at"`
	For        Duration            `yaml:"for"`   // then it is as before
	Every      Duration            `yaml:"every"` // it happens again
	Servers    []string            `yaml:"servers"`
	Do         string              `yaml:"do" enum:"work,refuse,hang,reset,crawl"`
	State      string              `yaml:"state" enum:"up,drain,maintenance"`
	Zones      []string            `yaml:"zones"`
	Network    string              `yaml:"network" enum:"cut,heal"`
	Reload     string              `yaml:"reload"`
	Discovered map[string][]string `yaml:"discovered"`
	Unanswered []string            `yaml:"unanswered"` // backends
	Clients    []string            `yaml:"clients"`
	Rate       *float64            `yaml:"rate"`
	Proxy      string              `yaml:"proxy" enum:"stop"`
}

// The defaults of a scenario, and its limits.
const (
	mostRate        = 100_000 // clients in a second, and in a burst
	mostLoops       = 64
	mostBytes       = 64 << 20 // of a request, and of an answer
	defaultDuration = 30 * time.Second
	defaultLoops    = 2
	defaultTTL      = 30 * time.Second
	mostDuration    = 24 * time.Hour
)

// ReadScenario reads a file of a scenario. The paths in it are relative to it. The error joins a [*config.Error] for
// each mistake.
func ReadScenario(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, wrong := parseScenario(path, text)
	return s, placed(path, wrong)
}

func parseScenario(path string, text []byte) (*Scenario, []*yamltree.Error) {
	s, d := &Scenario{path: path}, &decoder{}
	top, ok := d.read(text, &s.form)
	if !ok {
		return nil, d.errs
	}
	s.top, s.Expect, s.Config = top.at, s.form.Expect, s.form.Config
	if s.Config != "" {
		s.Config = s.relative(s.Config)
	}
	s.events, s.groups, s.served = top.itemsOf("events"), top.itemsOf("clients"), top.keysOf("servers")
	if time.Duration(s.form.Duration) > mostDuration {
		d.add(top.at, "duration is too long: write at most %v", mostDuration)
	}
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	return s, nil
}

// relative returns a path of the file.
func (s *Scenario) relative(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.path), path)
}

// builder makes the scenario of a simulation from a file.
type builder struct {
	*Scenario
	ctx   context.Context
	lab   *Laboratory                      // with the file in force after the events so far
	found map[plan.Source]simulation.Found // by the sources then
	parts plan.Parts                       // of the plan then
	plan  *plan.Plan
	out   *simulation.Scenario
	errs  []*yamltree.Error

	ids    int                          // of events so far
	models map[string]simulation.Server // by the keys of servers
}

func (b *builder) add(at yamltree.Position, format string, args ...any) {
	b.errs = append(b.errs, at.Errorf(format, args...))
}

// Build returns what is simulated of a scenario. The error joins a [*config.Error] for each mistake, such as a server
// that does not exist.
func (l *Laboratory) Build(ctx context.Context, s *Scenario) (*simulation.Scenario, error) {
	b := &builder{
		Scenario: s, ctx: ctx, lab: l, found: l.standIns(), models: map[string]simulation.Server{},
		parts: plan.Parts{File: l.file, Overrides: map[plan.ServerKey]plan.Override{}},
	}
	b.learnFirst()
	first, err := plan.Merge(b.parts)
	if err != nil {
		return nil, err
	}
	b.plan = first
	b.out = &simulation.Scenario{
		File: l.file, Found: b.found, Plan: first,
		TTL: cmp.Or(time.Duration(s.form.TTL), defaultTTL), Loops: cmp.Or(s.form.Loops, defaultLoops),
		Duration: cmp.Or(time.Duration(s.form.Duration), defaultDuration),
		Default:  simulation.Server{Latency: serverLatency}, Servers: map[serveraddr.Addr]simulation.Server{},
		Zones: map[string]simulation.Zone{},
	}
	b.servers()
	b.knownZones(s.top, slices.Sorted(maps.Keys(s.form.Zones)))
	if s.form.Rate < 0 || s.form.Rate > mostRate {
		b.add(s.top, "rate is from 0 to %d", mostRate)
	}
	if s.form.Loops > mostLoops {
		b.add(s.top, "loops are at most %d", mostLoops)
	}
	for name, z := range s.form.Zones {
		zone := simulation.DefaultZone
		zone.Loss, zone.Bandwidth = float64(z.Loss), int64(z.Bandwidth)
		if z.Latency != nil {
			zone.Latency = time.Duration(*z.Latency)
		}
		if z.Jitter != nil {
			zone.Jitter = time.Duration(*z.Jitter)
		}
		b.out.Zones[name] = zone
	}
	b.clients()
	inOrder := make([]int, len(s.form.Events))
	for i := range inOrder {
		inOrder[i] = i
	}
	slices.SortStableFunc(inOrder, func(i, k int) int { return cmp.Compare(s.form.Events[i].At, s.form.Events[k].At) })
	for _, i := range inOrder {
		b.event(&s.form.Events[i], s.events[i])
	}
	slices.SortStableFunc(b.out.Events, func(x, y simulation.Event) int { return cmp.Compare(x.At, y.At) })
	if len(b.errs) > 0 {
		return nil, placed(s.path, b.errs)
	}
	return b.out, check(b.out)
}

// Errors of scenarios, to be matched by errors.Is.
var (
	// ErrNothing reports that no client would come.
	ErrNothing = errors.New("there is nothing to simulate: no listener of TCP has a backend")
	// ErrTooMany reports that too many clients would come.
	ErrTooMany = errors.New("too many clients")
)

// mostClients limits the clients of a run, which takes some 100 µs for each.
const mostClients = 10_000_000

// check reports whether a scenario has clients, and not too many.
func check(s *simulation.Scenario) error {
	total := 0.0
	for i := range s.Clients {
		c := &s.Clients[i]
		rate, since := c.Rate, time.Duration(0)
		for _, e := range s.Events {
			if slices.Contains(e.Clients, c.Name) {
				total += rate * (e.At - since).Seconds()
				rate, since = e.Rate, e.At
			}
		}
		total += rate * (s.Duration - since).Seconds()
		if c.Every > 0 {
			total += float64(c.Burst) * float64(s.Duration/c.Every)
		}
	}
	switch {
	case len(s.Clients) == 0:
		return ErrNothing
	case total > mostClients:
		return fmt.Errorf("%w: about %.0f would come in %v; write a lower rate or a shorter duration, of at most %d",
			ErrTooMany, total, s.Duration, mostClients)
	}
	return nil
}

// servers sets how servers behave.
func (b *builder) servers() {
	names := slices.Sorted(maps.Keys(b.form.Servers))
	slices.SortStableFunc(names, func(x, y string) int { // default first, and one server after all of its backend
		order := func(name string) int {
			if name == "default" {
				return -1
			}
			return strings.Count(name, "/")
		}
		return order(x) - order(y)
	})
	for _, name := range names {
		f := b.form.Servers[name]
		model := b.out.Default // and, of one server, that of its backend
		if backend, _, one := strings.Cut(name, "/"); one {
			if known, ok := b.models[backend]; ok {
				model = known
			}
		}
		if f.Workers > 0 {
			model.Workers = f.Workers
		}
		if f.Connections > 0 {
			model.Connections = f.Connections
		}
		if f.Latency != nil {
			model.Latency = time.Duration(*f.Latency)
		}
		if b.models[name] = model; name == "default" {
			b.out.Default = model
			continue
		}
		for _, s := range b.serversOf(b.served[name], name) {
			b.out.Servers[s.Address] = model
		}
	}
}

// serversOf returns the servers of a name: BACKEND/SERVER, or those of BACKEND.
func (b *builder) serversOf(at yamltree.Position, name string) []plan.ServerKey {
	backend, server, one := strings.Cut(name, "/")
	of := b.plan.Backend(backend)
	switch {
	case of == nil:
		b.add(at, "there is no backend %q: write BACKEND/SERVER, or BACKEND for all of its servers", backend)
		return nil
	case one:
		s := of.Server(server)
		if s == nil {
			b.add(at, "backend %s has no server %q", backend, server)
			return nil
		}
		return []plan.ServerKey{{Backend: backend, Address: s.Address}}
	}
	var all []plan.ServerKey
	for i := range of.Servers {
		all = append(all, plan.ServerKey{Backend: backend, Address: of.Servers[i].Address})
	}
	return all
}

// clients sets which clients come.
func (b *builder) clients() {
	switch explicit := len(b.form.Clients) > 0; {
	case !explicit:
		b.out.Clients = allClients(b.plan, b.form.Rate)
	case b.form.Rate > 0:
		b.add(b.top, "rate is that of clients of which nothing is said: write it for each of clients, or leave clients out")
	}
	names := map[string]bool{}
	for i := range b.form.Clients {
		c, at := &b.form.Clients[i], b.groups[i]
		if c.Name == "" {
			c.Name = fmt.Sprintf("clients %d", i+1)
		}
		if names[c.Name] {
			b.add(at, "%q is the name of other clients", c.Name)
		}
		names[c.Name] = true
		l := b.listener(at, c.Listener)
		if l == nil {
			continue
		}
		b.out.Clients = append(b.out.Clients, b.group(c, at, l))
	}
}

// listener returns the listener of a name, or the only one.
func (b *builder) listener(at yamltree.Position, name string) *plan.Listener {
	var all []string
	var found *plan.Listener
	for i := range b.plan.Listeners {
		l := &b.plan.Listeners[i]
		if !simulation.Simulates(l) {
			continue
		}
		if all = append(all, l.Name); l.Name == name || name == "" {
			found = l
		}
	}
	switch {
	case found == nil && name != "":
		b.add(at, "there is no listener %q that is simulated: write one of %s", name, strings.Join(all, ", "))
	case name == "" && len(all) > 1:
		b.add(at, "no listener: write one of %s", strings.Join(all, ", "))
		found = nil
	case found == nil:
		b.add(at, "no listener is simulated: there is none of TCP")
	}
	return found
}

// group returns the clients of a form.
func (b *builder) group(c *clientsForm, at yamltree.Position, l *plan.Listener) simulation.Clients {
	v := clientsOf(l)
	v.Name, v.Rate, v.Burst, v.Every, v.From = c.Name, c.Rate, c.Burst, time.Duration(c.Every), time.Duration(c.Begin)
	if c.From != "" {
		p, err := config.ParsePrefix(c.From)
		if err != nil {
			b.add(at, "from: %v", err)
		}
		v.Network, v.Avoid = p.Prefix, nil
	}
	v.Via = b.address(at, "via", c.Via, v.Via)
	v.To = netip.AddrPortFrom(b.address(at, "to", c.To, netip.Addr{}), 0)
	v.SNI, v.ALPN = c.SNI, c.ALPN
	if c.TLS != nil {
		v.TLS = *c.TLS
	}
	if !v.TLS && c.TLS != nil && c.SNI+strings.Join(c.ALPN, "") != "" {
		b.add(at, "sni and alpn are of clients that speak TLS: remove tls: false")
	}
	set := func(to *int, from int) {
		if from > 0 {
			*to = from
		}
	}
	set(&v.Exchanges, c.Exchanges)
	set(&v.Request, int(c.Request))
	set(&v.Response, int(c.Response))
	set(&v.ReadRate, int(c.ReadRate))
	for to, from := range map[*time.Duration]*Duration{&v.Pause: c.Pause, &v.Latency: c.Latency, &v.Crypto: c.Handshake} {
		if from != nil {
			*to = time.Duration(*from)
		}
	}
	if c.Patience > 0 {
		v.Patience = time.Duration(c.Patience)
	}
	if c.End != "" {
		v.End = simulation.Ending(c.End)
	}
	if c.Rate < 0 || c.Rate > mostRate || c.Burst > mostRate {
		b.add(at, "rate and burst are at most %d", mostRate)
	}
	if c.Request > mostBytes || c.Response > mostBytes {
		b.add(at, "request and response are at most %v", config.Size(mostBytes))
	}
	if !v.Fits(l.Bind.Addr()) {
		b.add(at, "clients with such addresses cannot reach %s: write from, or via, of the same family", l.Bind.Addr())
	}
	if c.Rate == 0 && c.Burst == 0 {
		b.add(at, "no rate: write how many connections come in a second, or burst and every")
	}
	if (c.Burst == 0) != (c.Every == 0) {
		b.add(at, "burst and every belong together: write both")
	}
	return v
}

// address reads an IP address, if there is one.
func (b *builder) address(at yamltree.Position, key, text string, otherwise netip.Addr) netip.Addr {
	if text == "" {
		return otherwise
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		b.add(at, "%s: %q is no IP address", key, text)
	}
	return a
}

// event adds an event. Later ones see the plan as it leaves it.
func (b *builder) event(f *eventForm, at yamltree.Position) {
	mistakes := len(b.errs)
	e := simulation.Event{At: time.Duration(f.At), Mode: simulation.Mode(f.Do)}
	if e.At >= b.out.Duration {
		b.add(at, "at %v is when no clients come any more: the duration is %v", e.At, b.out.Duration)
	}
	var said []string
	var keys []plan.ServerKey
	for _, name := range f.Servers {
		keys = append(keys, b.serversOf(at, name)...)
	}
	switch {
	case f.Do != "" && f.State != "":
		b.add(at, "do and state are two events: write one for each")
	case len(f.Servers) > 0 && f.Do == "" && f.State == "":
		b.add(at, "servers do nothing: write do: work, refuse, hang, reset or crawl, or state: up, drain or maintenance")
	case len(f.Servers) == 0 && f.Do+f.State != "":
		b.add(at, "no servers: write BACKEND/SERVER, or BACKEND for all of its servers")
	case f.Do != "":
		for _, k := range keys {
			e.Servers = append(e.Servers, k.Address)
		}
		e.Trouble = e.Mode != simulation.Works
		said = append(said, fmt.Sprintf("%s: %s", strings.Join(f.Servers, ", "), f.Do))
	}
	if len(f.Zones) > 0 || f.Network != "" {
		if len(f.Zones) == 0 || f.Network == "" {
			b.add(at, "zones and network belong together: write zones, and network: cut or heal")
		}
		b.knownZones(at, f.Zones)
		e.Zones, e.Cut = f.Zones, f.Network == "cut"
		e.Trouble = e.Trouble || e.Cut
		said = append(said, fmt.Sprintf("zone %s: %s", strings.Join(f.Zones, ", "), f.Network))
	}
	if len(f.Clients) > 0 || f.Rate != nil {
		e.Clients = b.namesOf(at, f.Clients)
		if f.Rate == nil {
			b.add(at, "no rate: write how many of these clients come in a second from then on")
		} else if *f.Rate < 0 || *f.Rate > mostRate {
			b.add(at, "rate is from 0 to %d", mostRate)
		} else {
			e.Rate = *f.Rate
			said = append(said, fmt.Sprintf("clients %s: %g/s", strings.Join(e.Clients, ", "), e.Rate))
		}
	}
	if text := b.replan(&e, f, keys, at); text != "" {
		p, err := plan.Merge(b.parts)
		if err != nil {
			b.add(at, "%s: %v", text, err)
			return
		}
		b.plan, e.Plan, e.Trouble = p, p, true
		said = append(said, text)
	}
	if f.Proxy != "" {
		e.Stop = true
		said = append(said, "the proxy stops to accept")
	}
	if len(said) == 0 && len(b.errs) == mistakes {
		b.add(at, "nothing happens: write servers and do, servers and state, zones and network, reload, discovered, "+
			"unanswered, clients and rate, or proxy: stop")
	}
	e.Text = strings.Join(said, "; ")
	b.repeat(e, f, at)
}

// repeat adds an event as often as it happens, and the ends of it.
func (b *builder) repeat(e simulation.Event, f *eventForm, at yamltree.Position) {
	const most = 1000
	ends := time.Duration(f.For)
	switch {
	case (ends > 0 || f.Every > 0) && e.Mode == "" && len(e.Zones) == 0:
		b.add(at, "for and every are of servers that do something, and of zones that are cut off")
	case ends > 0 && e.Mode == simulation.Works, ends > 0 && e.Mode == "" && !e.Cut:
		b.add(at, "for is of servers that fail, and of zones that are cut off")
	case f.Every > 0 && f.Every <= f.For:
		b.add(at, "every is not longer than for: it would not end before it happens again")
	case f.Every > 0 && b.out.Duration/time.Duration(f.Every) > most:
		b.add(at, "it happens too often: write at most %d times", most)
	default:
		for {
			b.ids++
			e.ID = b.ids
			b.out.Events = append(b.out.Events, e)
			if ends > 0 && e.At+ends < b.out.Duration {
				over := simulation.Event{
					ID: e.ID, At: e.At + ends, Text: "over: " + e.Text, Servers: e.Servers, Zones: e.Zones,
				}
				if e.Mode != "" {
					over.Mode = simulation.Works
				}
				b.out.Events = append(b.out.Events, over)
			}
			if e.At += time.Duration(f.Every); f.Every == 0 || e.At >= b.out.Duration {
				return
			}
		}
	}
}

// knownZones checks that there are servers in zones.
func (b *builder) knownZones(at yamltree.Position, names []string) {
	var all []string
	for i := range b.plan.Backends {
		for n := range b.plan.Backends[i].Servers {
			if z := b.plan.Backends[i].Servers[n].Locality; z != "" && !slices.Contains(all, z) {
				all = append(all, z)
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			b.add(at, "no server is in the zone %q: %s", name, cmp.Or(writeSomeOf(all), "none has a locality"))
		}
	}
}

// writeSomeOf lists names; "" if there are none.
func writeSomeOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "write some of " + strings.Join(names, ", ")
}

// namesOf returns the names of clients; of all if none is named.
func (b *builder) namesOf(at yamltree.Position, names []string) []string {
	var all []string
	for i := range b.out.Clients {
		all = append(all, b.out.Clients[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			b.add(at, "there are no clients %q: write some of %s", name, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		return all
	}
	return names
}

// replan sets what an event changes in the plan. It returns what that is, or "".
func (b *builder) replan(e *simulation.Event, f *eventForm, keys []plan.ServerKey, at yamltree.Position) string {
	var said []string
	if f.State != "" && len(keys) > 0 {
		state, _ := plan.ParseState(f.State)
		e.Overrides = map[plan.ServerKey]plan.Override{}
		for _, k := range keys {
			e.Overrides[k] = plan.Override{State: &state}
		}
		b.parts.Overrides = maps.Clone(b.parts.Overrides)
		maps.Copy(b.parts.Overrides, e.Overrides)
		said = append(said, fmt.Sprintf("%s: %s", strings.Join(f.Servers, ", "), f.State))
	}
	e.Found = map[plan.Source]simulation.Found{}
	if f.Reload != "" {
		other, err := Open(b.ctx, b.relative(f.Reload))
		if err != nil {
			b.add(at, "reload: %v", err)
			return ""
		}
		b.lab, b.parts.File, e.File = other, other.file, other.file
		for source, found := range other.standIns() {
			if _, known := b.found[source]; !known {
				e.Found[source] = found
			}
		}
		said = append(said, "reload of "+f.Reload)
	}
	said = append(said, b.rediscover(e, f, at)...)
	b.learn(e.Found)
	return strings.Join(said, "; ")
}
