package translate

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Cluster is a cluster of a control plane. Its content is immutable.
type Cluster struct {
	endpoints string     // name of its endpoints; "" if inline
	inline    *Endpoints // inline endpoints
	dns       *config.DNS
	settings  config.Backend // settings that depend on no other resources
	perServer int            // connections to a server; 0 for no limit
	weighted  bool           // localities have weights
	sockets   sockets
	remarks   []string

	made atomic.Pointer[madeTLS] // cached by [Cluster.build]
}

// Defaults of Envoy that differ from those of a file.
const (
	defaultIdle        = time.Hour
	defaultConnections = 1024
)

// DecodeCluster decodes an envoy.config.cluster.v3.Cluster. The error joins everything that cannot be honoured.
func DecodeCluster(name string, body []byte) (*Cluster, error) {
	r, m := newReading(), &clusterpb.Cluster{}
	if !r.decode(body, m) {
		return nil, r.failed()
	}
	r.name(name, m.Name)
	c := &Cluster{settings: config.NewBackend()}
	b := &c.settings
	b.Name = name
	b.Check.CloseOnDown = m.CloseConnectionsOnHostHealthFailure && len(m.HealthChecks) > 0
	r.at("close_connections_on_host_health_failure").only(!m.CloseConnectionsOnHostHealthFailure ||
		len(m.HealthChecks) > 0, "no health check that a server could fail")
	b.LifetimeJitter = 0
	c.timeouts(r, m)
	c.discovery(r, m)
	c.weighted = balancing(r, m, &b.Balance)
	c.breakers(r.at("circuit_breakers"), m.CircuitBreakers)
	healthChecks(r.at("health_checks"), m.HealthChecks, &b.Check)
	outlierDetection(r.at("outlier_detection"), m.OutlierDetection, &b.Ejection)
	keepAlive(r.at("upstream_connection_options.tcp_keepalive"), m.UpstreamConnectionOptions.GetTcpKeepalive(),
		&b.KeepAlive)
	if limit := m.PerConnectionBufferLimitBytes; limit != nil {
		b.Buffer = config.Size(limit.Value)
		b.Buffer = min(max(b.Buffer, 4*config.KiB), 16*config.MiB)
	}
	for i, f := range m.Filters {
		c.filter(r.at("filters[%d]", i), f)
	}
	c.sockets = decodeSockets(r, m)
	checked := *b
	if c.dns != nil {
		d := *c.dns
		d.Name, d.Port = "a.example", 1 // from the endpoints
		checked.DNS = []config.DNS{d}
	}
	if err := errors.Join(r.failed(), backendFaults(&checked)); err != nil {
		return nil, err
	}
	c.remarks = r.remarks()
	return c, nil
}

// Remarks returns warnings about the cluster, although it is honoured.
func (c *Cluster) Remarks() []string { return c.remarks }

// Endpoints returns the name of the endpoints that the cluster needs, or "".
func (c *Cluster) Endpoints() string { return c.endpoints }

// Secrets returns the names of the secrets that its TLS needs, sorted, without duplicates.
func (c *Cluster) Secrets() []string { return c.sockets.secrets() }

// Same reports whether both are equal in all that is honoured.
func (c *Cluster) Same(other *Cluster) bool {
	if c == other || c == nil || other == nil {
		return c == other
	}
	return c.endpoints == other.endpoints && c.inline.Same(other.inline) && reflect.DeepEqual(c.dns, other.dns) &&
		reflect.DeepEqual(c.settings, other.settings) && c.perServer == other.perServer && c.weighted == other.weighted &&
		reflect.DeepEqual(c.sockets, other.sockets)
}

// hashes reports whether the cluster chooses servers by a hash; listeners decide of what.
func (c *Cluster) hashes() bool { return c.settings.Balance.Policy == hashing }

// timeouts reads timeouts.
func (c *Cluster) timeouts(r reading, m *clusterpb.Cluster) {
	b := &c.settings
	b.ConnectTimeout = r.at("connect_timeout").duration(m.ConnectTimeout, b.ConnectTimeout)
	r.at("connect_timeout").only(b.ConnectTimeout >= time.Millisecond, "too short: write at least 1 ms")
	b.IdleTimeout = 0 // the listener's applies
	c.common(r.at("common_http_protocol_options"), m.CommonHttpProtocolOptions)
	for _, kind := range sorted(m.TypedExtensionProtocolOptions) {
		r := r.at("typed_extension_protocol_options[%q]", kind)
		switch o := r.unpack(m.TypedExtensionProtocolOptions[kind]).(type) {
		case nil:
		case *clusterpb.HttpProtocolOptions:
			c.common(r.at("common_http_protocol_options"), o.CommonHttpProtocolOptions)
		default:
			r.refuse("options of %s are not supported", o.ProtoReflect().Descriptor().FullName())
		}
	}
	b.HalfCloseTimeout = cmp.Or(b.IdleTimeout, defaultIdle)
}

