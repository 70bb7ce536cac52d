package proxy

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// SourceQuery says which sources are listed.
type SourceQuery struct {
	Listener string // "": all
	Sort     string // a key of sourceOrders, or "" for connections
	Limit    int    // sources at most; 0: all
}

// sourceOrders are the values by which sources are sorted.
var sourceOrders = map[string]func(*sourceUsage) uint64{
	"connections": func(u *sourceUsage) uint64 { return uint64(u.open) },
	"accepted":    func(u *sourceUsage) uint64 { return u.accepted },
	"bytes":       func(u *sourceUsage) uint64 { return u.bytes[client] + u.bytes[server] },
	"rejected":    func(u *sourceUsage) uint64 { return u.refused[limit.ByConnections] + u.refused[limit.ByRate] },
}

// sourceKey identifies a source of a listener, or of the process if that is nil.
type sourceKey struct {
	listener *sharedListener
	prefix   netip.Prefix // zero: clients have no address
}

// sourceUsage is what the connections of a source take, and have taken as far as it is tracked.
type sourceUsage struct {
	sourceKey
	open     int
	accepted uint64
	bytes    [2]uint64
	refused  [2]uint64 // by [limit.SourceLimit]
}

// maxListedSources bounds the sources of open connections that a loop collects for an answer.
const maxListedSources = 1 << 16

// collectedSources is what a loop collects of its open connections.
type collectedSources struct {
	usage    map[sourceKey]*sourceUsage
	unlisted int
}

func (c *collectedSources) add(m member) {
	s := m.common().listener.shared
	key := sourceKey{listener: s}
	if of, a := &s.settings.Load().SourceConnections, m.clientAddr().Addr(); a.IsValid() {
		key.prefix = limit.PrefixOf(a, of.IPv4Prefix, of.IPv6Prefix)
	}
	u := c.usage[key]
	if u == nil {
		if len(c.usage) == maxListedSources {
			c.unlisted++
			return
		}
		u = &sourceUsage{sourceKey: key}
		c.usage[key] = u
	}
	u.open++
	bytes := m.moved()
	u.bytes[client] += bytes[client]
	u.bytes[server] += bytes[server]
}

// Sources lists the sources of clients with the most connections, or with the most of what the query says. What is open
// is counted by the loops, what has been comes from the tables of source_connections. If ctx is done first, it returns
// its error. It may be called from any goroutine.
func (p *Proxy) Sources(ctx context.Context, q SourceQuery) (out stats.ClientSources, err error) {
	found := make([]collectedSources, len(p.workers)) // each by its own loop
	for i := range found {
		found[i].usage = map[sourceKey]*sourceUsage{}
	}
	for _, members := range memberLists {
		err := p.visit(ctx, members, func(m member) bool {
			if l := m.common().listener; !m.over() && !m.awaitsHeader() && (q.Listener == "" || q.Listener == l.name()) {
				found[l.worker.index].add(m)
			}
			return true
		})
		if err != nil {
			return out, err
		}
	}
	all := found[0].usage
	usageOf := func(key sourceKey) *sourceUsage {
		u := all[key]
		if u == nil {
			u = &sourceUsage{sourceKey: key}
			all[key] = u
		}
		return u
	}
	for i, of := range found {
		out.Unlisted += of.unlisted
		if i == 0 {
			continue
		}
		for key, own := range of.usage {
			u := usageOf(key)
			u.open += own.open
			u.bytes[client] += own.bytes[client]
			u.bytes[server] += own.bytes[server]
		}
	}
	t := p.table.Load()
	for _, s := range t.listeners {
		if in := s.settings.Load(); in.sourceCounts[1].table != nil && (q.Listener == "" || q.Listener == in.Name) {
			for r := range in.sourceCounts[1].table.All() {
				usageOf(sourceKey{s, r.Prefix}).note(&r)
			}
		}
	}
	if n := t.sourceCounts; n.table != nil && q.Listener == "" {
		for r := range n.table.All() {
			u := usageOf(sourceKey{nil, r.Prefix})
			u.open += r.Connections
			u.note(&r)
		}
	}
	out.Total = len(all)
	out.Sources = p.topSources(all, q)
	return out, nil
}

