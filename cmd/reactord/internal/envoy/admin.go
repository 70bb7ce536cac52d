package envoy

import (
	"cmp"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/envoy/dropin"
	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// Admin answers by HTTP what is asked of an Envoy. Its methods may be called from any goroutine.
type Admin struct {
	identity  *Identity
	bootstrap *dropin.Listeners
	pushed    *dropin.Listeners // by the control plane
	log       *zap.Logger
}

// Daemon is the process that an [Admin] shows and drains. Its methods may be called from any goroutine.
type Daemon interface {
	State() dropin.State
	Started() time.Time
	Loops() int
	// Listeners returns a reading of the listeners in force.
	Listeners() []Listener
	// ControlPlane returns a reading of the client of the control plane, and whether there is one.
	ControlPlane() (stats.ControlPlane, bool)
	// Withdraw makes the process not ready, Restore undoes that, and Drain makes the process end. They do not wait. who is
	// who asks, for people.
	Withdraw(who string) error
	Restore(who string) error
	Drain(who string) error
}

// Listener is a reading of a listener.
type Listener struct {
	Place    string // where it listens, with its scheme
	Current  int64  // connections
	Accepted uint64 // connections, since it began
}

// NewAdmin returns the endpoint of a daemon. It listens nowhere before [Admin.Start]. metrics answers
// /stats/prometheus.
func NewAdmin(d Daemon, i *Identity, metrics http.Handler, log *zap.Logger) *Admin {
	a := &Admin{identity: i, log: log}
	h := dropin.Handler(process{d, a}, metrics)
	a.bootstrap, a.pushed = dropin.NewListeners(h, log), dropin.NewListeners(h, log)
	return a
}

// Start listens on the addresses of the bootstrap, and writes the file with that of the admin server. Without a
// bootstrap it does nothing.
func (a *Admin) Start() error {
	i, log := a.identity, a.log
	b := i.bootstrap
	if b == nil {
		return nil
	}
	for _, text := range b.Warnings {
		log.Warn("bootstrap warning", zap.String("warning", text))
	}
	log.Debug("ignoring fields of the bootstrap", zap.Strings("fields", b.Ignored), zap.Strings("flags", i.flags.Ignored))
	var all []dropin.Listener
	if b.Admin.Network != "" {
		all = append(all, dropin.Listener{Name: "admin", Network: b.Admin.Network, Address: b.Admin.Address})
	}
	for _, l := range b.Listeners {
		all = append(all, dropin.Listener{
			Name: l.Name, Network: l.Address.Network, Address: l.Address.Address, Paths: l.Paths,
		})
	}
	a.bootstrap.Set(all)
	if path := i.flags.AdminAddressPath; path != "" && b.Admin.Network != "" {
		address := b.Admin.Address
		if at := a.bootstrap.Addr("admin"); at != nil {
			address = at.String()
		}
		if err := os.WriteFile(path, []byte(address), 0o644); err != nil { //nolint:gosec // everyone may know the address
			return err
		}
	}
	return nil
}

// Close stops answering, and frees the addresses.
func (a *Admin) Close() {
	a.bootstrap.Close()
	a.pushed.Close()
}

// SetReadyListeners answers the listeners by which a control plane's platform asks whether this process is ready.
func (a *Admin) SetReadyListeners(all []xds.ReadyListener) {
	wanted := make([]dropin.Listener, 0, len(all))
	for _, l := range all {
		wanted = append(wanted, dropin.Listener{
			Name: l.Name, Network: "tcp", Address: l.Address.String(), Paths: map[string]string{l.Path: "/ready"},
		})
	}
	a.pushed.Set(wanted)
}

// process presents a daemon as an Envoy.
type process struct {
	Daemon
	admin *Admin
}

// Info describes the process.
func (p process) Info() dropin.Info {
	b := build.Read()
	i := dropin.Info{
		Version: b.Revision + "/" + likeEnvoy + "/reactord-" + b.Version + "/RELEASE/reactord",
		Uptime:  time.Since(p.Started()), Options: map[string]any{},
	}
	if s, ok := p.ControlPlane(); ok {
		i.Node, i.Cluster, i.Zone = s.Node, s.Cluster, s.Zone
	}
	if f := p.admin.identity.flags; f != nil {
		maps.Copy(i.Options, map[string]any{
			"concurrency": p.Loops(), "config_path": f.ConfigPath, "service_node": f.Node,
			"service_cluster": f.Cluster, "service_zone": f.Zone, "admin_address_path": f.AdminAddressPath, "mode": "Serve",
		})
	}
	return i
}

// stateNumbers are the values of server.state.
var stateNumbers = map[dropin.State]uint64{dropin.Live: 0, dropin.Draining: 1, dropin.PreInitializing: 2}

// Stats returns the statistics that control planes and their helpers read.
func (p process) Stats() (all []dropin.Stat) {
	add := func(name string, value uint64) { all = append(all, dropin.Stat{Name: name, Value: value}) }
	state := p.State()
	add("server.state", stateNumbers[state])
	live := uint64(0)
	if state == dropin.Live {
		live = 1
	}
	add("server.live", live)
	add("server.uptime", uint64(time.Since(p.Started()).Seconds()))
	add("listener_manager.workers_started", 1)
	p.pushes(add)
	p.connections(add)
	slices.SortFunc(all, func(a, b dropin.Stat) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// pushes adds the counters of the control plane.
func (p process) pushes(add func(string, uint64)) {
	s, ok := p.ControlPlane()
	if !ok {
		return
	}
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
func (p process) connections(add func(string, uint64)) {
	listeners := p.Listeners()
	total := uint64(0)
	for _, l := range listeners {
		name := "listener." + dropin.StatName(withoutScheme(l.Place))
		add(name+".downstream_cx_active", uint64(l.Current)) //nolint:gosec // it is not negative
		add(name+".downstream_cx_total", l.Accepted)
		total += uint64(l.Current) //nolint:gosec // likewise
	}
	add("listener.admin.downstream_cx_active", uint64(p.admin.bootstrap.Connections())) //nolint:gosec // likewise
	add("listener_manager.total_listeners_active", uint64(len(listeners)))
	add("server.total_connections", total)
}

// withoutScheme returns where a listener listens.
func withoutScheme(place string) string {
	if _, rest, ok := strings.Cut(place, "://"); ok {
		return rest
	}
	return place
}
