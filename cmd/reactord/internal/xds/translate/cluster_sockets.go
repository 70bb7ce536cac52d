package translate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// transport is how servers are spoken to.
type transport struct {
	proxy string     // the version of the PROXY header that is sent: "none", "v1" or "v2"
	tls   *clientTLS // nil: none
}

// sockets are the transports of a cluster.
type sockets struct {
	usual   transport
	matches []socketMatch // the first one that fits an endpoint is its transport; else the usual one
}

// socketMatch is a transport for endpoints whose metadata has these values.
type socketMatch struct {
	name  string
	match map[string]any
	transport
}

func decodeSockets(r reading, m *clusterpb.Cluster) (s sockets) {
	s.usual = decodeTransport(r.at("transport_socket"), m.TransportSocket, "xds://cluster/"+m.Name)
	if s.usual.tls != nil && s.usual.tls.foreign != "" {
		r.at("transport_socket").refuse("its secrets come from %s, which reactord does not ask", s.usual.tls.foreign)
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

// decodeTransport reads a transport socket. origin is where inline certificates come from.
func decodeTransport(r reading, m *corepb.TransportSocket, origin string) transport {
	if m == nil {
		return transport{proxy: "none"}
	}
	r = r.at("typed_config")
	switch t := r.unpack(m.GetTypedConfig()).(type) {
	case nil:
	case *tlspb.RawBuffer:
	case *tlspb.UpstreamTlsContext:
		return transport{"none", decodeClientTLS(r, t, origin)}
	case *tlspb.ProxyProtocolUpstreamTransport:
		inner := decodeTransport(r.at("transport_socket"), t.TransportSocket, origin)
		r.at("transport_socket").only(inner.proxy == "none", "two PROXY headers")
		inner.proxy = "v1"
		if t.Config.GetVersion() == corepb.ProxyProtocolConfig_V2 {
			inner.proxy = "v2"
		}
		return inner
	default:
		r.refuse("reactord does not have the transport socket %s", t.ProtoReflect().Descriptor().FullName())
	}
	return transport{proxy: "none"}
}

// secrets are the names of the secrets of all transports, but those that reactord cannot ask for.
func (s *sockets) secrets() (names []string) {
	names = append(names, s.usual.tls.Secrets()...)
	for i := range s.matches {
		names = append(names, s.matches[i].tls.Secrets()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// of is the index of the transport of an endpoint; -1 is the usual one.
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

// at is the transport of this index.
func (s *sockets) at(i int) *transport {
	if i < 0 {
		return &s.usual
	}
	return &s.matches[i].transport
}

// fillSockets makes the transports of a backend. Its endpoints may choose one with TLS and the same one without it.
func (c *Cluster) fillSockets(b *backend, all *Endpoints, set *Set) error {
	s := &c.sockets
	used, name := &s.usual, "" // the one with TLS, if there is one
	plain := map[serveraddr.Addr]bool{}
	for i := range all.all {
		e := &all.all[i]
		index := s.of(e)
		own := s.at(index)
		switch {
		case own.tls == nil:
			plain[e.address] = true
		case own.tls.foreign != "":
			return fmt.Errorf("%s chooses transport_socket_matches %q, whose secrets come from %s, which reactord does not ask",
				e.where(), s.matches[index].name, own.tls.foreign)
		}
		switch {
		case i == 0, used.tls == nil && own.tls != nil && used.proxy == own.proxy:
			used, name = own, e.where()
		case own.proxy != used.proxy, own.tls != nil && !reflect.DeepEqual(own.tls, used.tls):
			return fmt.Errorf("%s and %s choose different transport sockets: a cluster has one, with and without TLS", name,
				e.where())
		}
	}
	b.config.ProxyProtocol.Version = used.proxy
	b.config.Check.Proxy = used.proxy != "none" && b.config.Check.Interval > 0
	if used.tls == nil {
		return nil
	}
	for i := range b.servers {
		b.servers[i].Plain = plain[b.servers[i].Address]
	}
	if plain[serveraddr.Addr{}] {
		return errors.New("names choose a transport socket without TLS, and other endpoints one with it")
	}
	made, err := c.tls(used.tls, set)
	if err != nil {
		return err
	}
	b.config.TLS, b.keys = made.settings, made.keys
	if check := &b.config.Check; check.Interval > 0 {
		if check.TLS = true; !made.settings.Insecure {
			check.TLSServerName = used.tls.sni
		}
	}
	return nil
}