// common reads the timeouts that control planes set in HTTP options for connections of any kind.
func (c *Cluster) common(r reading, m *corepb.HttpProtocolOptions) {
	if m == nil {
		return
	}
	c.settings.IdleTimeout = r.at("idle_timeout").duration(m.IdleTimeout, c.settings.IdleTimeout)
	c.settings.Lifetime = r.at("max_connection_duration").duration(m.MaxConnectionDuration, c.settings.Lifetime)
}

// breakers reads the limits on connections.
func (c *Cluster) breakers(r reading, m *clusterpb.CircuitBreakers) {
	c.settings.MaxConnections = defaultConnections
	limit := func(r reading, all []*clusterpb.CircuitBreakers_Thresholds, into *int) {
		for i, t := range all {
			if t.Priority != corepb.RoutingPriority_DEFAULT {
				continue // others concern HTTP
			}
			if n := t.MaxPendingRequests; n != nil && into == &c.settings.MaxConnections {
				c.settings.Queue.Size = int(min(n.Value, 1<<20))
			}
			if t.MaxConnections == nil {
				continue
			}
			if t.MaxConnections.Value == 0 {
				r.indexed(i).at("max_connections").refuse("0 connections make the cluster useless: remove its routes")
			}
			*into = unlimited(t.MaxConnections)
		}
	}
	limit(r.at("thresholds"), m.GetThresholds(), &c.settings.MaxConnections)
	limit(r.at("per_host_thresholds"), m.GetPerHostThresholds(), &c.perServer)
}

// unlimited returns a number of connections, or 0 for one that cannot be reached.
func unlimited(m *wrapperspb.UInt32Value) int {
	if m.Value > 1<<30 {
		return 0
	}
	return int(m.Value)
}

func keepAlive(r reading, m *corepb.TcpKeepalive, k *config.KeepAlive) {
	if m == nil {
		k.Idle = 0 // as in Envoy
		return
	}
	*k = config.KeepAlive{Idle: 2 * time.Hour, Interval: 75 * time.Second, Count: 9} // defaults of Linux
	seconds := func(r reading, m *wrapperspb.UInt32Value, into *time.Duration) {
		if m == nil {
			return
		}
		if *into = time.Duration(m.Value) * time.Second; m.Value == 0 || m.Value > 32767 {
			r.refuse("%d s is out of range: write 1 to 32767", m.Value)
		}
	}
	seconds(r.at("keepalive_time"), m.KeepaliveTime, &k.Idle)
	seconds(r.at("keepalive_interval"), m.KeepaliveInterval, &k.Interval)
	if m.KeepaliveProbes != nil {
		if k.Count = int(m.KeepaliveProbes.Value); k.Count < 1 || k.Count > 127 {
			r.at("keepalive_probes").refuse("%d is out of range: write 1 to 127", k.Count)
		}
	}
}

// filter allows Istio's metadata exchange, which does not affect traffic.
func (c *Cluster) filter(r reading, m *clusterpb.Filter) {
	switch f := r.at("typed_config").unpack(m.GetTypedConfig()).(type) {
	case nil:
	case *corepb.TypedStruct:
	default:
		r.refuse("filter %s is not supported", f.ProtoReflect().Descriptor().FullName())
	}
}

// build returns the backend of the cluster, or what is wrong between the cluster and its endpoints and secrets.
func (c *Cluster) build(s *Set, u demand) (*backend, error) {
	all := c.inline
	if c.endpoints != "" {
		all = s.Endpoints[c.endpoints]
	}
	out := &backend{config: c.settings}
	b := &out.config
	if c.hashes() && !u.hash {
		b.Balance.Policy, b.Balance.LoadFactor = config.Random, 0
	}
	if all == nil {
		return nil, fmt.Errorf("endpoints %q do not exist", c.endpoints)
	}
	if err := all.fill(out, c); err != nil {
		return nil, err
	}
	if err := c.fillSockets(out, all, s); err != nil {
		return nil, err
	}
	if u.datagrams && (b.TLS.Enabled || b.ProxyProtocol.Version == config.ProxyV1) {
		return nil, errors.New("transport_socket: TLS and PROXY version 1 are not possible for datagrams")
	}
	return out, nil
}

// backend is the result for a cluster.
type backend struct {
	config  config.Backend // named after the cluster
	servers []plan.Server
	keys    *certs.Client
}

// configSource refuses resources from elsewhere than the stream of the cluster.
func (r reading) configSource(m *corepb.ConfigSource) {
	switch s := m.GetConfigSourceSpecifier().(type) {
	case nil:
		r.refuse("source is missing: write ads")
	case *corepb.ConfigSource_ApiConfigSource:
		if other := foreign(m); other != "" {
			r.refuse("source %s is not supported: write ads", other)
		}
		kinds := []corepb.ApiConfigSource_ApiType{
			corepb.ApiConfigSource_GRPC, corepb.ApiConfigSource_DELTA_GRPC,
			corepb.ApiConfigSource_AGGREGATED_GRPC, corepb.ApiConfigSource_AGGREGATED_DELTA_GRPC,
		}
		if !slices.Contains(kinds, s.ApiConfigSource.ApiType) {
			r.at("api_config_source.api_type").refuse("only gRPC is supported, not %s", s.ApiConfigSource.ApiType)
		}
	}
}
