package translate

import (
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// bindAt is the address of a listener in JSON.
func bindAt(host, port string) string {
	return `"address":{"socket_address":{"address":"` + host + `","port_value":` + port + `}}`
}

// put adds a listener of these fields to the set.
func (s *Set) put(t testing.TB, name, fields string) {
	t.Helper()
	if _, err := s.add("Listener", name, encoded(t, `"name":"`+name+`",`+fields)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// cluster adds a cluster of these fields, at a server.
func (s *Set) cluster(t testing.TB, name, fields string) {
	t.Helper()
	m := &clusterpb.Cluster{}
	text := `{"name":"` + name + `","type":"STATIC","load_assignment":{"cluster_name":"x","endpoints":[{"lb_endpoints":[` +
		`{"endpoint":{"address":{"socket_address":{"address":"192.0.2.9","port_value":9}}}}]}]}` + fields + `}`
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.add("Cluster", name, body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// built is the part of a plan, and the faults, as text.
func (s *Set) built(t testing.TB) string {
	t.Helper()
	control, faults := Build(s)
	if err := merged(control); err != nil {
		t.Errorf("it cannot be merged: %v", err)
	}
	text := describe(control)
	for _, f := range faults {
		text += "fault: " + f.Error() + "\n"
	}
	return text
}

// TestBuild has what is between resources decided.
func TestBuild(t *testing.T) {
	to := func(fields string) string { return `"filter_chains":[{"filters":[` + toCluster(fields) + `]}]` }
	for _, test := range []struct {
		name  string
		make  func(*Set)
		wants []string
		not   string
	}{
		{"an address twice", func(s *Set) {
			s.put(t, "a", bindAt("0.0.0.0", "80"))
			s.put(t, "b", bindAt("192.0.2.1", "80"))
			s.put(t, "c", bindAt("::", "80"))
			s.put(t, "d", bindAt("::1", "81"))
		}, []string{
			"listener a at", "fault: listener b: address tcp://192.0.2.1:80 overlaps tcp://0.0.0.0:80 of listener a",
			"listener c at", "listener d at",
		}, "listener b at"},
		{"an address that is in force", func(s *Set) {
			s.put(t, "a", bindAt("0.0.0.0", "80"))
			s.put(t, "b", bindAt("192.0.2.1", "80"))
			s.Claims = map[string]Claim{"a": New, "b": InForce}
		}, []string{
			"fault: listener a: address tcp://0.0.0.0:80 overlaps tcp://192.0.2.1:80 of listener b", "listener b at",
		}, "listener a at"},
		{"attempts", func(s *Set) {
			s.put(t, "a", bindAt("192.0.2.1", "80")+","+to(`,"max_connect_attempts":3`))
			s.put(t, "b", bindAt("192.0.2.1", "81")+","+to(`,"max_connect_attempts":4`))
			s.put(t, "c", bindAt("192.0.2.1", "82"))
		}, []string{
			"listener a at", "fault: listener b: max_connect_attempts: ", "listener c at", "Retries=2",
		}, "listener b at"},
		{"buffers", func(s *Set) {
			s.put(t, "a", bindAt("192.0.2.1", "80")+`,"per_connection_buffer_limit_bytes":20480`)
			s.put(t, "b", bindAt("192.0.2.1", "81")+`,"per_connection_buffer_limit_bytes":16384`)
			s.cluster(t, "c", `,"per_connection_buffer_limit_bytes":32768`)
		}, []string{"Buffer=16KiB"}, "fault"},
		{"no cluster", func(s *Set) {
			s.put(t, "a", bindAt("192.0.2.1", "80"))
		}, []string{"listener a", "backend c"}, "fault"},
		{"a cluster without a listener", func(s *Set) { s.cluster(t, "x", "") }, nil, "backend"},
		{"a hash", func(s *Set) {
			s.cluster(t, "c", `,"lb_policy":"MAGLEV"`)
			s.put(t, "a", bindAt("192.0.2.1", "80"))
			s.put(t, "b", bindAt("192.0.2.1", "81")+","+to(`,"hash_policy":[{"source_ip":{}}]`))
		}, []string{"Balance.Policy=maglev"}, "fault"},
		{"a hash without a listener", func(s *Set) {
			s.cluster(t, "c", `,"lb_policy":"MAGLEV"`)
			s.put(t, "a", bindAt("192.0.2.1", "80"))
		}, []string{"Balance.Policy=random"}, "fault"},
		{"idle", func(s *Set) {
			s.cluster(t, "c", `,"common_http_protocol_options":{"idle_timeout":"7s"}`)
			s.put(t, "a", bindAt("192.0.2.1", "80")+","+to(`,"idle_timeout":"70s"`))
			s.put(t, "b", bindAt("192.0.2.1", "81")+","+to(`,"idle_timeout":"5s"`))
		}, []string{"Backend=c IdleTimeout=7s", "Backend=c IdleTimeout=5s"}, "fault"},
		{"no secret", func(s *Set) {
			s.put(t, "a", bindAt("192.0.2.1", "80")+`,"filter_chains":[`+chainOf("", tlsAuth)+`]`)
			s.put(t, "b", bindAt("192.0.2.1", "81"))
		}, []string{`fault: listener a: secret "cert" does not exist`, "listener b"}, "listener a at"},
	} {
		s := newSet()
		test.make(s)
		got := s.built(t)
		for _, want := range test.wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: became\n%s\nand should have %q", test.name, got, want)
			}
		}
		if strings.Contains(got, test.not) {
			t.Errorf("%s: became\n%s\nand should not have %q", test.name, got, test.not)
		}
	}
}

// TestNeeds has a listener name the clusters and secrets that it needs.
func TestNeeds(t *testing.T) {
	weights := filter(tcpProxyType, `"weighted_clusters":{"clusters":[{"name":"b","weight":1},{"name":"a","weight":1}]}`)
	s := newSet()
	s.put(t, "a", `"filter_chains":[{"filters":[`+weights+`]},`+
		chainOf("", `,"filter_chain_match":{"server_names":["x"]}`+tlsAuth)+`]`)
	l := s.Listeners["a"]
	if got := l.Clusters(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("clusters %v", got)
	}
	if got := l.Secrets(); !slices.Equal(got, []string{"ca", "cert"}) {
		t.Errorf("secrets %v", got)
	}
}

// TestIntentions has Consul's intentions become names that clients must have.
func TestIntentions(t *testing.T) {
	const pattern = `^spiffe://[^/]+/ns/default/dc/[^/]+/svc/web$`
	intentions := policies("ALLOW", `{"any":true}`, `{"authenticated":{"principal_name":{"safe_regex":{"regex":"`+pattern+`"}}}}`)
	s := newSet()
	for _, r := range recordings(t) { // a listener with a certificate of its own
		if r.Type != "Listener" || !slices.Contains(r.Recordings, "consul-app-delta") {
			continue
		}
		if _, err := s.add(r.Type, r.Name, r.Body); err != nil {
			t.Fatal(err)
		}
		with := encoded(t, `"filter_chains":[`+chainOf(intentions+",", tlsAuth)+`]`)
		l, err := DecodeListener("l", with)
		if err != nil {
			t.Fatal(err)
		}
		s.Listeners[r.Name].chains[0].named = l.chains[0].named
	}
	if got := s.built(t); !strings.Contains(got, "TLS.ClientSANs=[uri-regex:"+pattern+"]") {
		t.Errorf("became\n%s", got)
	}
}

// TestKeysAreReadOnce has keys read again only if they are others, and a listener the same before and after.
func TestKeysAreReadOnce(t *testing.T) {
	s, same := newSet(), newSet()
	for _, r := range recordings(t) {
		if slices.Contains(r.Recordings, "eg-basic-delta") {
			for _, of := range []*Set{s, same} {
				if _, err := of.add(r.Type, r.Name, r.Body); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	const term, secret = "default/l4/term", "default/term-cert"
	first, _ := Build(s)
	second, _ := Build(s)
	if a, b := first.RouteKeys[term][0], second.RouteKeys[term][0]; a == nil || a != b {
		t.Error("the same secret was read twice")
	}
	if !s.Listeners[term].Same(same.Listeners[term]) {
		t.Error("a listener that is in force differs from one that is not")
	}
	other := *s.Secrets[secret]
	pair := *other.pair
	pair.cert.text += "\n"
	other.pair = &pair
	s.Secrets[secret] = &other
	if third, _ := Build(s); third.RouteKeys[term][0] == first.RouteKeys[term][0] {
		t.Error("another secret was not read")
	}
}
