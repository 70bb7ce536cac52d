package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"
)

// servers notes the servers of a service.
func (b *Bootstrap) servers(s *serviceFields, static *staticFields) error {
	i := slices.IndexFunc(static.Clusters, func(c clusterFields) bool { return c.Name == s.Envoy.Cluster })
	if i < 0 {
		return fmt.Errorf("static_resources.clusters: there is no cluster %q, which ads_config names", s.Envoy.Cluster)
	}
	c := &static.Clusters[i]
	if err := b.cluster(c, s, static.Secrets); err != nil {
		return fmt.Errorf("static_resources.clusters: %s: %w", c.Name, err)
	}
	return nil
}

// cluster notes the servers of a cluster.
func (b *Bootstrap) cluster(c *clusterFields, s *serviceFields, secrets []secretFields) error {
	if err := c.check(); err != nil {
		return err
	}
	b.ConnectTimeout = connectTimeout
	if c.ConnectTimeout != nil {
		b.ConnectTimeout = time.Duration(*c.ConnectTimeout)
	}
	proto := stream.Server{Authority: s.Envoy.Authority}
	for _, m := range s.InitialMetadata {
		proto.Metadata = append(proto.Metadata, stream.Metadata{Key: strings.ToLower(m.Key), Value: m.Value})
		switch err := proto.Metadata[len(proto.Metadata)-1].Check(); {
		case m.RawValue != "":
			return fmt.Errorf("initial_metadata %q: raw_value is not supported: use value", m.Key)
		case err != nil:
			return fmt.Errorf("initial_metadata: %w", err)
		}
	}
	if err := b.options(c, &proto, secrets); err != nil {
		return err
	}
	var err error
	if proto.TLS, err = b.tls(c.TransportSocket, secrets); err != nil {
		return fmt.Errorf("transport_socket: %w", err)
	}
	all := c.Assignment.Endpoints
	slices.SortStableFunc(all, func(x, y endpointsFields) int { return cmp.Compare(x.Priority, y.Priority) })
	for _, group := range all {
		for _, e := range group.Endpoints {
			if e.Endpoint == nil {
				return errors.New("load_assignment: an endpoint has no address")
			}
			at, err := e.Endpoint.Address.address()
			if err != nil {
				return fmt.Errorf("load_assignment: %w", err)
			}
			server := proto
			server.Network, server.Address = at.Network, at.Address
			b.Servers = append(b.Servers, server)
		}
	}
	if len(b.Servers) == 0 {
		return errors.New("load_assignment: there is no endpoint")
	}
	return nil
}

// kindsOfClusters has the types of clusters whose endpoints are in the bootstrap.
var kindsOfClusters = []any{nil, "STATIC", "STRICT_DNS", "LOGICAL_DNS", float64(0), float64(1), float64(2)}

// check reports what is not supported of a cluster.
func (c *clusterFields) check() error {
	switch {
	case !slices.Contains(kindsOfClusters, c.Type):
		return fmt.Errorf("type %v is not supported: use STATIC, STRICT_DNS or LOGICAL_DNS", c.Type)
	case c.ClusterType != nil && !strings.HasSuffix(c.ClusterType.Name, "dns") &&
		c.ClusterType.Name != "envoy.cluster.static":
		return fmt.Errorf("cluster_type %q is not supported: use envoy.cluster.dns", c.ClusterType.Name)
	case c.Assignment == nil:
		return errors.New("load_assignment is not set")
	}
	return nil
}

// options notes what is in the options of HTTP: pings, and credentials.
func (b *Bootstrap) options(c *clusterFields, to *stream.Server, secrets []secretFields) error {
	http2 := c.HTTP2
	if raw, ok := c.Options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]; ok {
		o := typed{raw: raw}
		var options httpFields
		if err := o.into(&options); err != nil {
			return plain(err)
		}
		if e := options.Explicit; e != nil && e.HTTP2 != nil {
			http2 = e.HTTP2
		}
		for _, f := range options.Filters {
			switch {
			case f.Typed.is("UpstreamCodec"):
			case f.Typed.is("CredentialInjector"):
				m, err := credential(&f.Typed, secrets)
				if err != nil {
					return fmt.Errorf("http_filters: %s: %w", f.Name, err)
				}
				to.Metadata = append(to.Metadata, m)
			default:
				return fmt.Errorf("http_filters: %s: %s is not supported", f.Name, f.Typed.Type)
			}
		}
	}
	if http2 != nil && http2.Keepalive != nil {
		if t := http2.Keepalive.Interval; t != nil {
			b.PingInterval = time.Duration(*t)
		}
		if t := http2.Keepalive.Timeout; t != nil {
			b.PingTimeout = time.Duration(*t)
		}
	}
	return nil
}

// credential returns the header that a credential injector adds.
func credential(filter *typed, secrets []secretFields) (stream.Metadata, error) {
	var injector injectorFields
	var generic genericFields
	if err := filter.into(&injector); err != nil {
		return stream.Metadata{}, plain(err)
	}
	if !injector.Credential.Typed.is("Generic") {
		return stream.Metadata{}, fmt.Errorf("%s is not supported", injector.Credential.Typed.Type)
	}
	if err := injector.Credential.Typed.into(&generic); err != nil {
		return stream.Metadata{}, plain(err)
	}
	m := stream.Metadata{Key: strings.ToLower(cmp.Or(generic.Header, "authorization")), Value: generic.Prefix}
	load, err := generic.Credential.secret(secrets)
	if err != nil {
		return m, err
	}
	m.Read = func() (string, error) {
		s, err := load()
		switch {
		case err != nil:
			return "", err
		case s.Generic == nil:
			return "", fmt.Errorf("secret %q is no generic_secret", s.Name)
		case s.Generic.Secret.Filename != "":
			return stream.ReadToken(s.Generic.Secret.Filename)
		}
		pem, err := s.Generic.Secret.pem()
		return strings.TrimSpace(string(pem.Text)), err
	}
	return m, m.Check()
}

// address returns the address in the terms of package net.
func (a *addressFields) address() (Address, error) {
	switch s := a.SocketAddress; {
	case s != nil && a.Pipe != nil:
		return Address{}, errors.New("it has a socket_address and a pipe: which one?")
	case a.Pipe != nil && a.Pipe.Path != "":
		return Address{Network: "unix", Address: a.Pipe.Path}, nil
	case s == nil:
		return Address{}, errors.New("only socket_address and pipe are supported")
	case s.Protocol != "" && s.Protocol != "TCP":
		return Address{}, fmt.Errorf("protocol %s is not supported: use TCP", s.Protocol)
	case s.Address == "":
		return Address{}, errors.New("socket_address.address is empty")
	case s.NamedPort != "":
		return Address{}, errors.New("socket_address.named_port is not supported: use port_value")
	case s.PortValue < 0 || s.PortValue > 65535:
		return Address{}, fmt.Errorf("socket_address.port_value %d is no port", s.PortValue)
	default:
		return Address{Network: "tcp", Address: net.JoinHostPort(s.Address, strconv.Itoa(int(s.PortValue)))}, nil
	}
}
