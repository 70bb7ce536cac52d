package translate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"google.golang.org/protobuf/proto"
)

// serversOf is the servers of a cluster with these endpoints, or why it is refused.
func serversOf(t testing.TB, fields string, groups ...string) string {
	t.Helper()
	e, err := endpoints(t, groups...)
	if err != nil {
		return "refused: " + err.Error()
	}
	c, err := cluster(t, fields)
	got := builtWith(t, c, err, &Set{Endpoints: map[string]*Endpoints{"c": e}}, demand{})
	if _, servers, ok := strings.Cut(got, "\n"); ok {
		return strings.ReplaceAll(servers, "  server", "")
	}
	return got
}

// TestEndpointFields has each field of endpoints do what it says, or refused.
func TestEndpointFields(t *testing.T) {
	const weighted = `"common_lb_config":{"locality_weighted_lb_config":{}}`
	locality := func(region string, weight int) string {
		return fmt.Sprintf(`,"locality":{"region":%q,"zone":"z","sub_zone":"s"},"load_balancing_weight":%d`, region, weight)
	}
	one := at("192.0.2.1", 80, "")
	const ofOne = " Address=192.0.2.1:80 Weight=1"
	for _, test := range []struct {
		name, fields string
		groups       []string
		want         string
	}{
		{"nothing", "", nil, ""},
		{"an empty locality", "", []string{region("")}, ""},
		{"one", "", []string{region("", one)}, ofOne + "\n"},
		{"IPv6", "", []string{region("", at("2001:DB8::1", 80, ""))},
			" Address=[2001:db8::1]:80 Weight=1\n"},
		{"IPv4 in IPv6", "", []string{region("", at("::ffff:192.0.2.1", 80, ""))}, ofOne + "\n"},
		{"a name", "", []string{region("", at("a.example", 80, ""))},
			`refused: endpoints[0].lb_endpoints[0].endpoint.address.socket_address: "a.example" is not an IP address: names require a DNS cluster`},
		{"no port", "", []string{region("", at("192.0.2.1", 0, ""))}, "0 is not a port to connect to"},
		{"a port", "", []string{region("", at("192.0.2.1", 65536, ""))}, "65536 is not a port to connect to"},
		{"no address", "", []string{region("", `{"endpoint":{}}`)},
			"refused: endpoints[0].lb_endpoints[0].endpoint.address.socket_address: missing"},
		{"every address", "", []string{region("", at("0.0.0.0", 1, ""))}, "0.0.0.0 is not a unicast address"},
		{"weights", "", []string{region("", at("192.0.2.1", 1, `,"load_balancing_weight":3`), at("192.0.2.1", 2, ""))},
			" Address=192.0.2.1:1 Weight=3\n Address=192.0.2.1:2 Weight=1\n"},
		{"equal weights", "", []string{region("", at("192.0.2.1", 1, `,"load_balancing_weight":128`), at("192.0.2.1", 2,
			`,"load_balancing_weight":128`))},
			" Address=192.0.2.1:1 Weight=1\n Address=192.0.2.1:2 Weight=1\n"},
		{"large weights", "", []string{region("", at("192.0.2.1", 1, `,"load_balancing_weight":4000`), at("192.0.2.1", 2,
			""))},
			" Address=192.0.2.1:1 Weight=1000\n Address=192.0.2.1:2 Weight=1\n"},
		{"no weight", "", []string{region("", at("192.0.2.1", 1, `,"load_balancing_weight":0`), at("192.0.2.1", 2,
			`,"load_balancing_weight":5`))},
			" Address=192.0.2.1:1\n Address=192.0.2.1:2 Weight=1\n"},
		{"weights of localities", weighted, []string{
			region(locality("a", 80), at("192.0.2.1", 1, ""), at("192.0.2.1", 2, "")), region(locality("b", 20),
				at("192.0.2.1", 3, "")),
		}, " Address=192.0.2.1:1 Weight=40 Locality=a/z/s\n" +
			" Address=192.0.2.1:2 Weight=40 Locality=a/z/s\n" +
			" Address=192.0.2.1:3 Weight=20 Locality=b/z/s\n"},
		{"weights of localities that do not count", "", []string{
			region(locality("a", 80), at("192.0.2.1", 1, ""), at("192.0.2.1", 2, "")), region(locality("b", 20),
				at("192.0.2.1", 3, "")),
		}, " Weight=1 Locality=b/z/s\n"},
		{"weights of localities by a typed policy", policiesOf(policy("Random",
			`"locality_lb_config":{"locality_weighted_lb_config":{}}`)), []string{
			region(locality("a", 3), at("192.0.2.1", 1, "")), region(locality("b", 1), at("192.0.2.1", 3, "")),
		}, " Weight=3 Locality=a/z/s\n"},
		{"the same locality twice", weighted, []string{
			region(locality("a", 50), at("192.0.2.1", 1, "")), region(locality("a", 50), at("192.0.2.1", 2, "")),
			region(locality("b", 50), at("192.0.2.1", 3, "")),
		}, ":2 Weight=25 Locality=a/z/s\n Address=192.0.2.1:3 Weight=50 Locality=b/z/s\n"},
		{"a locality without weight", weighted, []string{
			region(locality("a", 80), one), region(`,"locality":{"region":"b"}`, at("192.0.2.3", 80, "")),
		}, ofOne + " Locality=a/z/s\n Address=192.0.2.3:80 Locality=b\n"},
		{"no locality with a weight", weighted, []string{
			region(`,"load_balancing_weight":7`, one), region(`,"locality":{"region":"b"}`, at("192.0.2.3", 80, "")),
		}, ofOne + "\n Address=192.0.2.3:80 Weight=1 Locality=b\n"},
		{"what is left of a locality", weighted, []string{
			region(locality("a", 50), at("192.0.2.1", 1, ""), at("192.0.2.1", 2, `,"health_status":"DRAINING"`),
				at("192.0.2.1", 3, "")),
			region(locality("b", 50), at("192.0.2.1", 4, "")),
		}, " Address=192.0.2.1:1 Weight=467 Locality=a/z/s\n" +
			" Address=192.0.2.1:2 Weight=333 Locality=a/z/s State=drain\n"},
		{"priorities", "", []string{region(`,"priority":1`, at("192.0.2.1", 1, "")), region("", at("192.0.2.1", 2, ""))},
			" Address=192.0.2.1:1 Weight=1 Priority=1\n Address=192.0.2.1:2 Weight=1\n"},
		{"a priority", "", []string{region(`,"priority":129`, one)}, "refused: endpoints[0].priority: 129 is more than 128"},
		{"the same address twice", "", []string{region("", one, at("192.0.2.1", 80, `,"load_balancing_weight":9`))}, ofOne +
			"\n"},
		{"the same address in two priorities", "", []string{region(`,"priority":1`, one), region("", one)}, ofOne + "\n"},
		{"a pipe", "", []string{region("", `{"endpoint":{"address":{"pipe":{"path":"/run/app.sock"}}}}`)},
			" Address=unix:///run/app.sock Weight=1"},
		{"an abstract pipe", "", []string{region("", `{"endpoint":{"address":{"pipe":{"path":"@app"}}}}`)},
			" Address=unix://@app Weight=1"},
		{"a relative pipe", "", []string{region("", `{"endpoint":{"address":{"pipe":{"path":"app"}}}}`)},
			"endpoint.address.pipe.path: the path is not absolute"},
		{"a pipe that is checked on a port", "", []string{region("",
			`{"endpoint":{"address":{"pipe":{"path":"/a"}},"health_check_config":{"port_value":1}}}`)},
			"endpoint.address.pipe: it is checked on port 1, and a unix socket has no port"},
		{"healthy", "", []string{region("", at("192.0.2.1", 80, `,"health_status":"HEALTHY"`))}, ofOne + "\n"},
		{"degraded", "", []string{region("", at("192.0.2.1", 80, `,"health_status":"DEGRADED"`))}, ofOne + "\n"},
		{"draining", "", []string{region("", at("192.0.2.1", 80, `,"health_status":"DRAINING"`))}, ofOne + " State=drain\n"},
		{"unhealthy", "", []string{region("", at("192.0.2.1", 80, `,"health_status":"UNHEALTHY"`))}, ofOne +
			" State=maintenance\n"},
		{"timeout", "", []string{region("", at("192.0.2.1", 80, `,"health_status":"TIMEOUT"`))}, ofOne +
			" State=maintenance\n"},
		{"another state", "", []string{region("", at("192.0.2.1", 80, `,"health_status":99`))},
			"health_status: 99 is unknown"},
		{"not checked", "", []string{region("",
			`{"endpoint":{"address":{"socket_address":{"address":"192.0.2.1","port_value":80}},`+
				`"health_check_config":{"disable_active_health_check":true}}}`)},
			"disable_active_health_check: disabling checks of single servers is not supported"},
	} {
		got := serversOf(t, test.fields, test.groups...)
		if !strings.Contains(got, test.want) || test.want == "" && got != "" || strings.HasPrefix(test.want, " Address") &&
			!strings.HasPrefix(got, " Address") {
			t.Errorf("%s:\n%s\nshould have\n%s", test.name, got, test.want)
		}
	}
}

