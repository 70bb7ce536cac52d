package proxy

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
)

// stickyTable has the servers that the clients of a backend stay at. It is nil if they do not.
type stickyTable struct {
	servers *limit.Sticky[serveraddr.Addr]
	time    time.Duration
}

// StickySource is a prefix of clients' addresses and the server that it stays at, for the next process: see
// [StickyRecord].
type StickySource struct {
	Backend string          `json:"backend"`
	Source  netip.Addr      `json:"source"` // first address of the prefix
	Server  serveraddr.Addr `json:"server"`
	Unused  int64           `json:"unused,omitempty"` // seconds since its last connection
}

// followSticky makes the table that the settings in force ask for. One that has other prefixes, or another size, begins
// with what the last one knows. It is called when the settings of a backend have changed, or it is new.
func (p *Proxy) followSticky(s *sharedBackend, of *upstream.Backend, now int64) {
	p.backends.mu.Lock()
	defer p.backends.mu.Unlock()
	b, was := &of.Settings().Balance, s.sticky.Load()
	if b.Sticky.Time == 0 {
		s.sticky.Store(nil)
		return
	}
	if was != nil && was.time == b.Sticky.Time && was.servers.Is(b.IPv4Prefix, b.IPv6Prefix, b.Sticky.Max) {
		return
	}
	next := &stickyTable{time: b.Sticky.Time}
	if was != nil && was.servers.Is(b.IPv4Prefix, b.IPv6Prefix, b.Sticky.Max) {
		next.servers = was.servers
	} else {
		next.servers = limit.NewSticky[serveraddr.Addr](b.IPv4Prefix, b.IPv6Prefix, b.Sticky.Max)
		if was != nil {
			for r := range was.servers.All(now, next.time) {
				next.servers.Restore(r.Prefix.Addr(), r.Choice, now, r.Unused)
			}
		}
	}
	servers := map[serveraddr.Addr]*serveraddr.Addr{}
	for s := range p.inheritedSticky(of.Name, next.time, now) {
		if next.servers.Find(s.Source, now, next.time) != nil { // it has come meanwhile
			continue
		}
		if servers[s.Server] == nil {
			servers[s.Server] = &s.Server
		}
		next.servers.Restore(s.Source, servers[s.Server], now, time.Duration(s.Unused)*time.Second)
	}
	s.sticky.Store(next)
}

// restoreSticky makes the tables of the backends that the previous process knew clients of, before the first connection
// comes: a table may have a million entries.
func (p *Proxy) restoreSticky() {
	known := map[string]bool{}
	for i := range p.sticky {
		known[p.sticky[i].Backend] = true
	}
	for name := range known {
		if b := p.table.Load().backends[name]; b != nil && b.Settings().Balance.Sticky.Time != 0 {
			p.followSticky(p.sharedBackend(b), b, p.now())
		}
	}
}

// inheritedSticky returns what the previous process knew of the clients of a backend, if it is not too old now.
func (p *Proxy) inheritedSticky(backend string, within time.Duration, now int64) iter.Seq[StickySource] {
	return func(yield func(StickySource) bool) {
		if within == 0 {
			return
		}
		passed := now / int64(time.Second) // the clock of the loops began with the process
		for _, s := range p.sticky {
			s.Unused += passed
			if s.Backend == backend && s.Unused <= int64(within/time.Second) && !yield(s) {
				return
			}
		}
	}
}

// find returns the server that a client stays at, or nil.
func (t *stickyTable) find(client netip.Addr, now int64) *serveraddr.Addr {
	if t == nil || !client.IsValid() {
		return nil
	}
	return t.servers.Find(client, now, t.time)
}

// pick picks a server of a group: the one that the client stays at if that may be picked now, or else one by the
// policy. The client stays at that then, unless its own is only full.
func (b *backend) pick(g *upstream.Group, r *balance.Request) (index int, err error) {
	t := b.shared.sticky.Load()
	if t == nil || !r.ClientAddr.IsValid() {
		return b.picker.Pick(g.Group, r)
	}
	now, full := b.worker.loop.Now(), false
	if server := t.find(r.ClientAddr, now); server != nil {
		if i, in := g.Index(*server); in {
			var taken bool
			if taken, full = b.picker.Take(g.Group, i, r); taken {
				t.servers.Use(r.ClientAddr, server, now)
				return i, nil
			}
		}
	}
	if index, err = b.picker.Pick(g.Group, r); err == nil && !full {
		t.servers.Use(r.ClientAddr, g.Servers[index].Key(), now)
	}
	return index, err
}

// choosesByClient reports whether the choice of a server depends on the client's address.
func choosesByClient(b *config.Balance) bool { return b.Policy.Hashes() || b.Sticky.Time != 0 }

// Sticky returns the servers that clients stay at, for the next process. It may be called from any goroutine.
func (p *Proxy) Sticky() (all []StickySource) {
	now := p.now()
	for name, of := range p.table.Load().backends {
		t := p.backends.find(of).stickyTable()
		if t == nil { // it is off, or no client has come
			all = slices.AppendSeq(all, p.inheritedSticky(name, of.Settings().Balance.Sticky.Time, now))
			continue
		}
		for r := range t.servers.All(now, t.time) {
			all = append(all, StickySource{name, r.Prefix.Addr(), *r.Choice, int64(r.Unused / time.Second)})
		}
	}
	return all
}

// stickyTable returns the table of a backend, or nil. It may be called on nil.
func (s *sharedBackend) stickyTable() *stickyTable {
	if s == nil {
		return nil
	}
	return s.sticky.Load()
}
