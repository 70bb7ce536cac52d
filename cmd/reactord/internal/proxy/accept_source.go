package proxy

import (
	"errors"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/internal/intrusive"
	"go.uber.org/zap"
)

// Limits by source apply to the address that is trusted: that of the PROXY header if the peer may send one, and then
// when the header has come; or else that of the peer, when the connection is accepted. A client without an address, of
// a unix socket, has no such limits. What exceeds them is reset, so that no client waits for another one's share.

// sourceCount limits the open connections of each source. The zero sourceCount does not.
type sourceCount struct {
	table *limit.Sources // nil without a limit
	most  int
}

// renew returns what a setting asks for, with the same table as before if it counts the same prefixes.
func (n sourceCount) renew(counts config.SourceConnections) sourceCount {
	return sourceCount{table: n.table.Renew(counts), most: counts.Max}
}

// sourceHolds counts a connection or session in the tables of the process and of its listener.
type sourceHolds [2]limit.Source

// release ends the counting, and adds the bytes of a connection that has ended to what its source has moved.
func (h *sourceHolds) release(moved [2]uint64) {
	for i := range h {
		h[i].Ended(moved)
		h[i].Release()
		h[i] = limit.Source{}
	}
}

// holdSources makes an association count in the tables until [association.releaseSources].
func (a *association) holdSources(held sourceHolds) {
	if held != (sourceHolds{}) {
		a.sources = a.worker().sourceHolds.Get()
		*a.sources = held
	}
}

// releaseSources ends the counting of an association that has moved bytes since it was counted.
func (a *association) releaseSources(moved [2]uint64) {
	if a.sources != nil {
		a.sources.release(moved)
		a.worker().sourceHolds.Keep(a.sources)
		a.sources = nil
	}
}

// countsByHeader reports whether a PROXY header has to tell the address that limits by source apply to, if a peer has
// this address. One that has none comes by a unix socket.
func (s *settings) countsByHeader(peer netip.Addr) bool {
	return s.trusted != nil && (!peer.IsValid() || s.trusted.Contains(peer))
}

// sourceRefusal is a limit by source that a connection exceeds, and the prefix that it limits. The zero value: none.
type sourceRefusal struct {
	why    verdict
	source netip.Prefix
}

// takeSource takes what the limits by source ask for one more connection of a client.
func (l *listener) takeSource(s *settings, client netip.Addr) (held sourceHolds, over sourceRefusal) {
	if !client.IsValid() {
		return held, over
	}
	now := l.worker.loop.Now()
	for i, n := range s.sourceCounts {
		if n.table == nil {
			continue
		}
		var ok bool
		if held[i], ok = n.table.Acquire(client, n.most, now); !ok {
			held.release(nothing)
			return held, sourceRefusal{rejectSource, n.table.Prefix(client)}
		}
		if !held[i].Counted() {
			l.sourceUncounted()
		}
	}
	if full := l.takePrefix(s, client); full != nil {
		for i := range held {
			held[i].Refused(limit.ByRate, now)
		}
		held.release(nothing)
		return held, sourceRefusal{rejectPrefix, full.Prefix(client)}
	}
	for i := range held {
		held[i].Accepted(now)
	}
	return held, over
}

// nothing is the bytes of a connection that was not accepted, or that does not end here.
var nothing [2]uint64

// sourceUncounted notes a connection that no table has an entry for.
func (l *listener) sourceUncounted() {
	l.stats.uncounted.Add(1)
	if l.stats.loggedUncounted.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn("source table full: connections of further sources are not limited by source_connections",
			zap.String("listener", l.name()))
	}
}

// countSource counts an open connection or session anew, whatever the limits, in the tables of the plan in force.
func countSource(m member) {
	a := m.common()
	l := a.listener
	a.releaseSources(nothing)
	var held sourceHolds
	for i, t := range [2]*limit.Sources{
		l.worker.proxy.table.Load().sourceCounts.table, l.shared.settings.Load().sourceCounts[1].table,
	} {
		if t == nil {
			continue
		}
		if client := m.clientAddr().Addr(); client.IsValid() {
			held[i], _ = t.Acquire(client, limit.NoMost, a.loop().Now())
		}
	}
	a.holdSources(held)
}

// countPeer counts a connection that was accepted whatever the limits, unless its header has to tell its client.
func (c *conn) countPeer(s *settings) {
	if s.sourceCounts != [2]sourceCount{} && !s.countsByHeader(c.peerAddr().Addr()) {
		countSource(c)
	}
}

// takeSource applies the limits by source to the client of a connection whose PROXY header has come, or that begins
// without one.
func (o *opening) takeSource(client netip.Addr) error {
	c := o.conn
	held, over := c.listener.takeSource(c.listener.shared.settings.Load(), client)
	switch over.why {
	case rejectSource:
		return &refusal{reasonSourceConns, errSourceConns}
	case rejectPrefix:
		return &refusal{reasonSourceRate, errSourceRate}
	}
	c.holdSources(held)
	return nil
}

var (
	errSourceConns = errors.New(rejectionTexts[rejectSource])
	errSourceRate  = errors.New(rejectionTexts[rejectPrefix])
)

// sourceChange says whose open connections a plan counts in other tables.
type sourceChange struct {
	all       bool // the process counts other prefixes
	listeners map[*sharedListener]bool
}

// note notes that a listener counts by other settings.
func (c *sourceChange) note(s *sharedListener, before, after *settings) {
	if before != nil && before.sourceCounts[1].table != after.sourceCounts[1].table {
		if c.listeners == nil {
			c.listeners = map[*sharedListener]bool{}
		}
		c.listeners[s] = true
	}
}

// recountSources counts the open connections anew whose tables a plan has replaced. Until all of them are counted,
// limits are weaker.
func (w *worker) recountSources(c *sourceChange) {
	if !c.all && len(c.listeners) == 0 {
		return
	}
	for _, members := range memberLists {
		w.walk(walkBatch, members.list, func(l *intrusive.Links) bool {
			m := members.of(l)
			a := m.common()
			if (c.all || c.listeners[a.listener.shared]) && !m.over() && !m.awaitsHeader() {
				countSource(m)
			}
			return true
		}, func() {})
	}
}

// awaitsHeader reports whether the client is not known yet.
func (c *conn) awaitsHeader() bool {
	return c.phase == phaseOpening && c.opening.stage == stageHeader && c.opening.settings.expectsHeader()
}

func (x *session) awaitsHeader() bool { return false }
