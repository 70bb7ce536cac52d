package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Explain explains what the proxy would do with a connection now.
func (d *adminDaemon) Explain(ctx context.Context, q *admin.ExplanationQuery) (stats.Explanation, error) {
	file := d.planner.InForce()
	if file == nil {
		return stats.Explanation{}, fmt.Errorf("%w: no plan is in force yet", admin.ErrConflict)
	}
	if q.Connection == "" {
		return d.explainClient(q, file)
	}
	if *q != (admin.ExplanationQuery{Connection: q.Connection}) {
		return stats.Explanation{}, errors.New("connection says everything about the client: leave out the rest")
	}
	return d.explainConnection(ctx, q.Connection, file)
}

// explainConnection explains an open connection of this process, or of an old one.
func (d *adminDaemon) explainConnection(
	ctx context.Context, id string, file *plan.File,
) (stats.Explanation, error) {
	own, pid, err := splitID(id)
	if err == nil && pid != 0 {
		old, err := d.predecessors.process(pid)
		if err != nil {
			return stats.Explanation{}, err
		}
		answers, errs := ask(ctx, []*predecessor{old}, admin.GetExplanation, admin.ExplanationQuery{Connection: own})
		if c := answers[0].Connection; c != nil {
			c.ID = remoteID(c.ID, pid)
		}
		return answers[0], errs[0]
	}
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return stats.Explanation{}, fmt.Errorf("%w: connection %q", admin.ErrNotFound, id)
	}
	x, err := d.proxy.ExplainConnection(ctx, number, file)
	if errors.Is(err, proxy.ErrNoConnection) {
		err = fmt.Errorf("%w: connection %q", admin.ErrNotFound, id)
	}
	if err != nil {
		return stats.Explanation{}, err
	}
	return *x, nil
}

// explainClient explains a connection of a client.
func (d *adminDaemon) explainClient(q *admin.ExplanationQuery, file *plan.File) (stats.Explanation, error) {
	text := proxy.ClientText{Listener: q.Listener, From: q.From, Via: q.Via, To: q.To, SNI: q.SNI, TLS: q.TLS}
	if q.ALPN != "" {
		text.ALPN = strings.Split(q.ALPN, ",")
	}
	c, err := text.Parse()
	if err != nil {
		return stats.Explanation{}, err
	}
	x, err := d.proxy.Explain(c, file)
	switch {
	case errors.Is(err, proxy.ErrNoListener) && q.Listener != "":
		return stats.Explanation{}, fmt.Errorf("%w: %w", admin.ErrNotFound, err)
	case err != nil:
		return stats.Explanation{}, err
	}
	return *x, nil
}
