package main

import (
	"maps"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/cmd/reactord/internal/xds"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/bootstrap"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/dropin"
	"github.com/reactord/reactord/metrics"
	"go.uber.org/zap"
)

// standIn answers by HTTP what is asked of an Envoy. Its methods may be called from any goroutine.
type standIn struct {
	admin  *dropin.Listeners // of the bootstrap
	pushed *dropin.Listeners // of the control plane
}

// makeStandIn makes what answers in an Envoy's place. Nothing listens yet.
func (d *daemon) makeStandIn() standIn {
	page := sync.OnceValue(d.metricsHandler)
	admin := dropin.Handler(envoyProcess{d}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page().ServeHTTP(w, r)
	}))
	return standIn{dropin.NewListeners(admin, d.log.Logger), dropin.NewListeners(admin, d.log.Logger)}
}

// metricsHandler is the page of the metrics.
func (d *daemon) metricsHandler() http.Handler {
	return metrics.Handler(metrics.NewLoops(d.proxy.Loops()),
		proxymetrics.NewCollector(d.stats), proxymetrics.NewBuildInfo(), proxymetrics.NewReloads(d.reloads),
		proxymetrics.NewDiscovery(d.discoveryStats), proxymetrics.NewProcess(d.processStats),
		proxymetrics.NewXDS(d.xds.stats, xds.States()), proxymetrics.NewListenQueues(),
		proxymetrics.NewPredecessors(d.predecessorStats))
}

// start has the addresses of the bootstrap answer, and writes the file with that of the admin server. Without a
// bootstrap there are none.
func (s standIn) start(i *identity, log *zap.Logger) error {
	b := i.bootstrap
	if b == nil {
		return nil
	}
	for _, text := range b.Warnings {
		log.Warn("the bootstrap is unusual", zap.String("warning", text))
	}
	log.Debug("ignored of the bootstrap", zap.Strings("fields", b.Ignored), zap.Strings("flags", i.flags.Ignored))
	var all []dropin.Listener
	if b.Admin.Network != "" {
		all = append(all, dropin.Listener{Name: "admin", Network: b.Admin.Network, Address: b.Admin.Address})
	}
	for _, l := range b.Listeners {
		all = append(all, dropin.Listener{
			Name: l.Name, Network: l.Address.Network, Address: l.Address.Address, Paths: l.Paths,
		})
	}
	s.admin.Set(all)
	if path := i.flags.AdminAddressPath; path != "" && b.Admin.Network != "" {
		address := b.Admin.Address
		if a := s.admin.Addr("admin"); a != nil {
			address = a.String()
		}
		if err := os.WriteFile(path, []byte(address), 0o644); err != nil { //nolint:gosec // everyone may know the address
			return err
		}
	}
	return nil
}

// close ends all of it: the addresses are free then.
func (s standIn) close() {
	s.admin.Close()
	s.pushed.Close()
}

// readyListeners answers the listeners by which a control plane's platform asks whether this process is ready.
func (d *daemon) readyListeners(all []xds.ReadyListener) {
	wanted := make([]dropin.Listener, 0, len(all))
	for _, l := range all {
		wanted = append(wanted, dropin.Listener{
			Name: l.Name, Network: "tcp", Address: l.Address.String(), Paths: map[string]string{l.Path: "/ready"},
		})
	}
	d.standIn.pushed.Set(wanted)
}

// envoyProcess is the daemon as Envoy's admin server shows it.
type envoyProcess struct{ daemon *daemon }

// State is the phase in Envoy's words.
func (p envoyProcess) State() dropin.State {
	switch phase(p.daemon.phase.Load()) {
	case starting:
		return dropin.PreInitializing
	case serving, reloading:
		return dropin.Live
	}
	return dropin.Draining
}

