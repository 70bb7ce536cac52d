package translate

import (
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/httppb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
	"google.golang.org/protobuf/types/known/anypb"
)

// chainReader reads the filter chains of a listener, and what they have in common.
type chainReader struct {
	places []place
	proxy  bool  // connections may have a PROXY header
	limits []int // limit on connections of each chain; 0 for none
	logged bool  // whether a chain has an access log
}

// read reads a filter chain.
func (c *chainReader) read(r reading, m *listenerpb.FilterChain) *chain {
	ch := &chain{name: m.GetName(), route: config.NewRoute()}
	if ch.name != "" {
		if fault := nameFault(ch.name); fault != "" {
			r.at("name").refuse("%q %s", ch.name, fault)
		}
		ch.route.Name = ch.name
	}
	c.match(r.at("filter_chain_match"), m.GetFilterChainMatch(), &ch.match)
	ch.transport(r.at("transport_socket"), m)
	c.filters(r, m.GetFilters(), ch)
	return ch
}

// match reads the conditions of a chain.
func (c *chainReader) match(r reading, m *listenerpb.FilterChainMatch, to *match) {
	port := m.GetDestinationPort()
	r.at("destination_port").only(port == nil || port.GetValue() > 0 && port.GetValue() < 1<<16, "not a port")
	to.port = uint16(port.GetValue())
	r.at("source_type").only(m.GetSourceType() == listenerpb.FilterChainMatch_ANY, "only ANY is supported")
	to.destinations = readNetworks(r.at("prefix_ranges"), m.GetPrefixRanges())
	to.clients = readNetworks(r.at("source_prefix_ranges"), m.GetSourcePrefixRanges())
	for _, name := range m.GetServerNames() {
		to.names = append(to.names, strings.ToLower(name))
	}
	switch m.GetTransportProtocol() {
	case "":
	case "tls":
		to.transport = config.TLSTransport
	case "raw_buffer":
		to.transport = config.RawTransport
	default:
		r.at("transport_protocol").refuse("%q: write tls or raw_buffer", m.GetTransportProtocol())
	}
	to.protocols = m.GetApplicationProtocols()
}

// transport reads whether the chain terminates TLS.
func (ch *chain) transport(r reading, m *listenerpb.FilterChain) {
	timeout := r.at("transport_socket_connect_timeout").duration(m.GetTransportSocketConnectTimeout(), 0)
	if m.GetTransportSocket() == nil {
		return
	}
	switch t := r.unpack(m.GetTransportSocket().GetTypedConfig()).(type) {
	case nil: // refused already
	case *tlspb.RawBuffer:
	case *tlspb.DownstreamTlsContext:
		ch.tls = decodeServerTLS(r, t)
		ch.handshake = timeout
	default:
		r.refuse("%s is not a downstream transport socket", t.ProtoReflect().Descriptor().FullName())
	}
}

// reporters are the types of Istio's filters that only report to it or to other proxies. They are skipped by type and
// not by name, since any filter may use those names.
var reporters = []string{
	"stats.PluginConfig", "io.istio.network.stats.PluginConfig", "envoy.tcp.metadataexchange.config.MetadataExchange",
}

// reports reports whether a filter is a reporter.
func reports(f *anypb.Any) bool {
	if m, err := envoypb.Unpack(f); err == nil {
		if t, ok := m.(*corepb.TypedStruct); ok {
			return isReporter(t.GetTypeUrl())
		}
	}
	return isReporter(f.GetTypeUrl())
}

func isReporter(url string) bool {
	_, name, _ := strings.Cut(url, "/")
	return slices.Contains(reporters, name)
}

// filters reads the network filters of a chain. The last one takes its connections.
func (c *chainReader) filters(r reading, all []*listenerpb.Filter, ch *chain) {
	limit, ended := 0, false
	for i, f := range all {
		r := r.at("filters[%d]", i)
		if reports(f.GetTypedConfig()) {
			continue
		}
		if ended {
			r.refuse("tcp_proxy must be the last filter")
			continue
		}
		switch m := r.unpack(f.GetTypedConfig()).(type) {
		case nil: // refused already
		case *listenerpb.TcpProxy:
			ch.tcpProxy(r, m)
			c.logged = logged(r, m.GetAccessLog()) || c.logged
			ended = true
		case *listenerpb.RBAC:
			c.rbac(r, m, ch)
		case *listenerpb.ConnectionLimit:
			limit = lesser(limit, readLimit(r, m))
		case *listenerpb.SniCluster:
			ch.bySNI = true
		case *corepb.TypedStruct:
			r.refuse("filter %s is not supported", m.GetTypeUrl())
		case *httppb.HttpConnectionManager:
			r.refuse("HTTP is not proxied: http_connection_manager is supported only for readiness probes")
			ended = true
		default:
			r.refuse("network filter %s is not supported", m.ProtoReflect().Descriptor().FullName())
		}
	}
	if !ended {
		r.at("filters").refuse("tcp_proxy is missing")
	}
	c.limits = append(c.limits, limit)
}
