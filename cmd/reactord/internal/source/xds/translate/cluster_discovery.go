package translate

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// discovery reads where the servers of a cluster come from.
func (c *Cluster) discovery(r reading, m *clusterpb.Cluster) {
	if m.GetClusterType() != nil {
		c.custom(r.at("cluster_type.typed_config"), m)
		return
	}
	switch kind := m.GetType(); kind {
	case clusterpb.Cluster_EDS:
		c.eds(r, m)
	case clusterpb.Cluster_STATIC:
		c.assignment(r, m)
	case clusterpb.Cluster_STRICT_DNS, clusterpb.Cluster_LOGICAL_DNS:
		c.dns = c.names(r, m.DnsLookupFamily.String(), m.DnsRefreshRate, m.RespectDnsTtl)
		c.resolver(r.at("typed_dns_resolver_config"), m.TypedDnsResolverConfig)
		c.assignment(r, m)
		if kind == clusterpb.Cluster_LOGICAL_DNS && len(c.inline.all) != 1 {
			r.at("load_assignment").refuse("LOGICAL_DNS has one endpoint, not %d", len(c.inline.all))
		}
	default:
		r.at("type").refuse("%s is not supported: write EDS, STATIC, STRICT_DNS or LOGICAL_DNS", kind)
	}
}

// custom reads an extension cluster type.
func (c *Cluster) custom(r reading, m *clusterpb.Cluster) {
	switch d := r.unpack(m.GetClusterType().TypedConfig).(type) {
	case nil:
	case *clusterpb.DnsCluster:
		family := d.DnsLookupFamily.String()
		if d.DnsLookupFamily == clusterpb.DnsLookupFamily_UNSPECIFIED {
			family = m.DnsLookupFamily.String()
		}
		c.dns = c.names(r, family, d.DnsRefreshRate, d.RespectDnsTtl)
		c.resolver(r.at("typed_dns_resolver_config"), d.TypedDnsResolverConfig)
		c.assignment(reading{errs: r.errs}, m)
	default:
		r.refuse("cluster type %s is not supported", d.ProtoReflect().Descriptor().FullName())
	}
}

func (c *Cluster) eds(r reading, m *clusterpb.Cluster) {
	if m.LoadAssignment != nil {
		r.at("load_assignment").refuse("not allowed with type EDS: remove it")
	}
	r = r.at("eds_cluster_config")
	if m.EdsClusterConfig == nil {
		r.refuse("missing")
		return
	}
	r.at("eds_config").configSource(m.EdsClusterConfig.EdsConfig)
	if c.endpoints = m.EdsClusterConfig.ServiceName; c.endpoints == "" {
		c.endpoints = m.Name
	}
	if fault := nameFault(c.endpoints); fault != "" {
		r.at("service_name").refuse("%q %s", c.endpoints, fault)
	}
}

// assignment reads the inline servers.
func (c *Cluster) assignment(r reading, m *clusterpb.Cluster) {
	if m.EdsClusterConfig != nil {
		r.at("eds_cluster_config").refuse("only allowed with type EDS: remove it")
	}
	c.inline = decodeAssignment(r.at("load_assignment"), m.LoadAssignment, c.dns != nil)
}

// names reads how names are resolved.
func (c *Cluster) names(r reading, family string, rate *durationpb.Duration, ttl bool) *config.DNS {
	d := config.NewDNS()
	switch family {
	case "V4_ONLY":
		d.Type = config.DNSA
	case "V6_ONLY":
		d.Type = config.DNSAAAA
	case "V4_PREFERRED":
		d.Type = config.DNSAOrAAAA
	case "AUTO":
		d.Type = config.DNSAAAAOrA
	case "ALL":
	default:
		r.at("dns_lookup_family").refuse("%s is unknown", family)
	}
	const usual = 5 * time.Second
	every := r.at("dns_refresh_rate").duration(rate, usual)
	if every < time.Millisecond {
		r.at("dns_refresh_rate").refuse("%v is too often: write at least 1 ms", every)
	}
	if d.MinInterval, d.MaxInterval = every, every; ttl {
		usual := config.NewDNS()
		d.MinInterval, d.MaxInterval = usual.MinInterval, max(usual.MaxInterval, every)
	}
	return &d
}

// resolver accepts a resolver that uses the servers of the machine.
func (c *Cluster) resolver(r reading, m *corepb.TypedExtensionConfig) {
	if m == nil {
		return
	}
	switch d := r.at("typed_config").unpack(m.GetTypedConfig()).(type) {
	case nil, *clusterpb.CaresDnsResolverConfig:
	default:
		r.refuse("resolver %s is not supported", d.ProtoReflect().Descriptor().FullName())
	}
}
