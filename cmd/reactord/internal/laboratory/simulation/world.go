package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// world plays a scenario: the machine of the proxy, one for the servers of each locality, and one for
// each group of clients.
type world struct {
	scenario     *Scenario
	proxyMachine *simring.Kernel
	zones        map[string][]*simring.Kernel
	lost         map[string]bool     // zones that are cut off
	alone        map[netip.Addr]bool // addresses with machines of their own
	groups       []*group
	servers      map[netip.AddrPort]*server
	byID         []*server               // by id, from 1
	taken        map[netip.AddrPort]bool // other ports of servers
	rng          *rand.Rand
	buffer       [1 << 16]byte
	frame        []byte // memory for a frame that is sent
	planning     *planning
	proxy        *proxy.Proxy
	up, running  int // loops
	began        time.Duration
	over         bool
	visitors     int // clients so far
	here         int // of them now
	present      map[*visitor]bool
	out          *Result
}

const (
	pairs       = 1 << 17          // connections that the proxy has descriptors for
	grace       = 30 * time.Second // for clients to end when no more come
	mostChecked = 30 * time.Second // for the first checks, before clients come
	mostPhase   = 10 * time.Second // until clients come after the first checks
	samples     = 120
)

// The addresses of the proxy's machine, beside those that it listens on.
var (
	own4 = netip.MustParseAddr("100.64.0.1")
	own6 = netip.MustParseAddr("fd64::1")
)

// odds are those of a machine on which nothing goes wrong by chance.
var odds = simring.Odds{
	Latency: 20 * time.Microsecond, Buffer: 1 << 16, Files: 1 << 20, CQ: 1 << 14, Workers: 4, CPUs: 1, Disk: 1 << 30,
}

// newWorld makes the machines, and what runs on them.
func newWorld(k *simring.Kernel, s *Scenario, seed uint64, hellos map[string][]byte) *world {
	w := &world{
		scenario: s, proxyMachine: k, zones: map[string][]*simring.Kernel{}, servers: map[netip.AddrPort]*server{},
		taken: map[netip.AddrPort]bool{}, lost: map[string]bool{},
		alone: map[netip.Addr]bool{}, rng: k.Rand(), present: map[*visitor]bool{},
		out: &Result{Seed: seed, Duration: s.Duration, ends: map[string]uint64{}, Groups: map[string]Answers{}},
	}
	k.Odds = odds
	k.SetName("proxy")
	k.SetBounds(simring.Bounds{Turns: 1 << 50, Time: s.Duration + time.Hour})
	plans := w.plans()
	w.makeMachines(plans)
	for _, p := range plans {
		for i := range p.Backends {
			for n := range p.Backends[i].Servers {
				w.serve(&p.Backends[i], &p.Backends[i].Servers[n])
			}
		}
	}
	for _, p := range plans {
		for i := range p.Backends {
			for n := range p.Backends[i].Servers {
				w.serveChecks(&p.Backends[i], &p.Backends[i].Servers[n])
			}
		}
	}
	for i := range s.Clients {
		w.addGroup(&s.Clients[i], hellos)
	}
	loops := make([]*reactor.Loop, max(s.Loops, 1))
	for i := range loops {
		l, err := reactor.NewLoopOn(k.NewRing(), k.System(), reactor.LoopConfig{
			DrainTimeout: time.Hour, Buffers: reactor.BufferConfig{Limit: uring.MaxBuffers},
		})
		if err != nil {
			w.fail(err)
			return w
		}
		loops[i] = l
	}
	w.planning = newPlanning(w, loops, seed)
	k.Go("planner", w.planning.run)
	k.Go("driver", w.drive)
	return w
}

