package translate

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
)

// Endpoints are the servers of a cluster. They are immutable.
type Endpoints struct {
	name string
	all  []endpoint // each address once per priority
}

// endpoint is a server of a cluster.
type endpoint struct {
	address        serveraddr.Addr // invalid if there is a name
	name           string          // to be resolved, or ""
	port           uint16
	weight         uint32
	localityWeight uint32 // 0 if the locality has none
	group          int    // of endpoints with the same locality and priority
	locality       string
	priority       int
	state          plan.State
	checkPort      int            // 0 for the same
	match          map[string]any // metadata that selects its transport socket
}

const (
	maxPort     = 65535
	maxPriority = 128
)

// DecodeEndpoints decodes an envoy.config.endpoint.v3.ClusterLoadAssignment. The error joins everything that cannot
// be honoured.
func DecodeEndpoints(name string, body []byte) (*Endpoints, error) {
	r, m := newReading(), &clusterpb.ClusterLoadAssignment{}
	if !r.decode(body, m) {
		return nil, r.failed()
	}
	if m.ClusterName != name {
		r.at("cluster_name").refuse("%q does not match the resource name %q", m.ClusterName, name)
	}
	e := decodeAssignment(r, m, false)
	if err := r.failed(); err != nil {
		return nil, err
	}
	return e, nil
}

// Same reports whether both are equal in all that is honoured.
func (e *Endpoints) Same(other *Endpoints) bool {
	return e == other || e != nil && other != nil && e.name == other.name && slices.EqualFunc(e.all, other.all,
		sameEndpoint)
}

func sameEndpoint(a, b endpoint) bool {
	if (a.match != nil || b.match != nil) && !reflect.DeepEqual(a.match, b.match) {
		return false
	}
	return a.address == b.address && a.name == b.name && a.port == b.port && a.weight == b.weight &&
		a.localityWeight == b.localityWeight && a.group == b.group && a.locality == b.locality &&
		a.priority == b.priority && a.state == b.state && a.checkPort == b.checkPort
}

// Len returns how many of them could serve.
func (e *Endpoints) Len() (n int) {
	for i := range e.all {
		if e.all[i].state != plan.Maintenance {
			n++
		}
	}
	return n
}

// groupKey identifies endpoints that share a locality weight.
type groupKey struct {
	priority int
	locality string
}

// decodeAssignment reads servers. names allows host names.
func decodeAssignment(r reading, m *clusterpb.ClusterLoadAssignment, names bool) *Endpoints {
	e := &Endpoints{name: m.GetClusterName()}
	assignmentPolicy(r.at("policy"), m.GetPolicy())
	total := 0
	for _, l := range m.GetEndpoints() {
		total += len(l.LbEndpoints)
	}
	if total > plan.MaxServers {
		r.refuse("%d endpoints exceed the limit of %d servers", total, plan.MaxServers)
		return e
	}
	e.all = make([]endpoint, 0, total)
	known, groups := make(map[endpointKey]bool, total), map[groupKey]int{}
	for i, l := range m.GetEndpoints() {
		if l.Priority > maxPriority {
			r.at("endpoints[%d].priority", i).refuse("%d is more than %d", l.Priority, maxPriority)
		}
		key := groupKey{int(l.Priority), localityName(l.Locality)}
		if _, known := groups[key]; !known {
			groups[key] = len(groups)
		}
		group := endpoint{group: groups[key], locality: key.locality, priority: key.priority}
		if l.Locality != nil { // otherwise without a weight, as in Envoy
			group.localityWeight = l.LoadBalancingWeight.GetValue()
		}
		for j, one := range l.LbEndpoints {
			s := group
			at := func(below string) reading { return r.at("endpoints[%d].lb_endpoints[%d].%s", i, j, below) }
			if s.decode(at, one, names) && !known[s.key()] { // the first one wins, as in Envoy
				known[s.key()] = true
				e.all = append(e.all, s)
			}
		}
	}
	return e
}

// endpointKey identifies endpoints. A name is resolved once.
type endpointKey struct {
	priority int
	address  serveraddr.Addr
	name     string
	port     uint16
}

func (s *endpoint) key() endpointKey {
	if s.name != "" {
		return endpointKey{name: s.name, port: s.port}
	}
	return endpointKey{priority: s.priority, address: s.address}
}

func assignmentPolicy(r reading, m *clusterpb.ClusterLoadAssignment_Policy) {
	for i, d := range m.GetDropOverloads() {
		r.at("drop_overloads[%d]", i).only(d.GetDropPercentage().GetNumerator() == 0, "dropping connections is not supported")
	}
	if f := m.GetOverprovisioningFactor(); f != nil && f.Value != 140 {
		r.at("overprovisioning_factor").refuse("%d: only 140 is supported", f.Value)
	}
	r.at("endpoint_stale_after").only(m.GetEndpointStaleAfter() == nil, "endpoints do not expire")
}

// localityName joins the parts of a locality that are set.
func localityName(l *corepb.Locality) string {
	parts := slices.DeleteFunc([]string{l.GetRegion(), l.GetZone(), l.GetSubZone()},
		func(s string) bool { return s == "" })
	return strings.Join(parts, "/")
}

// healthStates maps a server's health as reported by the control plane. A degraded server is up.
var healthStates = map[corepb.HealthStatus]plan.State{
	corepb.HealthStatus_UNKNOWN: plan.Up, corepb.HealthStatus_HEALTHY: plan.Up, corepb.HealthStatus_DEGRADED: plan.Up,
	corepb.HealthStatus_DRAINING:  plan.Drain,
	corepb.HealthStatus_UNHEALTHY: plan.Maintenance, corepb.HealthStatus_TIMEOUT: plan.Maintenance,
}

