package proxy

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// ErrNoConnection reports that no open connection has the id.
var ErrNoConnection = errors.New("there is no such connection")

// ExplainConnection returns what an open connection or session has got, and what would happen to one like it now, if
// that is known. Which protocols it has offered is not. If ctx is done first, it returns its error. It may be called
// from any goroutine.
func (p *Proxy) ExplainConnection(ctx context.Context, id uint64, file *plan.File) (*stats.Explanation, error) {
	var (
		like  Client
		of    *sharedListener
		facts *stats.ExplainedConnection
	)
	for _, members := range memberLists {
		err := p.visit(ctx, members, func(m member) bool {
			found := m.common().id == id
			if found && !m.over() { // on one loop
				like, facts = recognize(m)
				of = m.common().listener.shared
			}
			return !found
		})
		if err != nil {
			return nil, err
		}
	}
	if facts == nil {
		return nil, ErrNoConnection
	}
	x, err := (*stats.Explanation)(nil), errListenerGone
	if slices.Contains(p.table.Load().listeners, of) {
		x, err = p.explain(of, like, file, true)
	}
	if err != nil {
		x = &stats.Explanation{
			Listener: like.Listener, Outcome: stats.OutcomeUnknown, Reason: err.Error(), Steps: []stats.ExplainedStep{},
		}
	}
	x.Connection = facts
	return x, nil
}

var errListenerGone = errors.New("the listener has left the plan")

// recognize returns a client like that of a connection or session, and what it has got.
func recognize(m member) (like Client, facts *stats.ExplainedConnection) {
	a := m.common()
	facts = &stats.ExplainedConnection{
		ID: strconv.FormatUint(a.id, 10), Client: m.clientName(), State: m.phaseName(), Backend: a.backendName(),
		Server: a.serverName(),
	}
	if at := a.serverAddr(); at.IsValid() {
		facts.Address = at.String()
	}
	like = Client{Listener: a.listener.name(), Address: m.clientAddr()}
	switch m := m.(type) {
	case *session:
		like.To, facts.Route = m.local, m.route
	case *conn:
		like.To = m.destination()
		if known := m.identity; known != nil {
			if like.Header = known.clientAddr.IsValid(); like.Header {
				like.Peer = m.peerAddr()
			}
			r := m.listener.shared.settings.Load().router
			like.SNI = known.SNI
			like.TLS = known.SNI != "" || known.TLS != nil || r.needsHello && !r.takesRaw
			facts.Route, facts.SNI = known.Route, known.SNI
		}
	}
	return like, facts
}
