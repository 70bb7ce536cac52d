package translate

import (
	"cmp"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/listenerpb"
)

// Listener is a listener of a control plane. It does not change.
type Listener struct {
	places   []place         // where it listens, at least one
	config   config.Listener // without a name, an address and routes
	chains   []*chain        // of TCP
	fallback *chain          // nil: connections that no chain takes are reset
	routes   []matched       // of the chains, unless clusters are chosen by their names
	datagram *datagram       // of UDP
	buffer   int             // bytes that a connection may keep; 0: it does not say
	ready    *ready          // it is for readiness; else nil
	remarks  []string

	made *sync.Map // by *serverTLS: the *ending that it became last
}

// ready is where a control plane expects to be told whether the proxy is ready.
type ready struct {
	address netip.AddrPort
	path    string
}

// place is an address to listen on.
type place struct {
	address config.Address
	socket  config.Socket
}

// Envoy's defaults.
const (
	filtersTimeout = 15 * time.Second
	idleTimeout    = time.Hour
	sessionTimeout = time.Minute
)

// forEver stands for a timeout that is not there, where reactord has always one.
const forEver = 365 * 24 * time.Hour

// DecodeListener reads an envoy.config.listener.v3.Listener. The error joins everything that cannot be honoured.
func DecodeListener(name string, body []byte) (*Listener, error) {
	r, m := newReading(), &listenerpb.Listener{}
	if !r.decode(body, m) {
		return nil, r.failed()
	}
	r.name(name, m.GetName())
	if l := readyListener(r, m); l != nil {
		return l, r.failed()
	}
	l := &Listener{config: config.NewListener(), made: &sync.Map{}}
	l.read(r, m)
	if err := r.failed(); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	l.remarks = r.remarks()
	return l, nil
}

// Remarks are what people should know of the listener although it is honoured.
func (l *Listener) Remarks() []string { return l.remarks }

// read reads what the listener has beside its name.
func (l *Listener) read(r reading, m *listenerpb.Listener) {
	r.at("use_original_dst").only(!m.GetUseOriginalDst().GetValue(), "connections are not redirected to reactord")
	r.at("transparent").only(!m.GetTransparent().GetValue(), "addresses of clients are not borrowed")
	r.at("bind_to_port").only(m.GetBindToPort() == nil || m.GetBindToPort().GetValue(),
		"a listener without a socket has no connections: nothing is redirected within reactord")
	r.at("enable_mptcp").only(!m.GetEnableMptcp(), "there is no multipath TCP")
	l.places = readPlaces(r, m)
	l.buffer = int(m.GetPerConnectionBufferLimitBytes().GetValue())
	l.config.AccessLog = logged(r, m.GetAccessLog())
	l.filters(r, m)
	switch udp := m.GetAddress().GetSocketAddress().GetProtocol() == corepb.SocketAddress_UDP; {
	case udp:
		l.datagrams(r, m)
	case l.datagram != nil:
		r.at("listener_filters").refuse("udp_proxy is for an address with protocol: UDP")
	default:
		l.connections(r, m)
	}
	l.timeout(r, m)
}

// filters reads the listener filters.
func (l *Listener) filters(r reading, m *listenerpb.Listener) {
	for i, f := range m.GetListenerFilters() {
		r := r.at("listener_filters[%d]", i)
		switch f := r.unpack(f.GetTypedConfig()).(type) {
		case nil: // which was refused
		case *listenerpb.TlsInspector: // the ClientHello is read if a chain needs it
		case *listenerpb.ProxyProtocol:
			r.at("disallowed_versions").only(len(f.GetDisallowedVersions()) == 0, "both versions are accepted")
			l.config.ProxyProtocol = config.AcceptProxy{
				Trusted: prefixes(everywhere), Optional: f.GetAllowRequestsWithoutProxyProtocol(),
			}
		case *listenerpb.UdpProxyConfig:
			if l.datagram != nil {
				r.refuse("there is another udp_proxy")
			}
			l.datagram = readDatagram(r, f)
		default:
			r.refuse("%s is not a listener filter that reactord has", f.ProtoReflect().Descriptor().FullName())
		}
	}
}

// datagrams reads a listener of UDP.
func (l *Listener) datagrams(r reading, m *listenerpb.Listener) {
	switch {
	case len(m.GetFilterChains()) > 0 || m.GetDefaultFilterChain() != nil:
		r.at("filter_chains").refuse("datagrams have no filter chain: reactord has the listener filter udp_proxy for them")
	case l.datagram == nil:
		r.at("listener_filters").refuse("nothing takes the datagrams: reactord has the listener filter udp_proxy for them")
	}
	if len(l.config.ProxyProtocol.Trusted) > 0 {
		r.at("listener_filters").refuse("datagrams have no PROXY header")
	}
	if l.datagram == nil {
		return
	}
	l.config.UDP.IdleTimeout = cmp.Or(l.datagram.idle, forEver)
	l.config.AccessLog = l.config.AccessLog || l.datagram.logged
}

