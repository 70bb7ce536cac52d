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
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
)

// Listener is a listener of a control plane. Its content is immutable.
type Listener struct {
	places   []place         // addresses, at least one
	config   config.Listener // without a name, an address and routes
	chains   []*chain        // for TCP
	fallback *chain          // nil if connections that match no chain are reset
	routes   []matched       // of the chains, unless a server name selects the cluster
	datagram *datagram       // for UDP
	buffer   int             // bytes that a connection may buffer; 0 if unset
	ready    *ready          // set for readiness probes
	remarks  []string

	made *sync.Map // the last *tlsTermination, by *serverTLS
}

// ready is where a control plane probes whether the proxy is ready.
type ready struct {
	address netip.AddrPort
	path    string
}

// place is an address to listen on.
type place struct {
	address config.Address
	socket  config.Socket
}

// Defaults of Envoy.
const (
	filtersTimeout = 15 * time.Second
	idleTimeout    = time.Hour
	sessionTimeout = time.Minute
)

// forEver replaces a missing timeout where reactord always has one.
const forEver = 365 * 24 * time.Hour

// DecodeListener decodes an envoy.config.listener.v3.Listener. The error joins everything that cannot be honoured.
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

// Remarks returns warnings about the listener, although it is honoured.
func (l *Listener) Remarks() []string { return l.remarks }

// read reads everything except the name.
func (l *Listener) read(r reading, m *listenerpb.Listener) {
	r.at("use_original_dst").only(!m.GetUseOriginalDst().GetValue(), "redirected connections are not supported")
	r.at("transparent").only(!m.GetTransparent().GetValue(), "transparent proxying is not supported")
	r.at("bind_to_port").only(m.GetBindToPort() == nil || m.GetBindToPort().GetValue(),
		"listeners without a socket are not supported")
	r.at("enable_mptcp").only(!m.GetEnableMptcp(), "multipath TCP is not supported")
	l.places = readPlaces(r, m)
	l.buffer = int(m.GetPerConnectionBufferLimitBytes().GetValue())
	l.config.AccessLog = logged(r, m.GetAccessLog())
	l.filters(r, m)
	switch udp := m.GetAddress().GetSocketAddress().GetProtocol() == corepb.SocketAddress_UDP; {
	case udp:
		l.datagrams(r, m)
	case l.datagram != nil:
		r.at("listener_filters").refuse("udp_proxy requires an address with protocol: UDP")
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
		case nil: // refused already
		case *listenerpb.TlsInspector: // the ClientHello is read where a chain needs it
		case *listenerpb.ProxyProtocol:
			r.at("disallowed_versions").only(len(f.GetDisallowedVersions()) == 0, "both versions are always accepted")
			l.config.ProxyProtocol = config.AcceptProxy{
				Trusted: prefixes(everywhere), Optional: f.GetAllowRequestsWithoutProxyProtocol(),
			}
		case *listenerpb.UdpProxyConfig:
			if l.datagram != nil {
				r.refuse("duplicate udp_proxy")
			}
			l.datagram = readDatagram(r, f)
		default:
			r.refuse("listener filter %s is not supported", f.ProtoReflect().Descriptor().FullName())
		}
	}
}

// datagrams reads a UDP listener.
func (l *Listener) datagrams(r reading, m *listenerpb.Listener) {
	switch {
	case len(m.GetFilterChains()) > 0 || m.GetDefaultFilterChain() != nil:
		r.at("filter_chains").refuse("UDP listeners have no filter chains: write the listener filter udp_proxy")
	case l.datagram == nil:
		r.at("listener_filters").refuse("no listener filter for datagrams: write udp_proxy")
	}
	if len(l.config.ProxyProtocol.Trusted) > 0 {
		r.at("listener_filters").refuse("proxy_protocol is not supported for UDP")
	}
	if l.datagram == nil {
		return
	}
	l.config.UDP.IdleTimeout = cmp.Or(l.datagram.idle, forEver)
	l.config.AccessLog = l.config.AccessLog || l.datagram.logged
}

// connections reads a TCP listener.
func (l *Listener) connections(r reading, m *listenerpb.Listener) {
	if len(m.GetFilterChains()) == 0 && m.GetDefaultFilterChain() == nil {
		r.at("filter_chains").refuse("missing: the listener would accept no connection")
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
		r.at("filter_chain_match").only(f.GetFilterChainMatch() == nil, "the default chain has no conditions")
	}
	if l.config.MaxConnections = c.limit(r); l.config.MaxConnections != 0 {
		l.config.OnLimit = config.RejectOnLimit
	}
	l.config.AccessLog = l.config.AccessLog || c.logged
}

// timeout reads how long a client may take to send what chains are selected by.
func (l *Listener) timeout(r reading, m *listenerpb.Listener) {
	at := r.at("listener_filters_timeout")
	l.config.InspectTimeout = cmp.Or(at.duration(m.GetListenerFiltersTimeout(), filtersTimeout), forEver)
	if m.GetContinueOnListenerFiltersTimeout() && l.inspects() {
		r.at("continue_on_listener_filters_timeout").refuse("a connection whose ClientHello or PROXY header does not " +
			"arrive " +
			"in time is reset")
	}
}

// inspects reports whether connections are read from before they have a server.
func (l *Listener) inspects() bool {
	return len(l.config.ProxyProtocol.Trusted) > 0 || slices.ContainsFunc(l.all(), func(ch *chain) bool {
		m := &ch.match
		return len(m.names)+len(m.protocols) > 0 || m.transport != "" || ch.tls != nil || ch.bySNI
	})
}

// all returns all chains.
func (l *Listener) all() []*chain {
	if l.fallback == nil {
		return l.chains
	}
	return append(slices.Clip(l.chains), l.fallback)
}

// bySNI reports whether a client may select a cluster by its server name.
func (l *Listener) bySNI() bool {
	return slices.ContainsFunc(l.all(), func(ch *chain) bool { return ch.bySNI })
}

// check makes the routes, and validates the listener as a whole.
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
			out.Routes = nil // validated already
		}
		out.Address, out.Socket = p.address, p.socket
		errs = append(errs, listenerFaults(&out))
	}
	return errors.Join(errs...)
}

// Clusters returns the names of the clusters that connections may go to, except those that depend on the client;
// sorted, without duplicates.
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

// Secrets returns the names of the secrets that its TLS needs, sorted, without duplicates.
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

// Same reports whether both are equal in all that is honoured.
func (l *Listener) Same(other *Listener) bool {
	if l == nil || other == nil {
		return l == other
	}
	a, b := *l, *other
	a.made, b.made = nil, nil
	return reflect.DeepEqual(a, b)
}

// Ready returns the address and the HTTP path at which the control plane probes whether the proxy is ready. ok
// reports that the listener has no other purpose. It is then not part of the plan, and the probes are to be answered
// there.
func (l *Listener) Ready() (at netip.AddrPort, path string, ok bool) {
	if l.ready == nil {
		return netip.AddrPort{}, "", false
	}
	return l.ready.address, l.ready.path, true
}