// TestAssignmentFields has each other field of an assignment do what it says, or refused.
func TestAssignmentFields(t *testing.T) {
	for fields, want := range map[string]string{
		`"policy":{"overprovisioning_factor":140}`:                          "",
		`"policy":{"overprovisioning_factor":100}`:                          "policy.overprovisioning_factor: 100: only 140 is supported",
		`"policy":{"drop_overloads":[{"drop_percentage":{"numerator":0}}]}`: "",
		`"policy":{"drop_overloads":[{"drop_percentage":{"numerator":5}}]}`: "policy.drop_overloads[0]: dropping connections is not supported",
		`"policy":{"endpoint_stale_after":"5s"}`:                            "policy.endpoint_stale_after: endpoints do not expire",
		`"cluster_name":"d"`:                                                `cluster_name: "d" does not match the resource name "c"`,
	} {
		text := `{"cluster_name":"c",` + fields + `}`
		if strings.Contains(fields, "cluster_name") {
			text = "{" + fields + "}"
		}
		_, err := DecodeEndpoints("c", wire(t, &clusterpb.ClusterLoadAssignment{}, text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", fields, err)
		}
	}
}

// Ports of checks are honoured if they are the same for all.
func TestCheckPorts(t *testing.T) {
	const checks = `"health_checks":[{"interval":"5s","timeout":"1s","healthy_threshold":2,"unhealthy_threshold":3,"tcp_health_check":{}}]`
	checked := func(port, own int) string {
		return fmt.Sprintf(`{"endpoint":{"address":{"socket_address":{"address":"192.0.2.1","port_value":%d}},`+
			`"health_check_config":{"port_value":%d}}}`, port, own)
	}
	for _, test := range []struct {
		groups string
		want   string
	}{
		{region("", checked(80, 81), checked(82, 81)), " Check.Port=81 "},
		{region("", checked(80, 80), checked(82, 82)), "Check.Timeout=1s Ejection"},
		{region("", checked(80, 80), checked(82, 81)), "fault: endpoints have different health check ports, 0 and 81:"},
	} {
		e, err := endpoints(t, test.groups)
		if err != nil {
			t.Fatal(err)
		}
		c, err := cluster(t, checks)
		if got := builtWith(t, c, err, &Set{Endpoints: map[string]*Endpoints{"c": e}}, demand{}); !strings.Contains(got,
			test.want) {
			t.Errorf("%s should have %s", got, test.want)
		}
	}
}

// TestWeights compares weights with the shares that Envoy gives: they are in proportion but for rounding, and within
// bounds.
func TestWeights(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		e, localities := randomEndpoints(r), r.IntN(2) == 0
		weights, shares := e.weights(localities), envoyShares(e, localities)
		greatest, heaviest := map[int]float64{}, map[int]int{}
		for i := range e.all {
			p := e.all[i].priority
			greatest[p], heaviest[p] = max(greatest[p], shares[i]), max(heaviest[p], weights[i])
		}
		for i, w := range weights {
			p := e.all[i].priority
			if w < 0 || w > greatestWeight || (w == 0) != (shares[i] == 0) {
				t.Fatalf("seed %d: weight %d for a share of %v", seed, w, shares[i])
			}
			if w == 0 {
				continue
			}
			exact := shares[i] / greatest[p] * float64(heaviest[p])
			if off := math.Abs(float64(w) - exact); off > 0.5+1e-6 && w != 1 {
				t.Fatalf("seed %d: weight %d should be %v", seed, w, exact)
			}
		}
	}
}

