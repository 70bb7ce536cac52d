package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// wire is a message in JSON in the wire format.
func wire(t testing.TB, m proto.Message, text string) []byte {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

const ads = `{"ads":{}}`

// clusterOf is a cluster "c" whose endpoints come over ADS, with these fields instead, in JSON.
func clusterOf(t testing.TB, fields string) string {
	t.Helper()
	all := map[string]json.RawMessage{"name": json.RawMessage(`"c"`)}
	if !strings.Contains(fields, `"type"`) && !strings.Contains(fields, "cluster_type") {
		all["type"] = json.RawMessage(`"EDS"`)
		all["eds_cluster_config"] = json.RawMessage(`{"eds_config":` + ads + `}`)
	}
	var more map[string]json.RawMessage
	if err := json.Unmarshal([]byte("{"+fields+"}"), &more); err != nil {
		t.Fatalf("%v in %s", err, fields)
	}
	maps.Copy(all, more)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cluster decodes a cluster "c".
func cluster(t testing.TB, fields string) (*Cluster, error) {
	t.Helper()
	return DecodeCluster("c", wire(t, &clusterpb.Cluster{}, clusterOf(t, fields)))
}

// at is an endpoint with further fields.
func at(address string, port int, fields string) string {
	return fmt.Sprintf(`{"endpoint":{"address":{"socket_address":{"address":%q,"port_value":%d}}}%s}`, address, port,
		fields)
}

// region is a locality's endpoints with further fields.
func region(fields string, all ...string) string {
	return `{"lb_endpoints":[` + strings.Join(all, ",") + `]` + fields + `}`
}

// endpoints decodes groups of endpoints of "c".
func endpoints(t testing.TB, groups ...string) (*Endpoints, error) {
	t.Helper()
	text := `{"cluster_name":"c","endpoints":[` + strings.Join(groups, ",") + `]}`
	return DecodeEndpoints("c", wire(t, &clusterpb.ClusterLoadAssignment{}, text))
}

// builtWith is what a cluster and its endpoints become, or why they do not.
func builtWith(t testing.TB, c *Cluster, err error, s *Set, u demand) string {
	if err != nil {
		return "refused: " + err.Error()
	}
	b, err := c.build(s, u)
	if err != nil {
		return "fault: " + err.Error()
	}
	control := &plan.Control{
		Backends: []config.Backend{b.config}, Servers: map[string][]plan.Server{b.config.Name: b.servers},
	}
	if b.keys != nil {
		control.Keys = map[string]*certs.Client{b.config.Name: b.keys}
	}
	valid(t, "the backend", control)
	return describe(control)
}

// backendOf is what a cluster with one server becomes.
func backendOf(t testing.TB, fields string) string {
	t.Helper()
	c, err := cluster(t, fields)
	e, wrong := endpoints(t, region("", at("192.0.2.1", 80, "")))
	if wrong != nil {
		t.Fatal(wrong)
	}
	return builtWith(t, c, err, &Set{Endpoints: map[string]*Endpoints{"c": e, "other": e}}, demand{hash: true})
}

// policy is a load balancing policy.
func policy(name, fields string) string {
	lower := map[string]string{
		"RoundRobin": "round_robin", "LeastRequest": "least_request", "Random": "random", "Maglev": "maglev",
		"RingHash": "ring_hash",
	}[name]
	of := "envoy.extensions.load_balancing_policies." + lower + ".v3." + name
	if lower == "" {
		of = name
	}
	return `{"typed_extension_config":{"typed_config":` + anyOfType(of, fields) + `}}`
}

func policiesOf(all ...string) string {
	return `"load_balancing_policy":{"policies":[` + strings.Join(all, ",") + `]}`
}

// TestClusterFields has each field of a cluster do what it says, or refused.
func TestClusterFields(t *testing.T) {
	check := func(fields string) string {
		return `"health_checks":[{"interval":"5s","timeout":"1s","healthy_threshold":2,"unhealthy_threshold":3,` + fields +
			`}]`
	}
	tcp := check(`"tcp_health_check":{}`)
	http := func(fields string) string {
		const of = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
		return `"typed_extension_protocol_options":{"` + of + `":` + anyOfType(of, fields) + `}`
	}
	dns := func(fields string) string {
		return `"cluster_type":{"typed_config":` + anyOfType("envoy.extensions.clusters.dns.v3.DnsCluster", fields) + `},`
	}
	load := func(groups ...string) string {
		return `"load_assignment":{"cluster_name":"c","endpoints":[` + strings.Join(groups, ",") + `]}`
	}
	name := load(region("", at("A.example.", 80, "")))
	for _, test := range []struct{ name, fields, want string }{
		{"the defaults of Envoy", ``, "backend c Balance.Policy=round_robin Balance.IPv6Prefix=128 " +
			"Balance.PanicThreshold=50 Ejection.Failures=0 " +
			"MaxConnections=1024 IdleTimeout=0s HalfCloseTimeout=1h0m0s LifetimeJitter=0 KeepAlive.Idle=0s\n" +
			"  server Address=192.0.2.1:80 Weight=1\n"},
		{"another name", `"name":"d"`, `refused: name: "d" does not match the resource name "c"`},
		{"connect_timeout", `"connect_timeout":"3s"`, " ConnectTimeout=3s "},
		{"no time", `"connect_timeout":"0s"`, "refused: connect_timeout: too short: write at least 1 ms"},
		{"a negative time", `"connect_timeout":"-1s"`, "refused: connect_timeout: not a duration"},
		{"buffer", `"per_connection_buffer_limit_bytes":32768`, " Buffer=32KiB"},
		{"small buffer", `"per_connection_buffer_limit_bytes":1`, " Buffer=4KiB"},
		{"idle_timeout", `"common_http_protocol_options":{"idle_timeout":"7s"}`, " IdleTimeout=7s HalfCloseTimeout=7s "},
		{"idle_timeout as an extension", http(`"common_http_protocol_options":{"idle_timeout":"7s",` +
			`"max_connection_duration":"9s"}`), " IdleTimeout=7s HalfCloseTimeout=7s Lifetime=9s "},
		{"another extension", `"typed_extension_protocol_options":{"a":` + anyOfType("envoy.type.v3.Percent", "") + `}`,
			`refused: typed_extension_protocol_options["a"]: options of envoy.type.v3.Percent are not supported`},

		{"service_name", `"type":"EDS","eds_cluster_config":{"service_name":"other","eds_config":{"self":{}}}`, "backend c "},
		{"by a server", `"type":"EDS","eds_cluster_config":{"eds_config":{"api_config_source":{"api_type":"GRPC",` +
			`"grpc_services":[{"envoy_grpc":{"cluster_name":"contour"}}]}}}`, "backend c "},
		{"by REST", `"type":"EDS","eds_cluster_config":{"eds_config":{"api_config_source":{"api_type":"REST"}}}`,
			"refused: eds_cluster_config.eds_config.api_config_source.api_type: only gRPC is supported, not REST"},
		{"by the agent of Istio", `"type":"EDS","eds_cluster_config":{"eds_config":{"api_config_source":{"api_type":"GRPC",` +
			`"grpc_services":[{"envoy_grpc":{"cluster_name":"sds-grpc"}}]}}}`, "source sds-grpc is not supported: write ads"},
		{"from nowhere", `"type":"EDS","eds_cluster_config":{}`,
			"refused: eds_cluster_config.eds_config: source is missing: write ads"},
		{"EDS of nothing", `"type":"EDS"`, "refused: eds_cluster_config: missing"},
		{"EDS with endpoints", `"load_assignment":{}`, "refused: load_assignment: not allowed with type EDS: remove it"},
		{"no such endpoints", `"type":"EDS","eds_cluster_config":{"service_name":"none","eds_config":` + ads + `}`,
			`fault: endpoints "none" do not exist`},
		{"STATIC", `"type":"STATIC",` + load(region("", at("192.0.2.7", 81, ""))), "server Address=192.0.2.7:81 "},
		{"STATIC without", `"type":"STATIC"`, "KeepAlive.Idle=0s\n"},
		{"STATIC with a name", `"type":"STATIC",` + name, `refused: load_assignment.endpoints[0].lb_endpoints[0].` +
			`endpoint.address.socket_address: "A.example." is not an IP address: names require a DNS cluster`},
		{"STATIC with EDS", `"type":"STATIC","eds_cluster_config":{}`,
			"refused: eds_cluster_config: only allowed with type EDS: remove it"},
		{"ORIGINAL_DST", `"type":"ORIGINAL_DST"`, "refused: type: ORIGINAL_DST is not supported: write EDS,"},
		{"another type", `"cluster_type":{"typed_config":` + anyOfType("envoy.type.v3.Percent", "") + `}`,
			"refused: cluster_type.typed_config: cluster type envoy.type.v3.Percent is not supported"},
		{"STRICT_DNS", `"type":"STRICT_DNS",` + name, " DNS=[{a.example AAAA_or_A 80 5s 5s 1 0 }]"},
		{"STRICT_DNS with TTL",
			`"type":"STRICT_DNS","respect_dns_ttl":true,"dns_refresh_rate":"600s","dns_lookup_family":"ALL",` + name,
			" DNS=[{a.example ip 80 1s 10m0s 1 0 }]"},
		{"V4_ONLY", `"type":"STRICT_DNS","dns_lookup_family":"V4_ONLY",` + name, " DNS=[{a.example A 80 "},
		{"V6_ONLY", `"type":"STRICT_DNS","dns_lookup_family":"V6_ONLY",` + name, " DNS=[{a.example AAAA 80 "},
		{"V4_PREFERRED", `"type":"STRICT_DNS","dns_lookup_family":"V4_PREFERRED",` + name, " DNS=[{a.example A_or_AAAA 80 "},
		{"too often", `"type":"STRICT_DNS","dns_refresh_rate":"0.000001s",` + name,
			"refused: dns_refresh_rate: 1µs is"},
		{"LOGICAL_DNS", `"type":"LOGICAL_DNS",` + name, " DNS=[{a.example "},
		{"LOGICAL_DNS of two", `"type":"LOGICAL_DNS",` + load(region("", at("a", 80, ""), at("b", 80, ""))),
			"refused: load_assignment: LOGICAL_DNS has one endpoint, not 2"},
		{"addresses in DNS", `"type":"STRICT_DNS",` + load(region("", at("192.0.2.7", 81, ""), at("a.example", 82, ""))),
			"DNS=[{a.example AAAA_or_A 82 5s 5s 1 0 }]"},
		{"weights of names", `"type":"STRICT_DNS","common_lb_config":{"locality_weighted_lb_config":{}},` + load(
			region(`,"locality":{"region":"a"},"load_balancing_weight":80`, at("a", 80, "")),
			region(`,"locality":{"region":"b"},"load_balancing_weight":20,"priority":0`, at("b", 80, ""))),
			" DNS=[{a AAAA_or_A 80 5s 5s 80 0 a} {b AAAA_or_A 80 5s 5s 20 0 b}]"},
		{"cluster_type dns", dns(`"dns_refresh_rate":"30s","dns_lookup_family":"V4_ONLY"`) + name,
			" DNS=[{a.example A 80 30s 30s 1 0 }]"},
		{"cluster_type dns with TTL", `"dns_lookup_family":"V6_ONLY",` +
			dns(`"dns_refresh_rate":"30s","respect_dns_ttl":true`) + name,
			" DNS=[{a.example AAAA 80 1s 5m0s 1 0 }]"},
		{"resolvers", `"type":"STRICT_DNS","typed_dns_resolver_config":{"typed_config":` +
			anyOfType("envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig", "") + `},` + name,
			" DNS=[{a.example "},

		{"round_robin", `"lb_policy":"ROUND_ROBIN","round_robin_lb_config":{"slow_start_config":{"slow_start_window":"9s"}}`,
			"Balance.Policy=round_robin Balance.IPv6Prefix=128 Balance.SlowStart=9s "},
		{"least_request",
			`"lb_policy":"LEAST_REQUEST","least_request_lb_config":{"slow_start_config":{"slow_start_window":"9s"}}`,
			"backend c Balance.IPv6Prefix=128 Balance.SlowStart=9s "},
		{"more choices", `"lb_policy":"LEAST_REQUEST","least_request_lb_config":{"choice_count":5}`,
			"Balance.Policy=least_connections "},
		{"a bias", `"lb_policy":"LEAST_REQUEST","least_request_lb_config":{"active_request_bias":{"default_value":2}}`,
			"refused: least_request_lb_config.active_request_bias"},
		{"random", `"lb_policy":"RANDOM"`, "Balance.Policy=random "},
		{"maglev", `"lb_policy":"MAGLEV"`, "Balance.Policy=maglev "},
		{"ring_hash", `"lb_policy":"RING_HASH"`, "Balance.Policy=maglev "},
		{"a bound", `"lb_policy":"MAGLEV","common_lb_config":{"consistent_hashing_lb_config":{"hash_balance_factor":150}}`,
			"Balance.Policy=maglev Balance.LoadFactor=150 "},
		{"a typed bound", policiesOf(policy("Maglev", `"consistent_hashing_lb_config":{"hash_balance_factor":150}`)),
			"Balance.Policy=maglev Balance.LoadFactor=150 "},
		{"a bound that is none", policiesOf(policy("RingHash", `"consistent_hashing_lb_config":{"hash_balance_factor":99}`)),
			"typed_config.consistent_hashing_lb_config.hash_balance_factor: 99 is out of range"},
		{"CLUSTER_PROVIDED", `"lb_policy":"CLUSTER_PROVIDED"`, "refused: lb_policy: CLUSTER_PROVIDED is not supported: write"},
		{"aggression",
			`"round_robin_lb_config":{"slow_start_config":{"slow_start_window":"9s","aggression":{"default_value":2}}}`,
			"refused: round_robin_lb_config.slow_start_config.aggression"},
		{"from half a weight", `"round_robin_lb_config":{"slow_start_config":{"min_weight_percent":{"value":50}}}`,
			"only 10 is supported"},
		{"a typed policy", `"lb_policy":"MAGLEV",` + policiesOf(policy("Random", "")), "Balance.Policy=random "},
		{"typed round_robin", policiesOf(policy("RoundRobin", `"slow_start_config":{"slow_start_window":"9s"}`)),
			"Balance.SlowStart=9s "},
		{"typed least_request", policiesOf(policy("LeastRequest", `"slow_start_config":{"slow_start_window":"9s"}`)),
			"backend c Balance.IPv6Prefix=128 Balance.SlowStart=9s "},
		{"typed maglev", policiesOf(policy("Maglev", "")), "Balance.Policy=maglev "},
		{"typed ring_hash", policiesOf(policy("RingHash", "")), "Balance.Policy=maglev "},
		{"the first that is known", policiesOf(policy("envoy.type.v3.Percent", ""), policy("Random", ""), policy("Maglev",
			"")),
			"Balance.Policy=random "},
		{"none that is known", policiesOf(policy("envoy.type.v3.Percent", "")),
			"refused: load_balancing_policy.policies: none of the policies"},
		{"no threshold of panic", `"common_lb_config":{"healthy_panic_threshold":{}}`, " Balance.IPv6Prefix=128 Ejection"},
		{"a threshold of panic", `"common_lb_config":{"healthy_panic_threshold":{"value":29.6}}`,
			" Balance.PanicThreshold=30 "},
		{"a wrong one", `"common_lb_config":{"healthy_panic_threshold":{"value":101}}`,
			"healthy_panic_threshold: 101 is not a percentage"},
		{"connections end", `"common_lb_config":{"close_connections_on_host_set_change":true}`,
			"refused: common_lb_config.close_connections_on_host_set_change"},

		{"max_connections",
			`"circuit_breakers":{"thresholds":[{"max_connections":7},{"priority":"HIGH","max_connections":8}]}`,
			" MaxConnections=7 "},
		{"no limit", `"circuit_breakers":{"thresholds":[{"max_connections":4294967295}]}`, "Ejection.Failures=0 IdleTimeout"},
		{"no connections", `"circuit_breakers":{"thresholds":[{"max_connections":0}]}`,
			"refused: circuit_breakers.thresholds[0].max_connections: 0 connections make the cluster useless:"},
		{"connections that wait", `"circuit_breakers":{"thresholds":[{"max_pending_requests":7}]}`,
			" MaxConnections=1024 Queue.Size=7 "},
		{"of a server", `"circuit_breakers":{"per_host_thresholds":[{"max_connections":7}]}`, " Weight=1 MaxConnections=7\n"},

		{"a check", tcp, " Check.Interval=5s Check.FastInterval=5s Check.Timeout=1s "},
		{"bytes", check(`"tcp_health_check":{"send":{"text":"70696e67"},"receive":[{"binary":"cG9uZw=="}]}`),
			" Check.SendHex=70696e67 Check.ExpectHex=706f6e67 "},
		{"bytes that are none", check(`"tcp_health_check":{"send":{"text":"ping"}}`),
			"refused: health_checks[0].tcp_health_check.send.text: not hexadecimal"},
		{"two texts", check(`"tcp_health_check":{"receive":[{"text":"00"},{"text":"01"}]}`),
			"only one text to receive is supported, not 2"},
		{"thresholds",
			`"health_checks":[{"interval":"5s","timeout":"1s","healthy_threshold":7,"unhealthy_threshold":8,"tcp_health_check":{}}]`,
			" Check.Rise=7 Check.Fall=8 "},
		{"no thresholds", `"health_checks":[{"interval":"5s","timeout":"1s","tcp_health_check":{}}]`,
			"refused: health_checks[0].healthy_threshold: 0 is out of range"},
		{"intervals",
			check(`"tcp_health_check":{},"unhealthy_interval":"6s","unhealthy_edge_interval":"2s"`),
			" Check.FastInterval=2s Check.DownInterval=6s "},
		{"edges that differ", check(`"tcp_health_check":{},"unhealthy_edge_interval":"1s","healthy_edge_interval":"2s"`),
			"healthy_edge_interval: 2s differs from unhealthy_edge_interval, 1s"},
		{"a port of checks", check(`"tcp_health_check":{},"alt_port":81`), " Check.Port=81 "},
		{"no kind", `"health_checks":[{"interval":"5s","timeout":"1s","healthy_threshold":2,"unhealthy_threshold":3}]`,
			"refused: health_checks[0]: unknown kind of check: write tcp_health_check"},
		{"two checks", `"health_checks":[{},{}]`, "refused: health_checks: only one check is supported, not 2"},
		{"connections of failed servers", `"close_connections_on_host_health_failure":true,` + tcp,
			" Check.CloseOnDown=true "},
		{"without a check", `"close_connections_on_host_health_failure":true`,
			"no health check that a server could fail"},

		{"outlier_detection", `"outlier_detection":{}`, " Ejection.Time=30s Ejection.MaxPercent=10 MaxConnections"},
		{"errors 5xx",
			`"outlier_detection":{"consecutive_5xx":7,"base_ejection_time":"20s","max_ejection_time":"10s","max_ejection_percent":100}`,
			" Ejection.Failures=7 Ejection.Time=20s Ejection.MaxTime=20s Ejection.MaxPercent=100 "},
		{"errors of gateways",
			`"outlier_detection":{"consecutive_gateway_failure":3,"enforcing_consecutive_gateway_failure":100}`,
			" Ejection.Failures=3 "},
		{"local errors",
			`"outlier_detection":{"split_external_local_origin_errors":true,"consecutive_5xx":2,"consecutive_local_origin_failure":9}`,
			" Ejection.Failures=9 "},
		{"not enforced", `"outlier_detection":{"enforcing_consecutive_5xx":0}`, " Ejection.Failures=0 "},
		{"enforced at times", `"outlier_detection":{"enforcing_consecutive_5xx":50}`,
			"refused: outlier_detection.enforcing_consecutive_5xx: 50 %: write 0 or 100"},

		{"keep-alive",
			`"upstream_connection_options":{"tcp_keepalive":{"keepalive_probes":3,"keepalive_time":1200,"keepalive_interval":60}}`,
			" KeepAlive.Idle=20m0s KeepAlive.Interval=1m0s KeepAlive.Count=3"},
		{"keep-alive of the kernel", `"upstream_connection_options":{"tcp_keepalive":{}}`,
			" KeepAlive.Idle=2h0m0s KeepAlive.Interval=1m15s KeepAlive.Count=9"},
		{"keep-alive of too long", `"upstream_connection_options":{"tcp_keepalive":{"keepalive_time":100000}}`,
			"refused: upstream_connection_options.tcp_keepalive.keepalive_time: 100000 s is out of range"},
		{"a filter of Istio", `"filters":[{"typed_config":{"@type":"type.googleapis.com/udpa.type.v1.TypedStruct"}}]`,
			"backend c "},
		{"another filter", `"filters":[{"typed_config":` + anyOfType("envoy.type.v3.Percent", "") + `}]`,
			"refused: filters[0]: filter envoy.type.v3.Percent is not supported"},
	} {
		if got := backendOf(t, test.fields); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\nis %s\nand should have %s", test.name, test.fields, got, test.want)
		}
	}
}

// A cluster is the same if what it says is, whatever the order of its bytes, and its defaults are those of the schema.
func TestSameCluster(t *testing.T) {
	body := wire(t, &clusterpb.Cluster{}, clusterOf(t, `"connect_timeout":"5s"`))
	const altStatName = 28
	one, err := DecodeCluster("c", protowire.AppendString(protowire.AppendTag(body, altStatName, protowire.BytesType),
		"a"))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := cluster(t, "")
	if !one.Same(other) || !other.Same(one) {
		t.Error("the same cluster is another")
	}
	if third, _ := cluster(t, `"connect_timeout":"6s"`); one.Same(third) {
		t.Error("another cluster is the same")
	}
}

// Without a hash that listeners ask for, a server is chosen at random.
func TestHashing(t *testing.T) {
	c, err := cluster(t, `"lb_policy":"MAGLEV"`)
	if err != nil || !c.hashes() {
		t.Fatal(err)
	}
	s := &Set{Endpoints: map[string]*Endpoints{"c": {}}}
	if got := builtWith(t, c, nil, s, demand{}); !strings.Contains(got, "Balance.Policy=random ") {
		t.Error(got)
	}
	if got := builtWith(t, c, nil, s, demand{hash: true}); !strings.Contains(got, "Balance.Policy=maglev ") {
		t.Error(got)
	}
	if c.Endpoints() != "c" || !reflect.DeepEqual(c.Secrets(), []string(nil)) {
		t.Errorf("%q, %q", c.Endpoints(), c.Secrets())
	}
}