// decode reads an endpoint of a locality, and returns false if it was refused. Its additional addresses are ignored.
// at is a place in the endpoint.
func (s *endpoint) decode(at func(below string) reading, m *clusterpb.LbEndpoint, names bool) bool {
	state, known := healthStates[m.HealthStatus]
	if !known {
		at("health_status").refuse("%s is unknown", m.HealthStatus)
	}
	s.state, s.weight = state, 1
	if m.LoadBalancingWeight != nil {
		s.weight = m.LoadBalancingWeight.Value
	}
	if chosen := m.Metadata.GetFilterMetadata()["envoy.transport_socket_match"]; len(chosen.GetFields()) > 0 {
		s.match = chosen.AsMap()
	}
	if check := m.GetEndpoint().GetHealthCheckConfig(); check != nil {
		s.check(at("endpoint.health_check_config"), check)
	}
	a := m.GetEndpoint().GetAddress()
	if pipe := a.GetPipe(); pipe != nil {
		return s.pipe(at("endpoint.address.pipe"), pipe)
	}
	if fault := s.socketAddress(a.GetSocketAddress(), names); fault != "" {
		at("endpoint.address.socket_address").refuse("%s", fault)
		return false
	}
	return true
}

// pipe reads the address of a unix socket. It reports false if it was refused.
func (s *endpoint) pipe(r reading, p *corepb.Pipe) bool {
	a, err := config.ParseAddress("unix://" + p.GetPath())
	switch {
	case err != nil:
		r.at("path").refuse("%v", err)
	case s.checkPort != 0:
		r.refuse("it is checked on port %d, and a unix socket has no port", s.checkPort)
	default:
		s.address = serveraddr.Unix(a.Path)
	}
	return err == nil && s.checkPort == 0
}

// socketAddress reads an address or a name. It returns what is wrong with it, or "".
func (s *endpoint) socketAddress(a *corepb.SocketAddress, names bool) string {
	port := a.GetPortValue()
	switch {
	case a == nil:
		return "missing"
	case port == 0 || port > maxPort:
		return fmt.Sprintf("%d is not a port to connect to", port)
	}
	s.port = uint16(port)
	ip, err := netip.ParseAddr(a.Address)
	switch {
	case err == nil && (ip.IsUnspecified() || ip.IsMulticast() || ip.Zone() != ""):
		return fmt.Sprintf("%s is not a unicast address", ip)
	case err == nil:
		s.address = serveraddr.IP(netip.AddrPortFrom(ip.Unmap(), s.port))
	case !names:
		return fmt.Sprintf("%q is not an IP address: names require a DNS cluster", a.Address)
	default:
		s.name = strings.TrimSuffix(strings.ToLower(a.Address), ".")
	}
	return ""
}

// where returns the address of an endpoint, or its name.
func (s *endpoint) where() string {
	if s.name != "" {
		return net.JoinHostPort(s.name, strconv.Itoa(int(s.port)))
	}
	return s.address.String()
}

// check reads the health check settings of an endpoint.
func (s *endpoint) check(r reading, m *clusterpb.Endpoint_HealthCheckConfig) {
	if s.checkPort = int(m.GetPortValue()); s.checkPort > maxPort {
		r.at("port_value").refuse("%d is not a port", s.checkPort)
	}
	r.at("address").only(m.GetAddress() == nil, "checks use the server's address")
	r.at("disable_active_health_check").only(!m.GetDisableActiveHealthCheck(), "disabling checks of single servers "+
		"is not supported")
}

// fill sets the servers and the names of a backend.
func (e *Endpoints) fill(b *backend, c *Cluster) error {
	if err := e.checkPorts(&b.config.Check); err != nil {
		return err
	}
	weights := e.weights(c.weighted)
	origin := "endpoints " + e.name
	for i := range e.all {
		s := &e.all[i]
		if s.name != "" {
			b.config.DNS = append(b.config.DNS, s.lookup(c.dns, weights[i]))
			continue
		}
		b.servers = append(b.servers, plan.Server{
			Address: s.address, Weight: weights[i], Priority: s.priority, Locality: s.locality,
			MaxConnections: c.perServer, State: s.state, Origin: origin,
		})
	}
	b.servers = onceOnly(b.servers)
	return nil
}

// onceOnly keeps the server with the lowest priority for each address, sorted by address, so that the order in which
// they were sent does not matter.
func onceOnly(all []plan.Server) []plan.Server {
	slices.SortStableFunc(all, func(a, b plan.Server) int { return a.Priority - b.Priority })
	known := make(map[serveraddr.Addr]bool, len(all))
	all = slices.DeleteFunc(all, func(s plan.Server) bool {
		was := known[s.Address]
		known[s.Address] = true
		return was
	})
	slices.SortFunc(all, func(a, b plan.Server) int { return a.Address.Compare(b.Address) })
	return all
}

// lookup returns a name as a source of servers.
func (s *endpoint) lookup(how *config.DNS, weight int) config.DNS {
	d := *how
	d.Name, d.Port = s.name, int(s.port)
	d.Weight, d.Priority, d.Locality = weight, s.priority, s.locality
	return d
}

// checkPorts sets the port of checks, which is common to all servers.
func (e *Endpoints) checkPorts(c *config.Check) error {
	if c.Interval == 0 {
		return nil
	}
	port, first := 0, true
	for i := range e.all {
		own := e.all[i].checkPort
		if own == int(e.all[i].port) {
			own = 0
		}
		if !first && own != port {
			return fmt.Errorf("endpoints have different health check ports, %s and %s: only one is supported",
				strconv.Itoa(port), strconv.Itoa(own))
		}
		port, first = own, false
	}
	if port != 0 {
		c.Port = port
	}
	return nil
}
