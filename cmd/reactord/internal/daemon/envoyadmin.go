package daemon

import (
	"net/http"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/envoy"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy/dropin"
	"github.com/reactord/reactord/cmd/reactord/internal/xds"
)

// newEnvoyAdmin returns what stands in for Envoy's admin server. Nothing listens yet.
func (d *daemon) newEnvoyAdmin() *envoy.Admin {
	page := sync.OnceValue(d.metricsHandler)
	return envoy.NewAdmin(envoyDaemon{d}, d.identity, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page().ServeHTTP(w, r)
	}), d.log.Logger)
}

// envoyDaemon is the daemon as [envoy.Admin] sees it.
type envoyDaemon struct{ daemon *daemon }

var _ envoy.Daemon = envoyDaemon{}

// State returns the phase in Envoy's words.
func (e envoyDaemon) State() dropin.State {
	switch phase(e.daemon.phase.Load()) {
	case starting:
		return dropin.PreInitializing
	case serving, reloading:
		return dropin.Live
	}
	return dropin.Draining
}

// Started returns when the process began.
func (e envoyDaemon) Started() time.Time { return e.daemon.began }

// Loops returns how many I/O threads there are.
func (e envoyDaemon) Loops() int { return len(e.daemon.proxy.Loops()) }

// Listeners returns a reading of the listeners in force.
func (e envoyDaemon) Listeners() []envoy.Listener {
	stats, places := e.daemon.proxy.Stats().Listeners, e.daemon.proxy.Places()
	all := make([]envoy.Listener, min(len(stats), len(places))) // a listener may have come meanwhile
	for i := range all {
		all[i] = envoy.Listener{Place: places[i], Current: stats[i].Current, Accepted: stats[i].Accepted}
	}
	return all
}

// ControlPlane returns a reading of the client of the control plane, if there is one.
func (e envoyDaemon) ControlPlane() (s xds.Status, ok bool) {
	client := e.daemon.xds.get()
	if client == nil {
		return s, false
	}
	return client.Status(), true
}

// Withdraw makes the process not ready.
func (e envoyDaemon) Withdraw(who string) error {
	return e.daemon.request(withdrawal{who: who, kind: hold})
}

// Restore undoes that.
func (e envoyDaemon) Restore(who string) error {
	return e.daemon.request(withdrawal{who: who, kind: undo})
}

// Drain makes the process end.
func (e envoyDaemon) Drain(who string) error {
	return e.daemon.request(withdrawal{who: who, kind: drainNow})
}