func randomEndpoints(r *rand.Rand) *Endpoints {
	e := &Endpoints{}
	for group := range 1 + r.IntN(5) {
		one := endpoint{group: group, priority: r.IntN(3), localityWeight: uint32(r.IntN(3) * r.IntN(1000))}
		for range r.IntN(10) {
			one.weight, one.state = 1, plan.State(r.IntN(5)/3)
			if r.IntN(2) == 0 {
				one.weight = uint32(r.IntN(5) * r.IntN(1<<r.IntN(31)))
			}
			e.all = append(e.all, one)
		}
	}
	return e
}

// envoyShares is the probability of each endpoint that is up in its priority, and for others what it would be if all
// were.
func envoyShares(e *Endpoints, localities bool) []float64 {
	out := make([]float64, len(e.all))
	for i := range e.all {
		s := &e.all[i]
		var all, up, sum, sumUp float64
		weighted := false
		for j := range e.all {
			o := &e.all[j]
			weighted = weighted || localities && o.priority == s.priority && o.localityWeight > 0
			if o.group != s.group {
				continue
			}
			all, sum = all+1, sum+float64(o.weight)
			if o.state == plan.Up {
				up, sumUp = up+1, sumUp+float64(o.weight)
			}
		}
		switch {
		case s.weight == 0:
		case !weighted:
			out[i] = float64(s.weight)
		case s.state == plan.Up:
			out[i] = float64(s.localityWeight) * min(1, 1.4*up/all) * float64(s.weight) / sumUp
		default:
			out[i] = float64(s.localityWeight) * float64(s.weight) / sum
		}
	}
	return out
}

