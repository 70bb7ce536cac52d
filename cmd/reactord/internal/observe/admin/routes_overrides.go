package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

func (a *API) setServer(ctx context.Context, u *ServerUpdate) (out stats.Server, err error) {
	c := &u.Body
	if *c == (ServerChange{}) {
		return out, problem(http.StatusBadRequest,
			"the body changes nothing: set state, weight, max_connections or health")
	}
	if c.For != nil {
		if c.Health == nil || *c.Health == "auto" {
			return out, problem(http.StatusBadRequest, "for requires health up or down")
		}
		if d, err := parseDuration(*c.For); err != nil || d <= 0 {
			return out, problem(http.StatusBadRequest, fmt.Sprintf("for is %q: write a duration such as 10m", clip(*c.For)))
		}
	}
	if err := a.daemon.SetServer(ctx, u.Backend, u.Server, u.Body, whoOf(ctx)); err != nil {
		return out, err
	}
	fields := serverFields(ctx, u.Backend, u.Server)
	for _, f := range []struct {
		name  string
		value *string
	}{{"state", c.State}, {"health", c.Health}, {"for", c.For}} {
		if f.value != nil {
			fields = append(fields, zap.String(f.name, *f.value))
		}
	}
	if c.Weight != nil {
		fields = append(fields, zap.Int("weight", *c.Weight))
	}
	if c.MaxConnections != nil {
		fields = append(fields, zap.Int("max_connections", *c.MaxConnections))
	}
	a.log.Info("admin: server set", fields...)
	return a.server1(ctx, &u.ServerKey)
}

// serverFields returns the fields of a line of the log about a server.
func serverFields(ctx context.Context, backend, server string) []zap.Field {
	return []zap.Field{zap.String("backend", clip(backend)), zap.String("server", clip(server)), whoField(ctx)}
}

func (a *API) resetServer(ctx context.Context, k *ServerKey) (stats.Server, error) {
	if err := a.daemon.ResetServer(ctx, k.Backend, k.Server); err != nil {
		return stats.Server{}, err
	}
	a.log.Info("admin: server reset", serverFields(ctx, k.Backend, k.Server)...)
	return a.server1(ctx, k)
}

func (a *API) addServer(ctx context.Context, s *ServerAddition) (stats.Server, error) {
	if err := a.daemon.AddServer(ctx, s.Backend, &s.Body, whoOf(ctx)); err != nil {
		return stats.Server{}, err
	}
	a.log.Info("admin: server added", append(serverFields(ctx, s.Backend, s.Body.Name),
		zap.String("address", clip(s.Body.Address)))...)
	return a.server1(ctx, &ServerKey{Backend: s.Backend, Server: s.Body.Address})
}

func (a *API) removeServer(ctx context.Context, k *ServerKey) (None, error) {
	err := a.daemon.RemoveServer(ctx, k.Backend, k.Server, whoOf(ctx))
	if err == nil {
		a.log.Info("admin: server removed", serverFields(ctx, k.Backend, k.Server)...)
	}
	return None{}, err
}

func (a *API) overrides(context.Context, *None) (Overrides, error) {
	all := a.daemon.Overrides()
	return Overrides{list(all.Servers), list(all.Drains)}, nil
}

func (a *API) clearOverrides(ctx context.Context, q *ClearQuery) (Cleared, error) {
	if q.All == (q.Backend != "") {
		return Cleared{}, problem(http.StatusBadRequest, "say which overrides to clear: give backend, or all=true")
	}
	n, err := a.daemon.ClearOverrides(ctx, q.Backend)
	if err == nil {
		a.log.Info("admin: overrides cleared", zap.String("backend", clip(q.Backend)), zap.Int("overrides", n), whoField(ctx))
	}
	return Cleared{n}, err
}

func (a *API) drainServers(ctx context.Context, in *DrainServersBody) (Overrides, error) {
	if err := a.daemon.DrainServers(ctx, &in.Body, whoOf(ctx)); err != nil {
		return Overrides{}, err
	}
	a.log.Info("admin: servers drain", drainFields(ctx, &in.Body)...)
	return a.overrides(ctx, nil)
}

func (a *API) undrainServers(ctx context.Context, d *DrainedServers) (Overrides, error) {
	if err := a.daemon.UndrainServers(ctx, d); err != nil {
		return Overrides{}, err
	}
	a.log.Info("admin: servers drain no longer", drainFields(ctx, d)...)
	return a.overrides(ctx, nil)
}

func drainFields(ctx context.Context, d *DrainedServers) []zap.Field {
	return []zap.Field{
		zap.String("backend", clip(d.Backend)), zap.String("locality", clip(d.Locality)),
		zap.String("network", clip(d.Network)), whoField(ctx),
	}
}
