package laboratory

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// standInCount counts the servers that stand for those that a source would find.
const standInCount = 3

// standIns returns servers for each source, of which nothing else is known.
func (l *Laboratory) standIns() map[plan.Source]simulation.Found {
	all := map[plan.Source]simulation.Found{}
	for source, f := range l.finders() {
		h := fnv.New32a()
		fmt.Fprint(h, source) // the same in any configuration
		sum := h.Sum32()
		var found simulation.Found
		for n := range standInCount {
			ip := netip.AddrFrom4([4]byte{10, 128 | byte(sum>>8), byte(sum), byte(n + 1)})
			if d, ok := f.(*config.DNS); ok && d.Type == config.DNSAAAA {
				ip = netip.AddrFrom16([16]byte{0xfd, 0, byte(sum >> 8), byte(sum), 15: byte(n + 1)})
			}
			found.Servers = append(found.Servers, discoveredServer(source, n, netip.AddrPortFrom(ip, portOf(f, 1000))))
		}
		all[source] = found
	}
	return all
}

// discoveredServer returns a server that a source finds.
func discoveredServer(source plan.Source, n int, at netip.AddrPort) plan.Server {
	return plan.Server{
		Name: fmt.Sprintf("%s %d", source.Title(), n+1), Address: serveraddr.IP(at), Weight: 1, State: plan.Up,
		Origin: source.Title(),
	}
}

// portOf returns the port that all servers of a source have, or otherwise.
func portOf(f config.Finder, otherwise uint16) uint16 {
	if d, ok := f.(*config.DNS); ok && d.Port > 0 {
		return uint16(d.Port)
	}
	return otherwise
}

// finders returns the settings of each source.
func (l *Laboratory) finders() map[plan.Source]config.Finder {
	all := map[plan.Source]config.Finder{}
	for source, spec := range new(discovery.Maker).Specs(l.file.Config) {
		all[source] = spec.Finder
	}
	return all
}

// reportOf returns the servers that a source reports which finds these, and knew none. It is nil if it reports none.
func reportOf(f config.Finder, found simulation.Found) (servers []plan.Server) {
	s := discovery.NewScripted(f, time.Second, nil, func(all []plan.Server, _ error) { servers = all })
	s.Set(found.Servers, found.Err)
	s.Poll()
	return servers
}

// expected returns the plan when each source has found its stand-ins.
func (l *Laboratory) expected() (*plan.Plan, error) {
	discovered, finders := map[plan.Source][]plan.Server{}, l.finders()
	for source, found := range l.standIns() {
		discovered[source] = reportOf(finders[source], found)
	}
	return plan.Merge(plan.Parts{File: l.file, Discovered: discovered})
}

// learn sets what sources find from now on. Of one that reports no servers the last ones stay.
func (b *builder) learn(found map[plan.Source]simulation.Found) {
	finders := b.lab.finders()
	b.found = maps.Clone(b.found)
	maps.Copy(b.found, found)
	b.parts.Discovered = maps.Clone(b.parts.Discovered)
	for source := range b.parts.Discovered {
		if finders[source] == nil {
			delete(b.parts.Discovered, source)
		}
	}
	for source, f := range finders {
		_, now := found[source]
		if _, known := b.parts.Discovered[source]; known && !now {
			continue
		}
		if servers := reportOf(f, b.found[source]); servers != nil {
			b.parts.Discovered[source] = servers
		}
	}
}

// learnFirst sets what sources find before anything happens: what events at the beginning say, or else stand-ins.
func (b *builder) learnFirst() {
	b.parts.Discovered = map[plan.Source][]plan.Server{}
	var atFirst simulation.Event
	for i := range b.form.Events {
		if f := &b.form.Events[i]; f.At == 0 {
			b.rediscover(&atFirst, f, b.events[i])
		}
	}
	b.errs = nil // they come again with the event
	found := maps.Clone(b.found)
	maps.Copy(found, atFirst.Found)
	b.learn(found)
}

// rediscover sets what the sources of backends find from an event on. It returns what that is, for people.
func (b *builder) rediscover(e *simulation.Event, f *eventForm, at yamltree.Position) (said []string) {
	if e.Found == nil {
		e.Found = map[plan.Source]simulation.Found{}
	}
	for _, backend := range slices.Sorted(maps.Keys(f.Discovered)) {
		sources := b.sourcesOf(at, "discovered", backend)
		for i, source := range sources { // the first finds all
			var found simulation.Found
			if i == 0 {
				found = b.parseServers(at, source, f.Discovered[backend])
			}
			e.Found[source] = found
		}
		if len(sources) > 0 {
			said = append(said, fmt.Sprintf("discovery finds %d servers of %s", len(f.Discovered[backend]), backend))
		}
	}
	for _, backend := range f.Unanswered {
		sources := b.sourcesOf(at, "unanswered", backend)
		for _, source := range sources {
			e.Found[source] = simulation.Found{Err: discovery.ErrUnanswered}
		}
		if len(sources) > 0 {
			said = append(said, fmt.Sprintf("discovery of %s gets no answer", backend))
		}
	}
	return said
}

// sourcesOf returns the sources of a backend, in order.
func (b *builder) sourcesOf(at yamltree.Position, key, backend string) (all []plan.Source) {
	for _, s := range slices.SortedFunc(maps.Keys(b.lab.finders()), plan.CompareSources) {
		if s.Backend == backend {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		b.add(at, "%s: backend %q has no discovery", key, backend)
	}
	return all
}

// parseServers returns what a source finds, from the texts of addresses.
func (b *builder) parseServers(at yamltree.Position, source plan.Source, servers []string) (found simulation.Found) {
	f := b.lab.finders()[source]
	for i, text := range servers {
		a, err := netip.ParseAddrPort(text)
		d, isDNS := f.(*config.DNS)
		switch {
		case err != nil:
			b.add(at, "discovered: %q is no address: write IP:PORT", text)
		case a.Port() != portOf(f, a.Port()):
			b.add(at, "discovered: %s: the servers of %s have the port %d", text, source.Title(), d.Port)
		case isDNS && (d.Type == config.DNSA && !a.Addr().Is4() || d.Type == config.DNSAAAA && a.Addr().Is4()):
			b.add(at, "discovered: %s: no record of type %s has such an address", text, d.Type)
		default:
			found.Servers = append(found.Servers, discoveredServer(source, i, a))
		}
	}
	return found
}