// plans returns the plans of the scenario, as they are given.
func (w *world) plans() []*plan.Plan {
	all := []*plan.Plan{w.scenario.Plan}
	for i := range w.scenario.Events {
		if p := w.scenario.Events[i].Plan; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// fail ends the run: the simulation cannot go on.
func (w *world) fail(err error) { w.proxyMachine.Errorf("%w", err) }

// makeMachines makes the machines with their addresses.
func (w *world) makeMachines(plans []*plan.Plan) {
	own := []netip.Addr{own4, own6}
	for i := range w.scenario.Clients {
		if a := w.scenario.Clients[i].To.Addr(); a.IsValid() {
			own = append(own, a)
		}
	}
	add := func(to []netip.Addr, a netip.Addr) []netip.Addr {
		if a.IsUnspecified() || a.IsLoopback() || slices.Contains(to, a) {
			return to
		}
		return append(to, a)
	}
	of := map[string][]netip.Addr{}
	placed := map[netip.Addr]bool{}
	var names []string
	for _, p := range plans {
		for i := range p.Listeners {
			if l := &p.Listeners[i]; Simulates(l) {
				own = add(own, l.Bind.Addr())
			}
		}
		for i := range p.Backends {
			b := &p.Backends[i]
			for _, ip := range b.Settings.SourceAddresses {
				own = add(own, ip.Addr)
			}
			for n := range b.Servers {
				s := &b.Servers[n]
				if a := placeOf(s.Address).Addr(); !placed[a] && !a.IsLoopback() {
					if of[s.Locality] == nil {
						names = append(names, s.Locality)
					}
					placed[a], of[s.Locality] = true, append(of[s.Locality], a)
				}
			}
		}
	}
	w.proxyMachine.SetAddrs(own...)
	hanging := w.hanging(plans)
	for _, name := range names {
		var others []netip.Addr
		for _, a := range of[name] {
			switch {
			case slices.Contains(own, a):
			case hanging[a]:
				w.addMachine(name, fmt.Sprintf("zone %s, %v", name, a), a)
				w.alone[a] = true
			default:
				others = append(others, a)
			}
		}
		w.addMachine(name, "zone "+name, others...)
	}
}

// hanging returns the addresses of servers that hang, to and from which all packets are dropped then. Those that other
// servers have, too, are left out.
func (w *world) hanging(plans []*plan.Plan) map[netip.Addr]bool {
	ports, all := map[netip.Addr]uint16{}, map[netip.Addr]bool{}
	for i := range w.scenario.Events {
		if e := &w.scenario.Events[i]; e.Mode == Hangs {
			for _, s := range e.Servers {
				at := placeOf(s)
				ports[at.Addr()], all[at.Addr()] = at.Port(), true
			}
		}
	}
	for _, p := range plans {
		for i := range p.Backends {
			for n := range p.Backends[i].Servers {
				if at := placeOf(p.Backends[i].Servers[n].Address); ports[at.Addr()] != at.Port() {
					delete(all, at.Addr())
				}
			}
		}
	}
	return all
}

// addMachine adds a machine to a zone.
func (w *world) addMachine(zone, name string, addrs ...netip.Addr) {
	if len(addrs) == 0 {
		return
	}
	m := w.proxyMachine.NewMachine(name, addrs...)
	if others := w.zones[zone]; len(others) > 0 {
		m.LinkTo(w.proxyMachine).Share(others[0].LinkTo(w.proxyMachine))
		w.proxyMachine.LinkTo(m).Share(w.proxyMachine.LinkTo(others[0]))
	}
	w.zones[zone] = append(w.zones[zone], m)
	z, ok := w.scenario.Zones[zone]
	if !ok {
		z = DefaultZone
	}
	w.connect(m, simring.LinkOdds{Latency: z.Latency, Jitter: z.Jitter, Lost: z.Loss, Bandwidth: z.Bandwidth})
}

// relink cuts off the machines of zones that are cut off, and of servers that hang, and no others.
func (w *world) relink() {
	for zone, machines := range w.zones {
		for _, m := range machines {
			hangs := slices.ContainsFunc(w.byID, func(s *server) bool {
				return s.machine == m && s.alone && s.mode == Hangs
			})
			cut(m.LinkTo(w.proxyMachine), hangs || w.lost[zone])
			cut(w.proxyMachine.LinkTo(m), hangs || w.lost[zone])
		}
	}
}

// isListener reports whether the proxy listens at an address.
func (w *world) isListener(at netip.AddrPort) bool {
	for _, p := range w.plans() {
		for i := range p.Listeners {
			l := &p.Listeners[i]
			if a := l.Bind.Addr(); Simulates(l) && l.Bind.Port() == at.Port() &&
				(a == at.Addr() || a.IsUnspecified() && w.machineOf(at.Addr()) == w.proxyMachine) {
				return true
			}
		}
	}
	return false
}

// DefaultZone is the network to servers of a locality of which a scenario says nothing.
var DefaultZone = Zone{Latency: 250 * time.Microsecond, Jitter: 50 * time.Microsecond}

// connect sets the links between a machine and that of the proxy.
func (w *world) connect(m *simring.Kernel, l simring.LinkOdds) {
	m.LinkTo(w.proxyMachine).LinkOdds, w.proxyMachine.LinkTo(m).LinkOdds = l, l
}

// machineOf returns the machine with the address of a server.
func (w *world) machineOf(a netip.Addr) *simring.Kernel {
	for _, machines := range w.zones {
		for _, m := range machines {
			if m.Has(a) && !a.IsLoopback() {
				return m
			}
		}
	}
	return w.proxyMachine
}

// addGroup makes the machine of a group of clients.
func (w *world) addGroup(c *Clients, hellos map[string][]byte) {
	g := &group{Clients: c, w: w, machine: w.proxyMachine.NewMachine("clients " + c.Name), hello: hellos[helloKey(c)]}
	w.connect(g.machine, simring.LinkOdds{Latency: c.Latency})
	for i := range w.scenario.Plan.Listeners {
		if l := &w.scenario.Plan.Listeners[i]; l.Name == c.Listener {
			g.to = reachable(l.Bind, c.seen().Is6())
		}
	}
	g.said = g.to
	if a := c.To.Addr(); a.IsValid() {
		g.said = netip.AddrPortFrom(a, g.to.Port())
	}
	if port := c.To.Port(); port != 0 {
		g.said = netip.AddrPortFrom(g.said.Addr(), port)
	}
	if !c.Via.IsValid() { // or the header says it
		g.to = g.said
	}
	w.groups = append(w.groups, g)
}

// reachable returns the address that clients connect to, who have IPv6 addresses or IPv4 ones.
func reachable(bind netip.AddrPort, v6 bool) netip.AddrPort {
	switch a := bind.Addr(); {
	case !a.IsUnspecified():
		return bind
	case v6 && a.Is6():
		return netip.AddrPortFrom(own6, bind.Port())
	}
	return netip.AddrPortFrom(own4, bind.Port())
}

// helloKey identifies the ClientHello of clients.
func helloKey(c *Clients) string {
	if !c.TLS && c.SNI == "" && len(c.ALPN) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %q", c.SNI, c.ALPN)
}

// drive lets clients come, carries out the events, and ends it all.
func (w *world) drive(t *simring.Thread) {
	t.Until(func() bool { return w.proxy != nil && w.up == w.running })
	t.UntilOr(w.checked, mostChecked, "the first checks")
	t.Sleep(time.Duration(w.rng.Int64N(int64(w.phase()))))
	w.began = w.proxyMachine.Elapsed()
	w.sample()
	for _, g := range w.groups {
		g.start()
	}
	for i := range w.scenario.Events {
		e := &w.scenario.Events[i]
		if wait := e.At - w.elapsed(); wait > 0 {
			t.Sleep(wait)
		}
		w.carryOut(e)
	}
	if left := w.scenario.Duration - w.elapsed(); left > 0 {
		t.Sleep(left)
	}
	t.UntilOr(func() bool { return w.here == 0 }, grace, "clients that end")
	w.over = true
	for _, v := range slices.SortedFunc(maps.Keys(w.present), func(a, b *visitor) int { return cmp.Compare(a.id, b.id) }) {
		v.over = true
		v.e.Reset()
		w.note(v, Unended)
	}
	w.finish()
	w.proxy.BeginDrain(true)
	t.Until(func() bool { return w.running == 0 })
	for _, s := range w.byID {
		s.close()
	}
}

// phase returns the longest time between two checks, or looks of discovery: clients come at any time in it.
func (w *world) phase() time.Duration {
	longest := discovery.FileInterval
	for i := range w.scenario.Plan.Backends {
		longest = max(longest, w.scenario.Plan.Backends[i].Settings.Check.Interval)
	}
	return min(longest, mostPhase)
}

// checked reports whether no server waits for its first check.
func (w *world) checked() bool {
	select {
	case <-w.proxy.Checked():
		return true
	default:
		return false
	}
}

// carryOut carries out an event.
func (w *world) carryOut(e *Event) {
	w.span()
	w.mark(e.Text, true)
	if e.Trouble {
		w.out.troubles = append(w.out.troubles, trouble{w.elapsed(), e.Text})
	}
	for _, a := range e.Servers {
		if s := w.servers[placeOf(a)]; s != nil {
			s.become(e.Mode)
		}
	}
	for _, s := range w.byID { // servers on the machine of the proxy have no link that could be cut
		if slices.Contains(e.Zones, s.locality) && s.machine == w.proxyMachine {
			if s.become(Works); e.Cut {
				s.become(Hangs)
			}
		}
	}
	for _, z := range e.Zones {
		w.lost[z] = e.Cut
	}
	w.relink()
	for _, g := range w.groups {
		if slices.Contains(e.Clients, g.Name) {
			g.setRate(e.Rate)
		}
	}
	if e.Stop {
		w.proxy.BeginDrain(false)
	}
	w.planning.replan(e)
}

func cut(l *simring.Link, on bool) {
	if on {
		l.Cut()
	} else {
		l.Heal()
	}
}

// post sends a frame behind what is still to be sent, and returns what then is.
func (w *world) post(e *simring.Endpoint, out []byte, f *frame) []byte {
	w.frame = f.append(w.frame[:0])
	n := 0
	if len(out) == 0 {
		n, _ = e.Send(w.frame) // an error comes again
	}
	return append(out, w.frame[max(n, 0):]...)
}

// elapsed returns the time since clients began to come.
func (w *world) elapsed() time.Duration { return w.proxyMachine.Elapsed() - w.began }

// after calls f after a time, unless the run has ended by then.
func (w *world) after(d time.Duration, f func()) {
	w.proxyMachine.After(max(d, 0), func() {
		if !w.over {
			f()
		}
	})
}

// about draws a time whose mean is d: half of it, and as much on average of what comes at random.
func (w *world) about(d time.Duration) time.Duration {
	return d/2 + time.Duration(w.rng.ExpFloat64()*float64(d)/2)
}
