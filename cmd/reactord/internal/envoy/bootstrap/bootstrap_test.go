package bootstrap

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"
)

// load reads a bootstrap with these flags.
func load(t *testing.T, args ...string) *Bootstrap {
	t.Helper()
	f, err := ParseFlags(args)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Bootstrap()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withoutTLS compares servers without the function that makes their TLS.
var withoutTLS = cmp.Options{
	cmpopts.IgnoreFields(stream.Server{}, "TLS"), cmpopts.IgnoreFields(stream.Metadata{}, "Read"),
}

// The command line and the bootstrap of Envoy Gateway 1.9.1 as they were recorded.
func TestEnvoyGateway(t *testing.T) {
	text, err := os.ReadFile("testdata/envoy-gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFlags([]string{
		"--service-cluster", "default/l4", "--service-node", "default-l4-9c662b7b", "--config-yaml", string(text),
		"--log-level", "warn", "--cpuset-threads", "--drain-strategy", "immediate", "--component-log-level", "misc:error",
		"--drain-time-s", "60", "--admin-address-path", "/fleet/admin-address.txt", "--", "--run-id", "20261122_070238_002",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Flags{
		ConfigYAML: string(text), Node: "default-l4-9c662b7b", Cluster: "default/l4", LogLevel: "warn",
		AdminAddressPath: "/fleet/admin-address.txt", Drain: time.Minute,
		Ignored: []string{"--cpuset-threads", "--drain-strategy", "--component-log-level"},
	}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	b, err := f.Bootstrap()
	if err != nil {
		t.Fatal(err)
	}
	wantB := &Bootstrap{
		Node:    Node{ID: "default-l4-9c662b7b", Cluster: "default/l4"},
		Servers: []stream.Server{{Network: "tcp", Address: "0.0.0.0:18000"}}, ConnectTimeout: 10 * time.Second,
		PingInterval: 30 * time.Second, PingTimeout: 5 * time.Second,
		Admin: Address{"tcp", "127.0.0.1:0"},
		Warnings: []string{"node.locality.zone is $(ENVOY_SERVICE_ZONE), which the starter of Envoy has not replaced: " +
			"it is not told"},
	}
	if d := cmp.Diff(wantB, b, withoutTLS, cmpopts.IgnoreFields(Bootstrap{}, "Ignored")); d != "" {
		t.Error(d)
	}
	if b.Servers[0].TLS == nil {
		t.Error("there is no TLS")
	}
	for _, want := range []string{"overload_manager", "stats_config", "layered_runtime", "admin.access_log"} {
		if !strings.Contains(strings.Join(b.Ignored, " "), want) {
			t.Errorf("%s is not among the ignored %q", want, b.Ignored)
		}
	}
}

// The bootstrap of Consul 1.22.6 as it was recorded.
func TestConsul(t *testing.T) {
	want := &Bootstrap{
		Node: Node{ID: "apigw-1", Cluster: "apigw", Metadata: map[string]any{"namespace": "default", "partition": "default"}},
		Servers: []stream.Server{{Network: "tcp", Address: "127.0.0.1:8502",
			Metadata: []stream.Metadata{{Key: "x-consul-token"}}}},
		ConnectTimeout: time.Second, Admin: Address{"tcp", "127.0.0.1:19000"},
	}
	b := load(t, "--config-path", "testdata/consul.json", "--disable-hot-restart")
	if d := cmp.Diff(want, b, withoutTLS, cmpopts.IgnoreFields(Bootstrap{}, "Ignored")); d != "" {
		t.Error(d)
	}
	if b.Servers[0].TLS != nil {
		t.Error("there is TLS")
	}
}

// minimal is a bootstrap with parts to be replaced, in the style of pilot-agent.
func minimal(cluster, more string) string {
	return fmt.Sprintf(`{
	"node": {"id": "router~10.0.0.1~gw.ns~ns.svc.cluster.local", "locality": {"region": "r", "zone": "z", "sub_zone": "s"},
		"metadata": {"ISTIO_VERSION": "1.31", "LABELS": {"serviceName": "x"}, "someFlag": true}},
	"dynamic_resources": {
		"lds_config": {"ads": {}, "initial_fetch_timeout": "7s"},
		"cds_config": {"ads": {}, "initial_fetch_timeout": "7s"},
		"ads_config": {"api_type": "DELTA_GRPC", "grpc_services": [{"envoy_grpc": {"cluster_name": "xds-grpc"}}]}},
	"static_resources": {"clusters": [{"name": "agent"}, %s]}
	%s}`, cluster, more)
}

const agent = `{"name": "xds-grpc", "type": "STATIC", "load_assignment": {"cluster_name": "xds-grpc", "endpoints": [
	{"lb_endpoints": [{"endpoint": {"address": {"pipe": {"path": "./etc/istio/proxy/XDS"}}}}]}]}}`

func TestIstio(t *testing.T) {
	b := load(t, "--config-yaml", minimal(agent, ""), "-l", "warning", "--local-address-ip-version", "v4",
		"--file-flush-interval-msec", "1000", "--allow-unknown-static-fields", "--concurrency", "2")
	want := Node{
		ID: "router~10.0.0.1~gw.ns~ns.svc.cluster.local", Region: "r", Zone: "z", SubZone: "s",
		Metadata: map[string]any{"ISTIO_VERSION": "1.31", "LABELS": map[string]any{"serviceName": "x"}, "someFlag": true},
	}
	if d := cmp.Diff(want, b.Node); d != "" {
		t.Error(d)
	}
	if s := b.Servers[0]; s.Network != "unix" || s.Address != "./etc/istio/proxy/XDS" {
		t.Errorf("server %v", s)
	}
	if b.InitialFetchTimeout != 7*time.Second || b.ConnectTimeout != 5*time.Second || b.Admin != (Address{}) {
		t.Errorf("%+v", b)
	}
}

// Flags name a node where the bootstrap does not; --config-yaml is put over the file.
func TestMerge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bootstrap.yaml")
	text := `
node: {id: from-file, metadata: {a: 1, b: {c: 1}}}
admin: {address: {pipe: {path: /admin.sock}}}
dynamicResources:
  ldsConfig: {ads: {}}
  cdsConfig: {ads: {}}
  adsConfig: {apiType: GRPC, grpcServices: {envoyGrpc: {clusterName: xds}}}
staticResources:
  clusters: [{name: other}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b := load(t, "-c", path, "--service-node", "from-flag", "--service-cluster=c", "--service-zone", "z", "--config-yaml", `
node: {metadata: {b: {d: 2}}}
admin: {address: {socketAddress: {address: "::1", portValue: "19000"}}}
static_resources: {clusters: [{name: xds, loadAssignment: {endpoints: [
  {priority: 1, lbEndpoints: [{endpoint: {address: {socketAddress: {address: b.example, portValue: 2}}}}]},
  {lbEndpoints: [{endpoint: {address: {socketAddress: {address: "fd00::1", portValue: 1}}}},
    {endpoint: {address: {pipe: {path: "@ads"}}}}]}]}}]}
`)
	want := Node{
		ID: "from-file", Cluster: "c", Zone: "z",
		Metadata: map[string]any{"a": 1.0, "b": map[string]any{"c": 1.0, "d": 2.0}},
	}
	if d := cmp.Diff(want, b.Node); d != "" {
		t.Error(d)
	}
	if b.Admin != (Address{"tcp", "[::1]:19000"}) {
		t.Errorf("admin %v", b.Admin)
	}
	if got := fmt.Sprint(&b.Servers[0], &b.Servers[1], &b.Servers[2]); got != "[fd00::1]:1 unix://@ads b.example:2" {
		t.Errorf("servers %s", got)
	}
}

// Contour has an API for each type, and a socket for the admin server.
func TestAPIsOfTheirOwn(t *testing.T) {
	b := load(t, "--config-yaml", `
admin: {address: {pipe: {path: /admin/admin.sock, mode: 420}}}
dynamic_resources:
  lds_config: {api_config_source: {api_type: GRPC, transport_api_version: V3, grpc_services: [
    {envoy_grpc: {cluster_name: contour, authority: contour}}]}, resource_api_version: V3}
  cds_config: {api_config_source: {api_type: GRPC, transport_api_version: V3, grpc_services: [
    {envoy_grpc: {cluster_name: contour, authority: contour}}]}, resource_api_version: V3}
static_resources:
  clusters:
  - {name: contour, type: STRICT_DNS, load_assignment: {endpoints: [
      {lb_endpoints: [{endpoint: {address: {socket_address: {address: contour, port_value: 8001}}}}]}]}}
`)
	if s := b.Servers[0]; s.Address != "contour:8001" || s.Authority != "contour" {
		t.Errorf("server %+v", s)
	}
	if b.Admin != (Address{"unix", "/admin/admin.sock"}) || len(b.Warnings) != 2 {
		t.Errorf("admin %v, warnings %q", b.Admin, b.Warnings)
	}
}

func TestListeners(t *testing.T) {
	manager := `"filter_chains": [{"filters": [{"typed_config": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"route_config": {"virtual_hosts": [{"routes": [%s, {"match": {"prefix": "/"}, "direct_response": {"status": 404}}]}]}}}]}]`
	at := `"address": {"socket_address": {"address": "0.0.0.0", "port_value": %d}}`
	listener := func(name string, port int, route string) string {
		return fmt.Sprintf(`{"name": %q, `+at+`, `+manager+`}`, name, port, route)
	}
	b := load(t, "--config-yaml", strings.Replace(minimal(agent, ""), `"clusters":`, `"listeners": [`+
		listener("ready", 1, `{"match": {"path": "/ready"}, "route": {"cluster": "self", "prefix_rewrite": "/ready"}}`)+","+
		listener("metrics", 2, `{"match": {"path": "/scrape"}, "route": {"prefix_rewrite": "/stats/prometheus"}}`)+","+
		listener("stats", 3, `{"match": {"path": "/stats/prometheus"}, "route": {}}`)+","+
		listener("istio", 6, `{"match": {"prefix": "/healthz/ready"}, "route": {"cluster": "agent"}}`)+","+
		listener("public", 4, `{"match": {"prefix": "/"}, "route": {"cluster": "x"}}`)+","+
		`{"name": "tcp", `+fmt.Sprintf(at, 5)+`, "filter_chains": [{"filters": [{"typed_config": {"@type": "x.TcpProxy"}}]}]}`+
		`], "clusters":`, 1))
	want := []Listener{
		{"ready", Address{"tcp", "0.0.0.0:1"}, map[string]string{"/ready": "/ready"}},
		{"metrics", Address{"tcp", "0.0.0.0:2"}, map[string]string{"/scrape": "/stats/prometheus"}},
		{"stats", Address{"tcp", "0.0.0.0:3"}, map[string]string{"/stats/prometheus": "/stats/prometheus"}},
		{"istio", Address{"tcp", "0.0.0.0:6"}, map[string]string{"/healthz/ready": "/ready"}},
	}
	if d := cmp.Diff(want, b.Listeners); d != "" {
		t.Error(d)
	}
	warned := strings.Join(b.Warnings, "\n")
	if !strings.Contains(warned, "public is not served") || !strings.Contains(warned, "tcp is not served") {
		t.Errorf("warned %q", warned)
	}
}

func TestRefusedBootstraps(t *testing.T) {
	cluster := func(fields string) string { return minimal(strings.Replace(agent, `"type": "STATIC"`, fields, 1), "") }
	socket := func(kind, fields string) string {
		return cluster(`"transport_socket": {"name": "tls", "typed_config": {"@type": "type.googleapis.com/x.` + kind + `", ` +
			`"common_tls_context": {` + fields + `}}}`)
	}
	replaced := func(old, with string) string { return strings.Replace(minimal(agent, ""), old, with, 1) }
	for text, want := range map[string]string{
		"":                                 "the bootstrap is empty",
		"a: [":                             "1:4: not YAML",
		"a: &x 1\nb: *x":                   "1:4: anchors, aliases, tags and merged keys are not supported here",
		"a: 1\na: 2":                       `2:1: "a" is already set`,
		"a: {b: .inf}":                     "1:8: .inf is not supported: write a finite number",
		"node: 7":                          "node: number is not what belongs here",
		"node: {id: x}":                    "ads_config is not set",
		replaced(`"DELTA_GRPC"`, `"REST"`): "api_type REST is not supported",
		replaced(`"api_type"`, `"transport_api_version": "V2", "api_type"`):                          "V2 is not supported",
		replaced(`"envoy_grpc": {"cluster_name": "xds-grpc"}`, `"google_grpc": {"target_uri": "x"}`): "google_grpc is not supported",
		replaced(`"lds_config": {"ads": {}`, `"lds_config": {"path_config_source": {"path": "x"}`):   "lds_config: only ads",
		replaced(`"cluster_name": "xds-grpc"}`, `"cluster_name": "other"}`):                          `there is no cluster "other"`,
		cluster(`"type": "EDS"`):                                    "type EDS is not supported",
		cluster(`"cluster_type": {"name": "envoy.clusters.redis"}`): `"envoy.clusters.redis" is not supported`,
		replaced(`"pipe": {"path": "./etc/istio/proxy/XDS"}`, ``):   "only socket_address and pipe",
		replaced(`"pipe": {"path": "./etc/istio/proxy/XDS"}`, `"socket_address": {"address": "x", "port_value": 70000}`): "70000 is no port",
		replaced(`"pipe": {"path": "./etc/istio/proxy/XDS"}`, `"socket_address": {"address": "x", "port_value": "y"}`):   `"y" is no integer`,
		cluster(`"connect_timeout": "soon"`): `"soon" is no duration`,
		socket("QuicUpstreamTransport", ""):  "QuicUpstreamTransport is not supported",
		socket("UpstreamTlsContext", `"validation_context": {"trusted_ca": {"filename": "/x"}, "verify_certificate_spki": ["x"]}`):               "verify_certificate_spki",
		socket("UpstreamTlsContext", `"validation_context": {"trusted_ca": {"filename": "/x"}, "only_verify_leaf_cert_crl": true}`):              "only_verify_leaf_cert_crl is not supported",
		socket("UpstreamTlsContext", `"validation_context": {"match_subject_alt_names": [{"exact": "x"}]}`):                                      "there is no trusted_ca",
		socket("UpstreamTlsContext", `"validation_context": {"trusted_ca": {}}`):                                                                 "trusted_ca: it is empty",
		socket("UpstreamTlsContext", `"validation_context_sds_secret_config": {"name": "x"}`):                                                    `there is no secret "x"`,
		socket("UpstreamTlsContext", `"validation_context_sds_secret_config": {"name": "x", "sds_config": {"ads": {}}}`):                         "only path_config_source",
		socket("UpstreamTlsContext", `"tls_params": {"tls_minimum_protocol_version": "SSLv3"}, "validation_context": {"system_root_certs": {}}`): "a version is unknown",
		replaced(`"grpc_services": [{`, `"grpc_services": [{"initial_metadata": [{"key": "te", "value": "x"}], `):                                `metadata "te"`,
	} {
		f, err := ParseFlags([]string{"--config-yaml", text + " "})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = f.Bootstrap(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nwant %s, of %s", err, want, text)
		}
	}
}

// Secrets are in files of xDS, as Envoy Gateway writes them, which are read for each stream.
func TestSecretsInFiles(t *testing.T) {
	ca := certstest.New(t)
	own := ca.Issue("own", certstest.Key(t), time.Hour, "own")
	dir := t.TempDir()
	write := func(name string, resource any) string {
		text, err := json.Marshal(map[string]any{"resources": []any{resource}})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const kind = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	type object = map[string]any
	certificate := func(path string) string {
		return write("certificate.json", object{"@type": kind, "name": "xds_certificate", "tls_certificate": object{
			"certificate_chain": object{"filename": path}, "private_key": object{"filename": path},
		}})
	}
	trusted := write("trusted.json", object{"@type": kind, "name": "xds_trusted_ca", "validation_context": object{
		"trusted_ca":                    object{"filename": ca.File},
		"match_typed_subject_alt_names": []object{{"san_type": "DNS", "matcher": object{"exact": "envoy-gateway"}}},
	}})
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	jwt := write("token.json", object{"@type": kind, "name": "jwt-sa-bearer", "generic_secret": object{
		"secret": object{"filename": token},
	}})
	path := filepath.Join(dir, "missing")
	text := minimal(strings.Replace(agent, `"type": "STATIC"`, fmt.Sprintf(`
		"typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {"http_filters": [
			{"typed_config": {"@type": "x.CredentialInjector", "credential": {"typed_config": {"@type": "x.Generic",
				"credential": {"name": "jwt-sa-bearer", "sds_config": {"path_config_source": {"path": %q}}}}}, "overwrite": true}},
			{"typed_config": {"@type": "x.UpstreamCodec"}}]}},
		"transport_socket": {"typed_config": {"@type": "x.UpstreamTlsContext", "common_tls_context": {
			"tls_certificate_sds_secret_configs": [{"name": "xds_certificate", "sds_config": {
				"path_config_source": {"path": %q}, "resource_api_version": "V3"}}],
			"validation_context_sds_secret_config": {"name": "xds_trusted_ca", "sds_config": {"path": %q}}}}}`,
		jwt, filepath.Join(dir, "certificate.json"), trusted), 1), "")
	s := load(t, "--config-yaml", text).Servers[0] // a file that is missing may come later
	if _, err := s.TLS(); err == nil || !strings.Contains(err.Error(), "certificate.json") {
		t.Errorf("without a file: %v", err)
	}
	certificate(path)
	if _, err := s.TLS(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("without a certificate: %v", err)
	}
	certificate(own)
	c, err := s.TLS()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Certificates) != 1 || c.VerifyConnection == nil {
		t.Errorf("%d certificates", len(c.Certificates))
	}
	next := ca.Issue("next", certstest.Key(t), time.Hour, "next")
	certificate(next)
	if c, err = s.TLS(); err != nil || c.Certificates[0].Leaf.DNSNames[0] != "next" {
		t.Errorf("the certificate was not read anew: %v", err)
	}
	if m := s.Metadata[0]; m.Key != "authorization" {
		t.Errorf("metadata %v", m.Key)
	} else if got, err := m.Read(); got != "secret" || err != nil {
		t.Errorf("token %q, %v", got, err)
	}
}

func TestRefusedFlags(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "neither --config-path nor --config-yaml",
		"--unknown -c x":                     "--unknown is unknown",
		"x -c x":                             `"x" is unknown`,
		"-c":                                 "--config-path has no value",
		"-c x --drain-time-s y":              `"y" is no number of seconds`,
		"-c x --concurrency -1":              `"-1" is no number of threads`,
		"-c x --log-level loud":              `"loud" is none of trace`,
		"-c x --mode init_only":              `"init_only" is not supported`,
		"-c x --restart-epoch 1 --base-id 7": "a hot restart",
	} {
		if _, err := ParseFlags(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

func FuzzBootstrap(f *testing.F) {
	for _, path := range []string{"testdata/envoy-gateway.yaml", "testdata/consul.json"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(minimal(agent, ""))
	f.Fuzz(func(t *testing.T, text string) {
		flags := &Flags{ConfigYAML: text}
		if b, err := flags.Bootstrap(); err == nil && len(b.Servers) == 0 {
			t.Error("there is no server, and no error")
		}
	})
}