// Endpoints differ if any of their fields does.
func TestSameEndpoints(t *testing.T) {
	set := map[string]any{
		"address": serveraddr.MustParse("192.0.2.1:1"), "name": "a", "port": uint16(1), "weight": uint32(1),
		"localityWeight": uint32(1), "group": 1, "locality": "a", "priority": 1, "state": plan.Drain, "checkPort": 1,
		"match": map[string]any{"a": "b"},
	}
	of := reflect.TypeFor[endpoint]()
	for i := range of.NumField() {
		var other endpoint
		field := reflect.ValueOf(&other).Elem().Field(i)
		reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(set[of.Field(i).Name]))
		a, b := &Endpoints{all: []endpoint{{}}}, &Endpoints{all: []endpoint{other}}
		if a.Same(b) || !b.Same(&Endpoints{all: []endpoint{other}}) {
			t.Errorf("%s does not count", of.Field(i).Name)
		}
	}
}

// A backend has so many servers at most.
func TestTooManyEndpoints(t *testing.T) {
	m := &clusterpb.ClusterLoadAssignment{}
	one := wire(t, m, `{"cluster_name":"c","endpoints":[`+region("", at("192.0.2.1", 80, ""))+`]}`)
	l := m.Endpoints[0]
	for len(l.LbEndpoints) <= plan.MaxServers {
		l.LbEndpoints = append(l.LbEndpoints, l.LbEndpoints...)
	}
	l.LbEndpoints = l.LbEndpoints[:plan.MaxServers+1]
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeEndpoints("c", one); err != nil {
		t.Error(err)
	}
	if _, err := DecodeEndpoints("c", body); err == nil || !strings.Contains(err.Error(), "65537 endpoints exceed "+
		"the limit") {
		t.Error(err)
	}
}

// The order in which endpoints are sent changes no server, so that all reactords choose the same one for a client.
func TestOrderOfEndpoints(t *testing.T) {
	const fields = `"lb_policy":"MAGLEV","common_lb_config":{"locality_weighted_lb_config":{}}`
	a := region(`,"locality":{"region":"a"},"load_balancing_weight":3`, at("192.0.2.1", 1, ""), at("192.0.2.2", 1, ""))
	b := region(`,"locality":{"region":"b"},"load_balancing_weight":2,"priority":1`, at("192.0.2.3", 1, ""))
	c := region(`,"locality":{"region":"c"},"load_balancing_weight":1`, at("192.0.2.4", 1, ""))
	mirrored := region(`,"locality":{"region":"a"},"load_balancing_weight":3`, at("192.0.2.2", 1, ""), at("192.0.2.1", 1, ""))
	want := serversOf(t, fields, a, b, c)
	for _, groups := range [][]string{{c, b, a}, {b, mirrored, c}} {
		if got := serversOf(t, fields, groups...); got != want {
			t.Errorf("%s\nis not\n%s", got, want)
		}
	}
}
