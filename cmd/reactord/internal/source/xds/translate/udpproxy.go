package translate

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
)

// datagram has the settings for the datagrams of a listener.
type datagram struct {
	cluster string
	idle    time.Duration // 0 for no limit
	hash    bool          // the client's address selects the server
	logged  bool
}

// readDatagram reads the listener filter udp_proxy.
func readDatagram(r reading, m *listenerpb.UdpProxyConfig) *datagram {
	d := &datagram{
		idle:   r.at("idle_timeout").duration(m.GetIdleTimeout(), sessionTimeout),
		logged: logged(r, m.GetAccessLog()),
	}
	r.at("use_per_packet_load_balancing").only(!m.GetUsePerPacketLoadBalancing(), "per-packet load balancing is not "+
		"supported")
	for i, h := range m.GetHashPolicies() {
		if by, ok := h.GetPolicySpecifier().(*listenerpb.UdpProxyConfig_HashPolicy_SourceIp); !ok || !by.SourceIp {
			r.at("hash_policies[%d]", i).refuse("only source_ip is supported")
		}
		d.hash = true
	}
	d.cluster = readDatagramCluster(r, m)
	return d
}

// readDatagramCluster reads where datagrams go.
func readDatagramCluster(r reading, m *listenerpb.UdpProxyConfig) string {
	if name := m.GetCluster(); name != "" {
		return name
	}
	r = r.at("matcher")
	if m.GetMatcher() == nil {
		r.refuse("write matcher or cluster")
		return ""
	}
	r.only(m.GetMatcher().GetMatcherType() == nil, "only on_no_match is supported")
	action := m.GetMatcher().GetOnNoMatch().GetAction()
	if action == nil {
		r.at("on_no_match").refuse("action is missing")
		return ""
	}
	r = r.at("on_no_match.action")
	switch to := r.unpack(action.GetTypedConfig()).(type) {
	case nil: // refused already
	case *listenerpb.Route:
		if to.GetCluster() == "" {
			r.refuse("cluster is missing")
		}
		return to.GetCluster()
	default:
		r.refuse("%s is not a UDP route", to.ProtoReflect().Descriptor().FullName())
	}
	return ""
}
