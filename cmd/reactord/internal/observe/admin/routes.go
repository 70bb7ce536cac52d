package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// route is an endpoint with its handler.
type route struct {
	method, path, name, doc string
	media                   string // "application/json", or that of a raw answer
	code                    int
	role                    config.Role // that it requires
	in, out                 reflect.Type
	serve                   func(a *API, w http.ResponseWriter, r *http.Request, in any) error
}

// routes returns the table of all endpoints, with the roles that they require. Reading requires the role read.
func routes() []route {
	return []route{
		bind(GetStatus, (*API).status),
		raw(GetSnapshot, (*API).snapshot),
		raw(GetHistory, (*API).history),
		bind(GetPlan, (*API).plan),
		raw(GetConfig, (*API).config),
		bind(ListListeners, (*API).listeners),
		bind(GetExplanation, (*API).explanation),
		bind(ListBackends, (*API).backends),
		bind(PauseBackend, (*API).pauseBackend).needs(config.OperatorRole),
		bind(ResumeBackend, (*API).resumeBackend).needs(config.OperatorRole),
		bind(ListServers, (*API).servers),
		bind(GetServer, (*API).server1),
		bind(SetServer, (*API).setServer).needs(config.OperatorRole),
		bind(ResetServer, (*API).resetServer).needs(config.OperatorRole),
		bind(AddServer, (*API).addServer).needs(config.OperatorRole),
		bind(RemoveServer, (*API).removeServer).needs(config.OperatorRole),
		bind(ListOverrides, (*API).overrides),
		bind(ClearOverrides, (*API).clearOverrides).needs(config.OperatorRole),
		bind(DrainServers, (*API).drainServers).needs(config.OperatorRole),
		bind(UndrainServers, (*API).undrainServers).needs(config.OperatorRole),
		bind(ListConnections, (*API).connections),
		bind(ListSources, (*API).sources),
		bind(CloseConnections, (*API).closeConnections).needs(config.OperatorRole),
		bind(CloseConnection, (*API).closeConnection).needs(config.OperatorRole),
		bind(PostReload, (*API).reload).needs(config.OperatorRole),
		bind(GetDrain, (*API).getDrain),
		bind(PostDrain, (*API).drain).needs(config.OperatorRole),
		bind(DeleteDrain, (*API).undrain).needs(config.OperatorRole),
		bind(PostReopen, (*API).reopen).needs(config.OperatorRole),
		bindSlow(PostUpgrade, (*API).upgrade).needs(config.AdminRole),
		bind(GetLogLevel, (*API).logLevel),
		bind(SetLogLevel, (*API).setLogLevel).needs(config.OperatorRole),
		bind(ListLoops, (*API).loops),
		raw(GetInFlight, (*API).inFlight),
		bind(ListProfiles, (*API).profiles),
		raw(PostProfile, (*API).profile).needs(config.AdminRole),
		bind(ListDiscovery, (*API).discovery),
		bind(GetXDS, (*API).xds),
		bind(ListSets, (*API).sets),
		bind(MatchSets, (*API).matchSets),
		bind(ListSetEntries, (*API).setEntries),
		bind(AddSetEntry, (*API).addSetEntry).needs(config.OperatorRole),
		bind(RemoveSetEntry, (*API).removeSetEntry).needs(config.OperatorRole),
		raw(GetOpenAPI, (*API).serveOpenAPI),
	}
}

// bind returns the route of an endpoint with a JSON answer.
func bind[In, Out any](e Endpoint[In, Out], f func(*API, context.Context, *In) (Out, error)) route {
	r := e.route()
	r.serve = func(a *API, w http.ResponseWriter, req *http.Request, in any) error {
		ctx, cancel := context.WithTimeout(req.Context(), requestTimeout)
		defer cancel()
		return respond(ctx, a, w, &r, in.(*In), f)
	}
	return r
}

// bindSlow binds like [bind], for an endpoint that may take longer than others and limits its own time. It ends when
// the client is gone.
func bindSlow[In, Out any](e Endpoint[In, Out], f func(*API, context.Context, *In) (Out, error)) route {
	r := e.route()
	r.serve = func(a *API, w http.ResponseWriter, req *http.Request, in any) error {
		writing := http.NewResponseController(w)
		if err := writing.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return problem(http.StatusInternalServerError, err.Error())
		}
		defer func() { _ = writing.SetWriteDeadline(time.Now().Add(writeTimeout)) }()
		return respond(req.Context(), a, w, &r, in.(*In), f)
	}
	return r
}

