package proxy

import (
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// Preview is a plan that nothing runs by: no socket is open, and no server is checked. Its connections can be
// explained.
type Preview struct{ proxy Proxy }

// NewPreview returns a preview of a plan. health says what checks would have found out. A server that is checked, and
// of which it says nothing, begins as its settings say. from has the live sets; nil: they are empty.
func NewPreview(p *plan.Plan, health upstream.Handover, from *sets.Directory) (*Preview, error) {
	out := &Preview{}
	in := &out.proxy
	in.tickets, in.upstreams = certs.NewTickets(nil), upstream.New(upstream.Config{Inherited: health})
	next := &table{
		plan: p, sets: from, tickets: in.tickets, backends: in.upstreams.Preview(p),
		prefixRates:  limit.NewPrefixes(p.Limits.SourceRate),
		sourceCounts: sourceCount{}.renew(p.Limits.SourceConnections),
	}
	for i := range p.Listeners {
		l := &p.Listeners[i]
		made, err := newSettings(l, next, nil)
		if err != nil {
			return nil, &plan.ListenerError{Listener: l.Name, Err: fmt.Errorf("cannot be previewed: %w", err)}
		}
		s := &sharedListener{key: l.Key(), address: l.Bind, path: l.Path}
		s.settings.Store(made)
		next.listeners = append(next.listeners, s)
	}
	in.limit.Store(int64(p.Limits.MaxConnections))
	in.table.Store(next)
	return out, nil
}

// Explain returns what would happen to a connection of a client, and why: see [Proxy.Explain].
func (p *Preview) Explain(c Client, file *plan.File) (*stats.Explanation, error) {
	return p.proxy.Explain(c, file)
}
