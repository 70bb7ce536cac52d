package translate

import (
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
)

// maxWeight is the largest weight in a route.
const maxWeight = 1_000_000

// tcpProxy reads the network filter tcp_proxy, which says where the connections of a chain go.
func (ch *chain) tcpProxy(r reading, m *listenerpb.TcpProxy) {
	to := &ch.route
	switch by := m.GetClusterSpecifier().(type) {
	case *listenerpb.TcpProxy_Cluster:
		to.Backend = by.Cluster
	case *listenerpb.TcpProxy_WeightedClusters:
		to.Backends = readWeights(r.at("weighted_clusters"), by.WeightedClusters)
	}
	switch given := to.Backend != "" || len(to.Backends) > 0; {
	case ch.bySNI && len(to.Backends) > 0:
		r.at("weighted_clusters").refuse("not allowed with sni_cluster")
	case ch.bySNI:
		to.Backend = ""
	case !given:
		r.refuse("cluster is missing")
	}
	to.IdleTimeout = r.at("idle_timeout").duration(m.GetIdleTimeout(), idleTimeout)
	to.Lifetime = r.at("max_downstream_connection_duration").duration(m.GetMaxDownstreamConnectionDuration(), 0)
	ch.use.attempts = r.at("max_connect_attempts").atMost(m.GetMaxConnectAttempts().GetValue(), 101)
	for i, h := range m.GetHashPolicy() {
		r.at("hash_policy[%d]", i).only(h.GetSourceIp() != nil, "only source_ip is supported")
		ch.use.hash = true
	}
}

// readWeights reads clusters with weights. The weights of a repeated cluster are added.
func readWeights(r reading, m *listenerpb.TcpProxy_WeightedCluster) []config.WeightedBackend {
	index := map[string]int{}
	var out []config.WeightedBackend
	var total uint64
	for i, c := range m.GetClusters() {
		r := r.at("clusters[%d]", i)
		switch {
		case c.GetName() == "":
			r.at("name").refuse("missing")
			continue
		case c.GetWeight() == 0:
			r.at("weight").refuse("0 is not allowed: remove the cluster from the list")
		case c.GetWeight() > maxWeight:
			r.at("weight").refuse("%d is more than %d", c.GetWeight(), maxWeight)
			continue
		}
		total += uint64(c.GetWeight())
		at, twice := index[c.GetName()]
		if !twice {
			at = len(out)
			index[c.GetName()] = at
			out = append(out, config.WeightedBackend{Backend: c.GetName()})
		}
		out[at].Weight += int(c.GetWeight())
	}
	if total > maxWeight {
		r.refuse("the sum of the weights, %d, exceeds %d", total, maxWeight)
	}
	return out
}