// note adds what the table has of a source, beside what is open.
func (u *sourceUsage) note(r *limit.SourceReading) {
	u.accepted += r.Accepted
	for i := range u.bytes {
		u.bytes[i] += r.Bytes[i]
		u.refused[i] += r.Refused[i]
	}
}

// topSources returns the first sources in the order of a query.
func (p *Proxy) topSources(all map[sourceKey]*sourceUsage, q SourceQuery) []stats.ClientSource {
	by := sourceOrders[cmp.Or(q.Sort, "connections")]
	sorted := make([]*sourceUsage, 0, len(all))
	for _, u := range all {
		sorted = append(sorted, u)
	}
	slices.SortFunc(sorted, func(a, b *sourceUsage) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(b.open, a.open), cmp.Compare(b.accepted, a.accepted),
			a.prefix.Addr().Compare(b.prefix.Addr()), strings.Compare(a.listenerName(), b.listenerName()))
	})
	if q.Limit > 0 && len(sorted) > q.Limit {
		sorted = sorted[:q.Limit]
	}
	out := make([]stats.ClientSource, len(sorted))
	for i, u := range sorted {
		out[i] = p.describeSource(u)
	}
	return out
}

func (k *sourceKey) listenerName() string {
	if k.listener == nil {
		return ""
	}
	return k.listener.settings.Load().Name
}

// describeSource describes a source for people.
func (p *Proxy) describeSource(u *sourceUsage) stats.ClientSource {
	out := stats.ClientSource{
		Source: "unix", Listener: u.listenerName(), Connections: u.open, Accepted: u.accepted,
		ReceivedBytes: u.bytes[client], SentBytes: u.bytes[server],
		Rejected: stats.Tally[stats.Count]{
			{Reason: rejectionReasons[rejectSource], Count: u.refused[limit.ByConnections]},
			{Reason: rejectionReasons[rejectPrefix], Count: u.refused[limit.ByRate]},
		},
	}
	if !u.prefix.IsValid() {
		return out
	}
	out.Source = u.prefix.String()
	t := p.table.Load()
	counts, rates := t.sourceCounts, t.prefixRates
	if u.listener != nil {
		s := u.listener.settings.Load()
		counts, rates = s.sourceCounts[1], s.prefixRates[1]
	}
	address := u.prefix.Addr()
	if u.listener != nil {
		out.Server = p.stickyServerOf(u)
	}
	if counts.table != nil {
		out.Limit = counts.most
		if counts.table.Connections(address) >= counts.most {
			out.Limited = append(out.Limited, rejectionReasons[rejectSource])
		}
	}
	if rates != nil && rates.Prefix(address).Bits() <= u.prefix.Bits() && rates.Exhausted(address, p.now()) {
		out.Limited = append(out.Limited, rejectionReasons[rejectPrefix])
	}
	return out
}

// stickyServerOf returns the address of the server that the clients of a source stay at, or "".
func (p *Proxy) stickyServerOf(u *sourceUsage) string {
	of := p.table.Load().backends[u.listener.settings.Load().Backend]
	if of == nil {
		return ""
	}
	t := p.backends.find(of).stickyTable()
	if t == nil || t.servers.Prefix(u.prefix.Addr()).Bits() > u.prefix.Bits() {
		return "" // the source may have several
	}
	if server := t.find(u.prefix.Addr(), p.now()); server != nil {
		return server.String()
	}
	return ""
}

// now returns the time on the clock of the loops, on any thread. In a preview it is 0.
func (p *Proxy) now() int64 {
	if len(p.workers) == 0 {
		return 0
	}
	return p.workers[0].loop.Clock()
}
