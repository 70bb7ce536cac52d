package translate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// Type is the kind of a resource.
type Type string

// Types of resources.
const (
	TypeListener  Type = "listener"
	TypeCluster   Type = "cluster"
	TypeEndpoints Type = "endpoints"
	TypeSecret    Type = "secret"
)

// Set is the resources of which a part of the plan is built, by name. It is complete: whatever a listener or cluster
// needs is in it, unless it does not exist.
type Set struct {
	Listeners map[string]*Listener
	Clusters  map[string]*Cluster
	Endpoints map[string]*Endpoints
	Secrets   map[string]*Secret
	// Claims are the claims of Listeners, by name. Of several with one address, or with conflicting demands on a
	// cluster, the one with the best claim is built, or else the first by name.
	Claims map[string]Claim
}

// Claim is the strength of a listener's claim to its address.
type Claim uint8

// Claims, strongest first.
const (
	InForce Claim = iota // in force unchanged
	Changed              // another version is in force
	New
	Removed // in force, but removed by the control plane
)

// Fault is a conflict of a resource with others.
type Fault struct {
	Type Type
	Name string
	Err  error
}

// Error names the resource and what is wrong.
func (f Fault) Error() string { return fmt.Sprintf("%s %s: %v", f.Type, f.Name, f.Err) }

// Build builds a part of the plan: the listeners, and the clusters that they use. Resources with a fault are left
// out. Connections to a cluster that is left out or missing are reset, as in Envoy. Faults are sorted by type and
// name.
func Build(s *Set) (*plan.Control, []Fault) {
	b := &builder{
		set: s,
		control: &plan.Control{
			Servers: map[string][]plan.Server{}, RouteKeys: map[string][]*certs.Server{}, Keys: map[string]*certs.Client{},
		},
		uses: map[string]*demand{}, keys: map[*serverTLS]*tlsTermination{},
	}
	names := sorted(s.Listeners)
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(s.Claims[x], s.Claims[y]) })
	for _, name := range names {
		if err := b.listener(name, s.Listeners[name]); err != nil {
			b.faults = append(b.faults, Fault{TypeListener, name, err})
		}
	}
	slices.SortStableFunc(b.control.Listeners, func(x, y config.Listener) int { // regardless of claims
		return cmp.Compare(x.Name, y.Name)
	})
	for _, name := range sorted(b.uses) {
		if err := b.backend(name, b.uses[name]); err != nil {
			b.faults = append(b.faults, Fault{TypeCluster, name, err})
		}
	}
	b.idle()
	slices.SortStableFunc(b.faults, func(x, y Fault) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Name, y.Name))
	})
	return b.control, b.faults
}

// builder is the state of [Build].
type builder struct {
	set     *Set
	control *plan.Control
	faults  []Fault
	places  []listening
	uses    map[string]*demand             // by cluster
	keys    map[*serverTLS]*tlsTermination // built so far
}

// listening is an address in use.
type listening struct {
	listener string
	place
}

// listener adds a listener for each address of a resource.
func (b *builder) listener(name string, l *Listener) error {
	if l.ready != nil {
		b.control.Ready = append(b.control.Ready, l.ready.address)
		return nil
	}
	if err := b.free(l); err != nil {
		return err
	}
	out, uses := l.config, map[string]demand{}
	var keys []*certs.Server
	if l.datagram != nil {
		out.Backend = l.datagram.cluster
		uses[out.Backend] = demand{hash: l.datagram.hash, datagrams: true}
	} else {
		var err error
		if out.Routes, keys, err = b.routes(l, uses); err != nil {
			return err
		}
	}
	if err := b.use(uses); err != nil {
		return err
	}
	for i, p := range l.places {
		one := out
		one.Name, one.Address, one.Socket = name, p.address, p.socket
		if i > 0 {
			one.Name += " (" + p.address.HostPort() + ")"
		}
		b.places = append(b.places, listening{name, p})
		b.control.Listeners = append(b.control.Listeners, one)
		if len(keys) > 0 {
			b.control.RouteKeys[one.Name] = keys
		}
	}
	return nil
}

