package dropin

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// State is a state of Envoy.
type State string

// The states.
const (
	Live            State = "LIVE"
	Draining        State = "DRAINING"
	PreInitializing State = "PRE_INITIALIZING"
)

// Process is the process behind an admin server.
type Process interface {
	// State returns what it does.
	State() State
	// Info describes it.
	Info() Info
	// Stats returns its statistics by Envoy's names. The caller may change the list.
	Stats() []Stat
	// Withdraw makes it not ready; it still accepts connections. Restore undoes that. Drain makes it not ready, and end
	// with its last connection. They do not block. who is the origin of the request, for people.
	Withdraw(who string) error
	Restore(who string) error
	Drain(who string) error
}

// Info describes a process.
type Info struct {
	Version string
	Uptime  time.Duration
	// Node, Cluster and Zone are those of the node.
	Node, Cluster, Zone string
	// Options are options of the command line by Envoy's names.
	Options map[string]any
}

// handler is the admin server.
type handler struct {
	process Process
	metrics http.Handler
}

// endpoint is a page of the admin server.
type endpoint struct {
	post  bool // it changes something
	serve http.HandlerFunc
	about string
}

// Handler returns the admin server of a process. metrics answers /stats/prometheus.
func Handler(p Process, metrics http.Handler) http.Handler {
	h := &handler{p, metrics}
	all := map[string]endpoint{
		"/ready":            {false, h.ready, "whether the process is ready: 200 and LIVE, or 503"},
		"/server_info":      {false, h.info, "what is known of the process"},
		"/stats":            {false, h.stats, "numbers: format=text|json|prometheus, filter=REGEX"},
		"/stats/prometheus": {false, metrics.ServeHTTP, "reactord's metrics"},
		"/healthcheck/fail": {true, h.change(p.Withdraw), "not ready; connections are accepted nevertheless"},
		"/healthcheck/ok":   {true, h.change(p.Restore), "ready again"},
		"/drain_listeners":  {true, h.drain, "ends when the connections have; with skip_exit as /healthcheck/fail"},
		"/quitquitquit":     {true, h.change(p.Drain), "ends when the connections have, as after SIGTERM"},
	}
	guarded := http.NewCrossOriginProtection()
	return guarded.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := "/" + strings.Trim(r.URL.Path, "/")
		e, ok := all[path]
		switch {
		case !trustsHost(r):
			text(w, http.StatusForbidden, "the host of a request is an IP address or localhost\n")
		case path == "/" || path == "/help":
			text(w, http.StatusOK, help(all))
		case !ok:
			text(w, http.StatusNotFound, "reactord answers here in Envoy's place, and does not have "+clip(path)+".\n"+help(all))
		case e.post && r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			text(w, http.StatusMethodNotAllowed, "Method Not Allowed: use POST")
		case !e.post && r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", http.MethodGet)
			text(w, http.StatusMethodNotAllowed, "Method Not Allowed: use GET")
		default:
			e.serve(w, r)
		}
	}))
}

// trustsHost reports whether no page of another site can have made a request through its reader's browser: the name of
// a site may be given any address, also that of this process. To readiness and metrics on an address that other
// machines reach, clients come by names; changes are asked for by address.
func trustsHost(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	_, err = netip.ParseAddr(host)
	switch at := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return err == nil || host == "localhost" || r.Method != http.MethodPost && !at.IP.IsLoopback()
	default: // a browser reaches a unix socket through ssh only, and names of sites have a dot
		return err == nil || !strings.Contains(host, ".")
	}
}

// order is that of the help.
var order = []string{
	"/drain_listeners", "/healthcheck/fail", "/healthcheck/ok", "/quitquitquit", "/ready", "/server_info", "/stats",
	"/stats/prometheus",
}

func help(all map[string]endpoint) string {
	var out strings.Builder
	for _, path := range order {
		method := http.MethodGet
		if all[path].post {
			method = http.MethodPost
		}
		fmt.Fprintf(&out, "%-4s %-18s %s\n", method, path, all[path].about)
	}
	return out.String()
}

func (h *handler) ready(w http.ResponseWriter, _ *http.Request) {
	state := h.process.State()
	status := http.StatusOK
	if state != Live {
		status = http.StatusServiceUnavailable
	}
	text(w, status, string(state)+"\n")
}

func (h *handler) info(w http.ResponseWriter, _ *http.Request) {
	i := h.process.Info()
	uptime := fmt.Sprintf("%ds", int(i.Uptime.Seconds()))
	answerJSON(w, map[string]any{
		"version": i.Version, "state": h.process.State(), "hot_restart_version": "disabled",
		"uptime_current_epoch": uptime, "uptime_all_epochs": uptime, "command_line_options": i.Options,
		"node": map[string]any{
			"id": i.Node, "cluster": i.Cluster, "locality": map[string]string{"zone": i.Zone}, "user_agent_name": "reactord",
		},
	})
}

// drain answers /drain_listeners. With skip_exit Envoy still accepts, and lives.
func (h *handler) drain(w http.ResponseWriter, r *http.Request) {
	do := h.process.Drain
	if query := r.URL.Query(); query.Has("skip_exit") {
		if !query.Has("graceful") {
			text(w, http.StatusBadRequest, "skip_exit requires graceful")
			return
		}
		do = h.process.Withdraw
	}
	h.change(do)(w, r)
}

// change answers a request that changes something.
func (h *handler) change(do func(who string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 64<<10))
		if err := do("Envoy's admin API: " + clip(r.URL.Path)); err != nil {
			text(w, http.StatusConflict, err.Error()+"\n")
			return
		}
		text(w, http.StatusOK, "OK\n")
	}
}

func text(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=UTF-8")
	h.Set("Cache-Control", "no-cache, max-age=0")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // an error means that the client has gone
}
