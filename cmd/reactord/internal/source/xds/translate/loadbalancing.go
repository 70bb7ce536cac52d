package translate

import (
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// hashing is the policy of clusters that choose by a hash.
const hashing = config.Maglev

// balancing reads the load balancing policy, and reports whether locality weights apply.
func balancing(r reading, m *clusterpb.Cluster, b *config.Balance) (weighted bool) {
	b.IPv4Prefix, b.IPv6Prefix = 32, 128 // hash the whole address
	common := m.CommonLbConfig
	panics(r.at("common_lb_config.healthy_panic_threshold"), common.GetHealthyPanicThreshold(), b)
	r.at("common_lb_config.close_connections_on_host_set_change").only(!common.GetCloseConnectionsOnHostSetChange(),
		"closing connections when hosts change is not supported")
	r.at("common_lb_config.ignore_new_hosts_until_first_hc").only(!common.GetIgnoreNewHostsUntilFirstHc(),
		"ignoring new hosts until their first check is not supported")
	weighted = common.GetLocalityWeightedLbConfig() != nil
	factor := common.GetConsistentHashingLbConfig().GetHashBalanceFactor()
	if m.LoadBalancingPolicy != nil {
		return typedPolicy(r.at("load_balancing_policy.policies"), m.LoadBalancingPolicy, b)
	}
	switch m.LbPolicy {
	case clusterpb.Cluster_ROUND_ROBIN:
		b.Policy = config.RoundRobin
		slowStart(r.at("round_robin_lb_config.slow_start_config"), m.GetRoundRobinLbConfig().GetSlowStartConfig(), b)
	case clusterpb.Cluster_LEAST_REQUEST:
		c := m.GetLeastRequestLbConfig()
		leastRequest(r.at("least_request_lb_config"), c.GetChoiceCount(), c.GetActiveRequestBias(), b)
		slowStart(r.at("least_request_lb_config.slow_start_config"), c.GetSlowStartConfig(), b)
	case clusterpb.Cluster_RANDOM:
		b.Policy = config.Random
	case clusterpb.Cluster_MAGLEV, clusterpb.Cluster_RING_HASH:
		hashed(r.at("common_lb_config.consistent_hashing_lb_config.hash_balance_factor"), factor, b)
	default:
		r.at("lb_policy").refuse("%s is not supported: write ROUND_ROBIN, LEAST_REQUEST, RANDOM, MAGLEV or "+
			"RING_HASH", m.LbPolicy)
	}
	return weighted
}

// typedPolicy reads the first supported policy of a list.
func typedPolicy(r reading, m *clusterpb.LoadBalancingPolicy, b *config.Balance) (weighted bool) {
	var others []string
	for i, p := range m.Policies {
		r, config := r.indexed(i).at("typed_extension_config.typed_config"), p.TypedExtensionConfig.GetTypedConfig()
		policy, err := envoypb.Unpack(config)
		if err != nil || !isPolicy(policy) {
			others = append(others, config.GetTypeUrl())
			continue
		}
		r.strict(policy)
		return onePolicy(r, policy, b)
	}
	r.refuse("none of the policies %q is supported: write RoundRobin, LeastRequest, Random, Maglev or RingHash", others)
	return false
}

// isPolicy reports whether onePolicy supports m.
func isPolicy(m proto.Message) bool {
	switch m.(type) {
	case *clusterpb.RoundRobin, *clusterpb.LeastRequest, *clusterpb.Random, *clusterpb.Maglev, *clusterpb.RingHash:
		return true
	}
	return false
}

// onePolicy reads a supported policy.
func onePolicy(r reading, m proto.Message, b *config.Balance) (weighted bool) {
	var locality *clusterpb.LocalityLbConfig
	switch p := m.(type) {
	case *clusterpb.RoundRobin:
		b.Policy, locality = config.RoundRobin, p.LocalityLbConfig
		slowStart(r.at("slow_start_config"), p.SlowStartConfig, b)
	case *clusterpb.LeastRequest:
		locality = p.LocalityLbConfig
		leastRequest(r, p.ChoiceCount, p.ActiveRequestBias, b)
		slowStart(r.at("slow_start_config"), p.SlowStartConfig, b)
	case *clusterpb.Random:
		b.Policy, locality = config.Random, p.LocalityLbConfig
	case *clusterpb.Maglev:
		hashed(r.at("consistent_hashing_lb_config.hash_balance_factor"), p.ConsistentHashingLbConfig.GetHashBalanceFactor(),
			b)
		return p.LocalityWeightedLbConfig != nil
	case *clusterpb.RingHash:
		hashed(r.at("consistent_hashing_lb_config.hash_balance_factor"), p.ConsistentHashingLbConfig.GetHashBalanceFactor(),
			b)
		return p.LocalityWeightedLbConfig != nil
	}
	return locality.GetLocalityWeightedLbConfig() != nil
}

// hashed reads a hash policy. A ring becomes a Maglev table, too.
func hashed(r reading, factor *wrapperspb.UInt32Value, b *config.Balance) {
	b.Policy = hashing
	if n := factor.GetValue(); n != 0 && (n <= 100 || n > 100_000) {
		r.refuse("%d is out of range: write 101 to 100000", n)
	}
	b.LoadFactor = int(factor.GetValue())
}

// leastRequest reads a choice between two random servers or, with more choices, among all.
func leastRequest(r reading, choices *wrapperspb.UInt32Value, bias *corepb.RuntimeDouble, b *config.Balance) {
	if b.Policy = config.P2C; choices.GetValue() > 2 {
		b.Policy = config.LeastConnections
	}
	r.at("active_request_bias").only(bias == nil || bias.DefaultValue == 1,
		"active_request_bias other than 1.0 is not supported")
}

// slow is the slow start settings in either schema.
type slow interface {
	comparable
	GetSlowStartWindow() *durationpb.Duration
	GetAggression() *corepb.RuntimeDouble
	GetMinWeightPercent() *corepb.Percent
}

func slowStart[S slow](r reading, m S, b *config.Balance) {
	var none S
	if m == none {
		return
	}
	b.SlowStart = r.at("slow_start_window").duration(m.GetSlowStartWindow(), 0)
	a, least := m.GetAggression(), m.GetMinWeightPercent()
	r.at("aggression").only(a == nil || a.DefaultValue == 1, "only 1 is supported")
	r.at("min_weight_percent").only(least == nil || least.Value == 10, "only 10 is supported")
}

func panics(r reading, m *corepb.Percent, b *config.Balance) {
	if m == nil {
		b.PanicThreshold = 50
		return
	}
	if math.IsNaN(m.Value) || m.Value < 0 || m.Value > 100 {
		r.refuse("%v is not a percentage", m.Value)
		return
	}
	b.PanicThreshold = int(math.Round(m.Value))
}