// routes returns the routes of a listener with their TLS files, and collects demands on clusters.
func (b *builder) routes(l *Listener, uses map[string]demand) ([]config.Route, []*certs.Server, error) {
	all := l.routes
	if l.bySNI() {
		var err error
		if all, err = routes(l.chains, l.fallback, b.clusters()); err != nil {
			return nil, nil, err
		}
	}
	out, keys := make([]config.Route, len(all)), make([]*certs.Server, len(all))
	some := ""
	for i := range all {
		for _, to := range all[i].Targets() {
			some = cmp.Or(some, to.Backend)
		}
	}
	if some == "" {
		return nil, nil, errors.New("sni_cluster: no cluster has a name that a client could send")
	}
	for i := range all {
		r := all[i]
		if len(r.Targets()) == 0 { // resets connections
			r.Backend = some
		}
		if ch := r.chain; ch != nil && ch.tls != nil {
			e, err := b.terminateTLS(l, ch)
			if err != nil {
				return nil, nil, err
			}
			r.TLS, keys[i] = e.config, e.keys
		}
		for _, to := range r.Targets() {
			u := uses[to.Backend]
			if r.chain != nil {
				u = u.with(r.chain.use)
			}
			u.buffer = l.buffer
			uses[to.Backend] = u
		}
		out[i] = r.Route
	}
	return out, keys, nil
}

// clusters returns the clusters that a client may select by its server name.
func (b *builder) clusters() []string {
	all := sorted(b.set.Clusters)
	return slices.DeleteFunc(all, func(name string) bool { return !isServerName(name) })
}

// terminateTLS returns the TLS termination of a chain.
func (b *builder) terminateTLS(l *Listener, ch *chain) (*tlsTermination, error) {
	if e := b.keys[ch.tls]; e != nil {
		return e, nil
	}
	before, _ := l.made.Load(ch.tls)
	was, _ := before.(*tlsTermination)
	made, err := ch.tls.terminateTLS(b.set, ch.named, was)
	if err != nil {
		return nil, err
	}
	l.made.Store(ch.tls, made)
	e := *made
	if ch.handshake > 0 {
		e.config.HandshakeTimeout = ch.handshake
	}
	b.keys[ch.tls] = &e
	return &e, nil
}

// free reports which other listener, if any, already has an address.
func (b *builder) free(l *Listener) error {
	for i := range l.places {
		for j := range b.places {
			if at := &b.places[j]; l.places[i].overlaps(&at.place) {
				return fmt.Errorf("address %s overlaps %s of listener %s",
					l.places[i].address, at.address, at.listener)
			}
		}
	}
	return nil
}

// use records a listener's demands on clusters, unless they conflict with another listener's.
func (b *builder) use(uses map[string]demand) error {
	for _, name := range sorted(uses) {
		if u := b.uses[name]; u != nil && u.attempts != 0 && uses[name].attempts != 0 && u.attempts != uses[name].attempts {
			return fmt.Errorf("max_connect_attempts: %[3]d for cluster %[1]s conflicts with %[2]d of another listener: "+
				"write the same number", name, uses[name].attempts, u.attempts)
		}
	}
	for name, u := range uses {
		if b.uses[name] == nil {
			b.uses[name] = &demand{}
		}
		*b.uses[name] = b.uses[name].with(u)
	}
	return nil
}

// backend adds the backend of a cluster.
func (b *builder) backend(name string, u *demand) error {
	out := &backend{config: config.NewBackend()}
	out.config.Name, out.config.IdleTimeout = name, 0
	var err error
	if c := b.set.Clusters[name]; c != nil {
		built, fault := c.build(b.set, *u)
		if err = fault; err == nil {
			out = built
		}
	}
	if u.attempts != 0 {
		out.config.Retries = u.attempts - 1
	}
	if u.buffer != 0 {
		out.config.Buffer = min(max(min(out.config.Buffer, config.Size(u.buffer)), minBuffer), maxBuffer)
	}
	b.control.Backends = append(b.control.Backends, out.config)
	b.control.Servers[name] = out.servers
	if out.keys != nil {
		b.control.Keys[name] = out.keys
	}
	return err
}

// idle limits the idle timeouts of routes to those of their backends. A route without one uses the backend's.
func (b *builder) idle() {
	of := map[string]time.Duration{}
	for i := range b.control.Backends {
		of[b.control.Backends[i].Name] = b.control.Backends[i].IdleTimeout
	}
	for i := range b.control.Listeners {
		for j := range b.control.Listeners[i].Routes {
			r := &b.control.Listeners[i].Routes[j]
			for _, to := range r.Targets() {
				if r.IdleTimeout != 0 {
					r.IdleTimeout = lesser(r.IdleTimeout, of[to.Backend])
				}
			}
		}
	}
}

// Bounds of a backend's buffer.
const (
	minBuffer = 4 * config.KiB
	maxBuffer = 16 * config.MiB
)

// sorted returns the names of resources, sorted.
func sorted[R any](all map[string]R) []string { return slices.SortedFunc(maps.Keys(all), cmp.Compare) }