// respond calls the handler of a request, and writes its answer.
func respond[In, Out any](
	ctx context.Context, a *API, w http.ResponseWriter, r *route, in *In, f func(*API, context.Context, *In) (Out, error),
) error {
	out, err := f(a, ctx, in)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(out); err != nil {
		return problem(http.StatusInternalServerError, err.Error())
	}
	write(w, r.code, r.media, text.Bytes())
	return nil
}

// raw returns the route of an endpoint that writes its answer itself.
func raw[In, Out any](e Endpoint[In, Out], f func(*API, http.ResponseWriter, *http.Request, *In) error) route {
	r := e.route()
	r.serve = func(a *API, w http.ResponseWriter, req *http.Request, in any) error { return f(a, w, req, in.(*In)) }
	return r
}

func (e Endpoint[In, Out]) route() route {
	r := route{
		method: e.Method, path: e.Path, name: e.Name, doc: e.Doc, code: e.Code,
		role: config.ReadRole, media: cmp.Or(e.Media, "application/json"),
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
	}
	if r.code == 0 {
		r.code = http.StatusOK
	}
	return r
}

// allowed returns the value of the Allow header.
func allowed(methods map[string]route) string {
	var all []string
	for m := range methods {
		all = append(all, m)
		if m == http.MethodGet {
			all = append(all, http.MethodHead)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (a *API) status(ctx context.Context, _ *None) (Status, error) {
	return a.complete(ctx, a.daemon.Status()), nil
}

// complete adds what the API knows itself, such as the role of who asks.
func (a *API) complete(ctx context.Context, s Status) Status {
	s.LogLevel, s.Role = a.level.Level().String(), string(roleOf(ctx))
	if s.LastReload != nil {
		r := s.LastReload.whole()
		s.LastReload = &r
	}
	return s
}

func (a *API) config(w http.ResponseWriter, _ *http.Request, _ *None) error {
	write(w, http.StatusOK, GetConfig.Media, a.daemon.Config())
	return nil
}

func (a *API) plan(context.Context, *None) (Plan, error) {
	p := a.daemon.Plan()
	p.Listeners, p.Backends = list(p.Listeners), list(p.Backends)
	for i := range p.Backends {
		p.Backends[i].Servers = list(p.Backends[i].Servers)
	}
	return p, nil
}

func (a *API) listeners(context.Context, *None) (Listeners, error) {
	return Listeners{list(a.daemon.Listeners())}, nil
}

func (a *API) explanation(ctx context.Context, q *ExplanationQuery) (stats.Explanation, error) {
	return a.daemon.Explain(ctx, q)
}

func (a *API) backends(context.Context, *None) (Backends, error) {
	return Backends{list(a.daemon.Backends())}, nil
}

// The time that a pause lasts unless a request says another one, and the longest.
const (
	defaultPause = 5 * time.Minute
	longestPause = 24 * time.Hour
)

func (a *API) pauseBackend(ctx context.Context, q *PauseQuery) (stats.Backend, error) {
	length := cmp.Or(q.For, defaultPause)
	if length < time.Second || length > longestPause {
		return stats.Backend{}, problem(http.StatusBadRequest, "for is out of range: write 1s to 24h")
	}
	if err := a.daemon.PauseBackend(ctx, q.Backend, length); err != nil {
		return stats.Backend{}, err
	}
	a.log.Info("admin: backend paused", zap.String("backend", q.Backend), zap.Duration("for", length))
	return a.backend1(q.Backend)
}

func (a *API) resumeBackend(ctx context.Context, k *BackendKey) (stats.Backend, error) {
	if err := a.daemon.ResumeBackend(ctx, k.Backend); err != nil {
		return stats.Backend{}, err
	}
	a.log.Info("admin: backend resumed", zap.String("backend", k.Backend))
	return a.backend1(k.Backend)
}

// backend1 returns one backend.
func (a *API) backend1(name string) (stats.Backend, error) {
	for _, b := range a.daemon.Backends() {
		if b.Name == name {
			return b, nil
		}
	}
	return stats.Backend{}, fmt.Errorf("%w: backend %q", ErrNotFound, clip(name))
}

func (a *API) servers(_ context.Context, q *ServerQuery) (Servers, error) {
	all := list(a.daemon.Servers())
	if q.Backend != "" {
		all = slices.DeleteFunc(all, func(s stats.Server) bool { return s.Backend != q.Backend })
		if len(all) == 0 && !a.hasBackend(q.Backend) {
			return Servers{}, fmt.Errorf("%w: backend %q", ErrNotFound, clip(q.Backend))
		}
	}
	return Servers{all}, nil
}

func (a *API) hasBackend(name string) bool {
	return slices.ContainsFunc(a.daemon.Backends(), func(b stats.Backend) bool { return b.Name == name })
}

// server1 returns one server.
func (a *API) server1(_ context.Context, k *ServerKey) (stats.Server, error) {
	for _, s := range a.daemon.Servers() {
		if s.Backend == k.Backend && (s.Name == k.Server || s.Address == k.Server) {
			return s, nil
		}
	}
	if !a.hasBackend(k.Backend) {
		return stats.Server{}, fmt.Errorf("%w: backend %q", ErrNotFound, clip(k.Backend))
	}
	return stats.Server{}, fmt.Errorf("%w: server %q of backend %s", ErrNotFound, clip(k.Server), k.Backend)
}

// defaultPage is the default limit on connections in an answer.
const defaultPage = 1000

func (a *API) connections(ctx context.Context, q *ConnectionQuery) (Connections, error) {
	limit := q.Limit
	if limit == 0 {
		limit = defaultPage
	}
	page, next, err := a.daemon.Connections(ctx, &q.Filter, q.After, limit, q.TCP)
	return Connections{list(page), next}, err
}

// defaultSources is the default limit on sources in an answer.
const defaultSources = 20

func (a *API) sources(ctx context.Context, q *SourceQuery) (stats.ClientSources, error) {
	if q.Limit == 0 {
		q.Limit = defaultSources
	}
	out, err := a.daemon.Sources(ctx, q)
	out.Sources = list(out.Sources)
	return out, err
}

func (a *API) closeConnections(ctx context.Context, q *CloseQuery) (Closed, error) {
	if q.All == (q.Filter != Filter{}) {
		return Closed{}, problem(http.StatusBadRequest, "say which connections to close: give at least one parameter "+
			"such as listener or client, or all=true")
	}
	n, err := a.daemon.CloseConnections(ctx, &q.Filter)
	if err == nil {
		a.log.Info("admin: connections closed", zap.Int("connections", n))
	}
	return Closed{n}, err
}

func (a *API) closeConnection(ctx context.Context, k *ConnectionKey) (Closed, error) {
	if err := a.daemon.CloseConnection(ctx, k.ID); err != nil {
		return Closed{}, err
	}
	a.log.Info("admin: connection closed", zap.String("id", clip(k.ID)))
	return Closed{1}, nil
}

func (a *API) reload(ctx context.Context, _ *None) (Reload, error) {
	r, err := a.daemon.Reload(ctx)
	return r.whole(), err
}

// whole replaces null by empty lists in r.
func (r Reload) whole() Reload {
	r.Changes, r.Errors = list(r.Changes), list(r.Errors)
	return r
}

func (a *API) getDrain(context.Context, *None) (Drain, error) {
	s := a.daemon.Status()
	if s.Drain != nil {
		return *s.Drain, nil
	}
	return Drain{Phase: Serving, Connections: s.Connections}, nil
}

func (a *API) drain(ctx context.Context, q *DrainQuery) (Drain, error) {
	if err := a.daemon.Drain(q.Hold); err != nil {
		return Drain{}, err
	}
	return a.getDrain(ctx, nil)
}

func (a *API) undrain(ctx context.Context, _ *None) (Drain, error) {
	if err := a.daemon.Undrain(); err != nil {
		return Drain{}, err
	}
	return a.getDrain(ctx, nil)
}

func (a *API) reopen(context.Context, *None) (None, error) {
	a.daemon.ReopenAccessLog()
	return None{}, nil
}

func (a *API) upgrade(ctx context.Context, _ *None) (Upgrade, error) {
	pid, err := a.daemon.Upgrade(ctx)
	return Upgrade{pid}, err
}

func (a *API) logLevel(context.Context, *None) (LogLevel, error) {
	return LogLevel{a.level.Level().String()}, nil
}

func (a *API) setLogLevel(ctx context.Context, u *LogLevelUpdate) (LogLevel, error) {
	level, err := zapcore.ParseLevel(u.Body.Level)
	if err != nil {
		return LogLevel{}, err
	}
	a.level.SetLevel(level)
	a.log.Log(max(level, zapcore.InfoLevel), "admin: log level set", zap.Stringer("level", level))
	return a.logLevel(ctx, nil)
}

func (a *API) xds(context.Context, *None) (stats.ControlPlane, error) {
	x, err := a.daemon.XDS()
	x.Resources = list(x.Resources)
	return x, err
}

func (a *API) discovery(context.Context, *None) (Discovery, error) {
	return Discovery{list(a.daemon.Discovery())}, nil
}

func (a *API) serveOpenAPI(w http.ResponseWriter, _ *http.Request, _ *None) error {
	write(w, http.StatusOK, GetOpenAPI.Media, a.openAPI)
	return nil
}

// list returns l, or an empty list instead of null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