// Info is what is known of the process.
func (p envoyProcess) Info() dropin.Info {
	b := proxymetrics.ReadBuild()
	i := dropin.Info{
		Version: b.Revision + "/" + likeEnvoy + "/reactord-" + b.Version + "/RELEASE/reactord",
		Uptime:  time.Since(p.daemon.began), Options: map[string]any{},
	}
	if client := p.daemon.xds.get(); client != nil {
		s := client.Status()
		i.Node, i.Cluster, i.Zone = s.Node, s.Cluster, s.Zone
	}
	if f := p.daemon.conf.identity.flags; f != nil {
		maps.Copy(i.Options, map[string]any{
			"concurrency": len(p.daemon.proxy.Loops()), "config_path": f.ConfigPath, "service_node": f.Node,
			"service_cluster": f.Cluster, "service_zone": f.Zone, "admin_address_path": f.AdminAddressPath, "mode": "Serve",
		})
	}
	return i
}

// states are the numbers of Envoy's states.
var states = map[dropin.State]uint64{dropin.Live: 0, dropin.Draining: 1, dropin.PreInitializing: 2}

// Stats are the numbers that control planes and their helpers ask for.
func (p envoyProcess) Stats() (all []dropin.Stat) {
	add := func(name string, value uint64) { all = append(all, dropin.Stat{Name: name, Value: value}) }
	state := p.State()
	add("server.state", states[state])
	live := uint64(0)
	if state == dropin.Live {
		live = 1
	}
	add("server.live", live)
	add("server.uptime", uint64(time.Since(p.daemon.began).Seconds()))
	add("listener_manager.workers_started", 1)
	p.pushes(add)
	p.connections(add)
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name }) // smaller than slices.SortFunc
	return all
}

// pushes adds what the control plane has sent.
func (p envoyProcess) pushes(add func(string, uint64)) {
	client := p.daemon.xds.get()
	if client == nil {
		return
	}
	s := client.Status()
	connected := uint64(0)
	if s.Connected {
		connected = 1
	}
	add("control_plane.connected_state", connected)
	for _, t := range s.Types {
		name := map[string]string{"cluster": "cluster_manager.cds.", "listener": "listener_manager.lds."}[t.Type]
		if name == "" {
			continue
		}
		add(name+"update_attempt", t.Pushes)
		add(name+"update_success", t.Pushes-min(t.Refusals, t.Pushes))
		add(name+"update_rejected", t.Refusals)
	}
}

// connections adds those of listeners. The admin server is a listener of Envoy's, so that there is always one.
func (p envoyProcess) connections(add func(string, uint64)) {
	listeners, places := p.daemon.proxy.Stats().Listeners, p.daemon.proxy.Places()
	total := uint64(0)
	for i, l := range listeners {
		if i >= len(places) {
			break // a listener has come meanwhile
		}
		name := "listener." + dropin.StatName(place(places[i]))
		add(name+".downstream_cx_active", uint64(l.Current)) //nolint:gosec // it is not negative
		add(name+".downstream_cx_total", l.Accepted)
		total += uint64(l.Current) //nolint:gosec // likewise
	}
	add("listener.admin.downstream_cx_active", uint64(p.daemon.standIn.admin.Connections())) //nolint:gosec // likewise
	add("listener_manager.total_listeners_active", uint64(len(listeners)))
	add("server.total_connections", total)
}

// place is where a listener listens, without a scheme.
func place(of string) string {
	if _, rest, ok := strings.Cut(of, "://"); ok {
		return rest
	}
	return of
}

// Withdraw makes the process not ready.
func (p envoyProcess) Withdraw(who string) error {
	return p.daemon.request(withdrawal{who: who, kind: hold})
}

// Restore undoes that.
func (p envoyProcess) Restore(who string) error {
	return p.daemon.request(withdrawal{who: who, kind: undo})
}

// Drain makes the process end.
func (p envoyProcess) Drain(who string) error {
	return p.daemon.request(withdrawal{who: who, kind: drainNow})
}

// ownAddresses returns where the process answers as an Envoy of this bootstrap would.
func (i *identity) ownAddresses() (all []plan.OwnAddress) {
	if i.bootstrap == nil {
		return nil
	}
	add := func(name string, a bootstrap.Address) {
		if at, err := net.ResolveTCPAddr(a.Network, a.Address); err == nil { // not of a unix socket
			all = append(all, plan.OwnAddress{Name: name, At: at.AddrPort()})
		}
	}
	add("the admin API in Envoy's place", i.bootstrap.Admin)
	for _, l := range i.bootstrap.Listeners {
		add("listener "+l.Name+" of the bootstrap", l.Address)
	}
	return all
}
