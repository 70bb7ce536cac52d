package daemon

import (
	"net/http"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/envoy"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy/dropin"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// newEnvoyAdmin returns the replacement of Envoy's admin server, which does not listen yet.
func (d *daemon) newEnvoyAdmin(identity *envoy.Identity) *envoy.Admin {
	page := sync.OnceValue(d.metricsHandler)
	metrics := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page().ServeHTTP(w, r) })
	shown := &envoyDaemon{
		lifecycle: &d.lifecycle, client: d.controlPlane.get, proxy: func() *proxy.Proxy { return d.proxy },
	}
	return envoy.NewAdmin(shown, identity, metrics, d.log.Logger)
}

// envoyDaemon is the daemon's side of [envoy.Admin].
type envoyDaemon struct {
	lifecycle *lifecycle
	client    func() *xds.Client
	proxy     func() *proxy.Proxy // there is one once Envoy's admin server listens
}

var _ envoy.Daemon = (*envoyDaemon)(nil)

// State returns the phase as Envoy's state.
func (e *envoyDaemon) State() dropin.State {
	switch e.lifecycle.phase() {
	case starting:
		return dropin.PreInitializing
	case serving, reloading:
		return dropin.Live
	}
	return dropin.Draining
}

// Started returns the start time of the process.
func (e *envoyDaemon) Started() time.Time { return e.lifecycle.began }

// Loops returns the number of loops.
func (e *envoyDaemon) Loops() int { return len(e.proxy().Loops()) }

// Listeners returns a reading of the listeners in force.
func (e *envoyDaemon) Listeners() []envoy.Listener {
	var all []envoy.Listener
	for _, l := range e.proxy().Stats().Listeners {
		all = append(all, envoy.Listener{Place: l.Address, Current: l.Connections, Accepted: l.Accepted})
	}
	return all
}

// ControlPlane returns a reading of the client of the control plane, if there is one.
func (e *envoyDaemon) ControlPlane() (s stats.ControlPlane, ok bool) {
	client := e.client()
	if client == nil {
		return s, false
	}
	return client.Status(), true
}

// Withdraw makes the process not ready.
func (e *envoyDaemon) Withdraw(who string) error {
	return e.lifecycle.request(drainRequest{who: who, kind: hold})
}

// Restore undoes Withdraw.
func (e *envoyDaemon) Restore(who string) error {
	return e.lifecycle.request(drainRequest{who: who, kind: undo})
}

// Drain begins the drain that ends the process.
func (e *envoyDaemon) Drain(who string) error {
	return e.lifecycle.request(drainRequest{who: who, kind: drainNow})
}
