package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"go.uber.org/zap"
)

// API is the server of the admin API. Its methods may be called from any goroutine, but one at a time.
type API struct {
	server
	socket  *socket // nil for TCP
	access  config.Admin
	private bool // reachable only by processes of the same upgrade
	daemon  Daemon
	level   zap.AtomicLevel
	slow    *SlowTurns
	openAPI []byte

	passwords passwords
	snapshots shared[sharedSnapshot]
	histories shared[[]byte]
}

const (
	// requestTimeout limits a request. It leaves time to write the answer before writeTimeout.
	requestTimeout = writeTimeout - 5*time.Second
	// maxClients limits the connected clients of the API, and maxScrapers those of the metrics.
	maxClients  = 64
	maxScrapers = 32
)

// ListenAPI binds the address of the admin API, so that errors show early. Clients wait until [API.Serve] is called.
func ListenAPI(cfg config.Admin, log *zap.Logger) (*API, error) {
	a := &API{access: cfg.Access(), server: newServer("admin", nil, cfg.WebConfigFile, maxClients, log)}
	l, err := a.listen(cfg)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	a.listener = l
	return a, nil
}

func (a *API) listen(cfg config.Admin) (net.Listener, error) {
	network, address, err := ParseAddress(cfg.Address)
	if err != nil {
		return nil, err
	}
	if network == "unix" {
		a.socket, err = listenUnix(address, cfg)
		if err != nil {
			return nil, err
		}
		return a.socket, nil
	}
	if cfg.WebConfigFile == "" && !isLoopbackAddress(address) {
		return nil, fmt.Errorf("%q: %w", clip(cfg.Address), errNotLoopback)
	}
	return net.Listen("tcp", address)
}

// Serve starts answering requests for d, and returns. level is that of the log. slow may be nil.
func (a *API) Serve(d Daemon, level zap.AtomicLevel, slow *SlowTurns) {
	a.daemon, a.level, a.slow = d, level, slow
	if a.socket != nil {
		a.socket.owned = true
	}
	a.openAPI = OpenAPI()
	h := a.handler()
	if a.isOpen() {
		h = protected(a.web, h)
	}
	a.serve(h)
}

// isOpen reports whether other machines can reach a.
func (a *API) isOpen() bool {
	return !a.private && a.socket == nil && !isLoopbackAddress(a.listener.Addr().String())
}

// Address returns the address that a listens on, as "unix:///PATH" or "tcp://HOST:PORT".
func (a *API) Address() string {
	if a.socket != nil {
		return "unix://" + a.socket.path
	}
	return "tcp://" + a.listener.Addr().String()
}

// Close stops the server, and removes its unix socket unless that belongs to another process, not taken over yet or
// handed over. Answers in flight have a second to finish.
func (a *API) Close() error {
	if a.socket == nil {
		return a.server.Close()
	}
	return errors.Join(a.socket.remove(), a.server.Close())
}

// handler returns the API with what all requests have in common.
func (a *API) handler() http.Handler {
	byPath := map[string]map[string]route{}
	for _, r := range routes() {
		if byPath[r.path] == nil {
			byPath[r.path] = map[string]route{}
		}
		byPath[r.path][r.method] = r
	}
	mux := http.NewServeMux()
	for path, methods := range byPath {
		mux.Handle(path, a.path(methods))
	}
	mountPage(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		text := fmt.Sprintf("no path %q: /v1/openapi.json lists all", clip(r.URL.Path))
		problem(http.StatusNotFound, text).write(w)
	})
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		problem(http.StatusForbidden, "cross-site requests are refused").write(w)
	}))
	return a.local(protection.Handler(mux))
}

// local refuses requests for other host names: a page whose name resolves to a loopback address must not reach the
// API through its reader's browser. On a unix socket, which browsers reach only through ssh, clients send any word as
// the host; names of sites contain a dot. With TLS, the client has verified the name.
func (a *API) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			next.ServeHTTP(w, r)
			return
		}
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !isLoopback(host) && (a.socket == nil || strings.Contains(host, ".")) {
			problem(http.StatusForbidden, "the Host of a request must be a loopback address or localhost").write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}

// path handles all methods of a path.
func (a *API) path(methods map[string]route) http.Handler {
	allow := allowed(methods)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // package http omits the body
		}
		route, ok := methods[method]
		if !ok {
			w.Header().Set("Allow", allow)
			problem(http.StatusMethodNotAllowed, fmt.Sprintf("%s does not support %s: use %s",
				clip(r.URL.Path), clip(r.Method), allow)).write(w)
			return
		}
		by := a.requester(r)
		err := a.admit(by, &route)
		if err == nil {
			err = a.answer(w, withRequester(r, by), route)
		}
		if err != nil {
			problemOf(err).write(w)
		}
	})
}

// answer decodes the request, calls the handler, and writes its answer.
func (a *API) answer(w http.ResponseWriter, r *http.Request, route route) error {
	in := reflect.New(route.in)
	all := params(route.in)
	for _, p := range all {
		if p.in == "path" {
			if err := p.set(in.Elem(), r.PathValue(p.name)); err != nil {
				return problem(http.StatusBadRequest, err.Error())
			}
		}
	}
	if err := decodeQuery(all, in.Elem(), r.URL.RawQuery); err != nil {
		return problem(http.StatusBadRequest, err.Error())
	}
	var err error
	if body, ok := bodyOf(route.in); ok {
		err = decodeBody(w, r, in.Elem().FieldByIndex(body.Index))
	} else {
		err = refuseBody(w, r)
	}
	if err != nil {
		return err
	}
	return route.serve(a, w, r, in.Interface())
}

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
