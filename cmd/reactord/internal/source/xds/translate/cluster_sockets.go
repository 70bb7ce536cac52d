package translate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// transport has the transport sockets of a cluster's servers.
type transport struct {
	proxy config.ProxyVersion // of the PROXY header that is sent
	tls   *clientTLS          // nil without TLS
}

// sockets are the transports of a cluster.
type sockets struct {
	usual   transport
	matches []socketMatch // the first match is an endpoint's transport, or else usual
}

// socketMatch is a transport for endpoints with matching metadata.
type socketMatch struct {
	name  string
	match map[string]any
	transport
}

func decodeSockets(r reading, m *clusterpb.Cluster) (s sockets) {
	s.usual = decodeTransport(r.at("transport_socket"), m.TransportSocket, "xds://cluster/"+m.Name)
	if s.usual.tls != nil && s.usual.tls.foreign != "" {
		r.at("transport_socket").refuse("secrets from %s are not supported", s.usual.tls.foreign)
	}
	for i, t := range m.TransportSocketMatches {
		at := fmt.Sprintf("xds://cluster/%s/transport_socket_matches[%d]", m.Name, i)
		s.matches = append(s.matches, socketMatch{
			name: t.Name, match: t.Match.AsMap(),
			transport: decodeTransport(r.at("transport_socket_matches[%d].transport_socket", i), t.TransportSocket, at),
		})
	}
	return s
}

// decodeTransport reads a transport socket. origin prefixes the paths of inline certificates.
func decodeTransport(r reading, m *corepb.TransportSocket, origin string) transport {
	if m == nil {
		return transport{proxy: config.NoProxy}
	}
	r = r.at("typed_config")
	switch t := r.unpack(m.GetTypedConfig()).(type) {
	case nil:
	case *tlspb.RawBuffer:
	case *tlspb.UpstreamTlsContext:
		return transport{"none", decodeClientTLS(r, t, origin)}
	case *tlspb.ProxyProtocolUpstreamTransport:
		inner := decodeTransport(r.at("transport_socket"), t.TransportSocket, origin)
		r.at("transport_socket").only(inner.proxy == config.NoProxy, "two PROXY headers")
		inner.proxy = config.ProxyV1
		if t.Config.GetVersion() == corepb.ProxyProtocolConfig_V2 {
			inner.proxy = config.ProxyV2
		}
		return inner
	default:
		r.refuse("transport socket %s is not supported", t.ProtoReflect().Descriptor().FullName())
	}
	return transport{proxy: config.NoProxy}
}

// secrets returns the names of the secrets of all transports, except those from unsupported sources.
func (s *sockets) secrets() (names []string) {
	names = append(names, s.usual.tls.Secrets()...)
	for i := range s.matches {
		names = append(names, s.matches[i].tls.Secrets()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// of returns the index of an endpoint's transport; -1 is the usual one.
func (s *sockets) of(e *endpoint) int {
	return slices.IndexFunc(s.matches, func(m socketMatch) bool {
		for key, want := range m.match {
			if have, ok := e.match[key]; !ok || !reflect.DeepEqual(have, want) {
				return false
			}
		}
		return true
	})
}

// at returns the transport at an index.
func (s *sockets) at(i int) *transport {
	if i < 0 {
		return &s.usual
	}
	return &s.matches[i].transport
}

// fillSockets sets the transports of a backend. Its endpoints may use one with TLS, and the same one without.
func (c *Cluster) fillSockets(b *backend, all *Endpoints, set *Set) error {
	s := &c.sockets
	used, name := &s.usual, "" // the one with TLS, if any
	plain := map[serveraddr.Addr]bool{}
	for i := range all.all {
		e := &all.all[i]
		index := s.of(e)
		own := s.at(index)
		switch {
		case own.tls == nil:
			plain[e.address] = true
		case own.tls.foreign != "":
			return fmt.Errorf("%s matches transport_socket_matches %q, whose secrets from %s are not supported",
				e.where(), s.matches[index].name, own.tls.foreign)
		}
		switch {
		case i == 0, used.tls == nil && own.tls != nil && used.proxy == own.proxy:
			used, name = own, e.where()
		case own.proxy != used.proxy, own.tls != nil && !reflect.DeepEqual(own.tls, used.tls):
			return fmt.Errorf("%s and %s match different transport sockets: only one is supported, with and without TLS", name,
				e.where())
		}
	}
	b.config.ProxyProtocol.Version = used.proxy
	b.config.Check.Proxy = used.proxy != config.NoProxy && b.config.Check.Interval > 0
	if used.tls == nil {
		return nil
	}
	for i := range b.servers {
		b.servers[i].Plain = plain[b.servers[i].Address]
	}
	if plain[serveraddr.Addr{}] {
		return errors.New("names match a transport socket without TLS, and other endpoints one with TLS")
	}
	made, err := c.tls(used.tls, set)
	if err != nil {
		return err
	}
	b.config.TLS, b.keys = made.config, made.keys
	if check := &b.config.Check; check.Interval > 0 {
		if check.TLS = true; !made.config.Insecure {
			check.TLSServerName = used.tls.sni
		}
	}
	return nil
}