// connections reads a listener of TCP.
func (l *Listener) connections(r reading, m *listenerpb.Listener) {
	if len(m.GetFilterChains()) == 0 && m.GetDefaultFilterChain() == nil {
		r.at("filter_chains").refuse("there is none: the listener takes no connection")
		return
	}
	c := &chainReader{places: l.places, proxy: len(l.config.ProxyProtocol.Trusted) > 0}
	for i, f := range m.GetFilterChains() {
		ch := c.read(r.at("filter_chains[%d]", i), f)
		ch.index = i
		l.chains = append(l.chains, ch)
	}
	if f := m.GetDefaultFilterChain(); f != nil {
		r := r.at("default_filter_chain")
		l.fallback = c.read(r, f)
		r.at("filter_chain_match").only(f.GetFilterChainMatch() == nil, "the default chain takes what no other takes")
	}
	if l.config.MaxConnections = c.limit(r); l.config.MaxConnections != 0 {
		l.config.OnLimit = "reject"
	}
	l.config.AccessLog = l.config.AccessLog || c.logged
}

// timeout reads how long a client may take to tell what chains are chosen by.
func (l *Listener) timeout(r reading, m *listenerpb.Listener) {
	at := r.at("listener_filters_timeout")
	l.config.InspectTimeout = cmp.Or(at.duration(m.GetListenerFiltersTimeout(), filtersTimeout), forEver)
	if m.GetContinueOnListenerFiltersTimeout() && l.inspects() {
		r.at("continue_on_listener_filters_timeout").refuse("a connection whose ClientHello or PROXY header does not come " +
			"in time is reset")
	}
}

// inspects reports whether something is read of connections before they have a server.
func (l *Listener) inspects() bool {
	return len(l.config.ProxyProtocol.Trusted) > 0 || slices.ContainsFunc(l.all(), func(ch *chain) bool {
		m := &ch.match
		return len(m.names)+len(m.protocols) > 0 || m.transport != "" || ch.tls != nil || ch.bySNI
	})
}

// all is all chains.
func (l *Listener) all() []*chain {
	if l.fallback == nil {
		return l.chains
	}
	return append(slices.Clip(l.chains), l.fallback)
}

// bySNI reports whether a client may choose a cluster by its name.
func (l *Listener) bySNI() bool {
	return slices.ContainsFunc(l.all(), func(ch *chain) bool { return ch.bySNI })
}

// check makes the routes, and finds what is wrong with the listener as a whole.
func (l *Listener) check() error {
	all, err := routes(l.chains, l.fallback, nil)
	errs := []error{err}
	if !l.bySNI() {
		l.routes = all
	}
	out := l.config
	for i := range all {
		out.Routes = append(out.Routes, all[i].Route)
	}
	for i, p := range l.places {
		if i > 0 {
			out.Routes = nil // which were looked at
		}
		out.Address, out.Socket = p.address, p.socket
		errs = append(errs, listenerFaults(&out))
	}
	return errors.Join(errs...)
}

// Clusters are the names of the clusters that connections may go to, without those that depend on the client; in order,
// each once.
func (l *Listener) Clusters() []string {
	var all []string
	if l.datagram != nil {
		all = append(all, l.datagram.cluster)
	}
	for _, ch := range l.all() {
		for _, to := range ch.route.Targets() {
			all = append(all, to.Backend)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Secrets are the names of the secrets that TLS needs, in order, each once.
func (l *Listener) Secrets() []string {
	var all []string
	for _, ch := range l.all() {
		if ch.tls != nil {
			all = append(all, ch.tls.Secrets()...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Same reports whether both say the same, as far as it is honoured.
func (l *Listener) Same(other *Listener) bool {
	if l == nil || other == nil {
		return l == other
	}
	a, b := *l, *other
	a.made, b.made = nil, nil
	return reflect.DeepEqual(a, b)
}

// Ready is where and at which path of HTTP the control plane asks whether the proxy is ready. ok: that is all that the
// listener is for. Then it is no listener of the plan: readiness is to be answered there.
func (l *Listener) Ready() (at netip.AddrPort, path string, ok bool) {
	if l.ready == nil {
		return netip.AddrPort{}, "", false
	}
	return l.ready.address, l.ready.path, true
}
