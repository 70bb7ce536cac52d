package translate

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// anyOfType is an Any in JSON: of a type of Envoy, with these fields.
func anyOfType(of, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"@type":"type.googleapis.com/` + of + `"` + fields + `}`
}

// filter is a network filter or a listener filter.
func filter(of, fields string) string { return `{"typed_config":` + anyOfType(of, fields) + `}` }

// The filters of the tests.
const (
	tcpProxyType = "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
	rbacType     = "envoy.extensions.filters.network.rbac.v3.RBAC"
	limitType    = "envoy.extensions.filters.network.connection_limit.v3.ConnectionLimit"
	sniType      = "envoy.extensions.filters.network.sni_cluster.v3.SniCluster"
	udpType      = "envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig"
	proxyType    = "envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol"
	tlsType      = "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
	actionType   = "envoy.config.rbac.v3.Action"
	fileLogType  = "envoy.extensions.access_loggers.file.v3.FileAccessLog"
)

// toCluster is a tcp_proxy to the cluster "c", with further fields.
func toCluster(fields string) string { return filter(tcpProxyType, `"cluster":"c"`+fields) }

// chainOf is a chain of these filters, with a tcp_proxy behind them and further fields.
func chainOf(filters, fields string) string {
	return `{"filters":[` + filters + toCluster("") + `]` + fields + `}`
}

// encoded is a listener "l" at 192.0.2.1:80 with a chain to the cluster "c", in the wire format, with these fields
// instead.
func encoded(t testing.TB, fields string) []byte {
	t.Helper()
	all := map[string]json.RawMessage{
		"name":    json.RawMessage(`"l"`),
		"address": json.RawMessage(`{"socket_address":{"address":"192.0.2.1","port_value":80}}`),
	}
	if !strings.Contains(fields, "filter_chain") && !strings.Contains(fields, udpType) {
		all["filter_chains"] = json.RawMessage(`[` + chainOf("", "") + `]`)
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
	m := &listenerpb.Listener{}
	if err := protojson.Unmarshal(text, m); err != nil {
		t.Fatalf("%v in %s", err, fields)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// became is what a listener becomes, or why it is refused.
func became(t testing.TB, fields string, clusters ...string) string {
	t.Helper()
	l, err := DecodeListener("l", encoded(t, fields))
	if err != nil {
		return "refused: " + err.Error()
	}
	s := newSet()
	s.Listeners["l"] = l
	for _, name := range clusters {
		s.Clusters[name] = nil
	}
	control, faults := Build(s)
	text := describe(control)
	for _, f := range faults {
		text += f.Error() + "\n"
	}
	return text
}

// TestListenerFields has each field of a listener do what it says, or refused.
func TestListenerFields(t *testing.T) {
	udp := `"address":{"socket_address":{"protocol":"UDP","address":"192.0.2.1","port_value":53}},`
	udpTo := func(fields string) string { return udp + `"listener_filters":[` + filter(udpType, fields) + `]` }
	log := `"access_log":[{"typed_config":` + anyOfType(fileLogType, `"path":"/dev/stdout"`) + `}]`
	for _, test := range []struct{ name, fields, want string }{
		{"nothing", ``, "listener l at tcp://192.0.2.1:80"},
		{"no name", `"name":""`, `refused: name: "" does not match the resource name "l"`},
		{"no address", `"address":{}`, "refused: address: socket_address is missing: a listener needs"},
		{"a host name", `"address":{"socket_address":{"address":"a.example","port_value":1}}`, `"a.example" is not an IP address`},
		{"a port", `"address":{"socket_address":{"address":"192.0.2.1","port_value":65536}}`, "65536 is not a port"},
		{"IPv6", `"address":{"socket_address":{"address":"::","port_value":80}}`, "at tcp://[::]:80 Socket.IPv6Only=true"},
		{"both families", `"address":{"socket_address":{"address":"::","port_value":80,"ipv4_compat":true}}`,
			"at tcp://[::]:80 Socket.KeepAlive"},
		{"two addresses", `"additional_addresses":[{"address":{"socket_address":{"address":"192.0.2.2","port_value":80}}}]`,
			"listener l (192.0.2.2:80) at tcp://192.0.2.2:80"},
		{"an address of UDP", `"additional_addresses":[{"address":{"socket_address":{"protocol":"UDP","address":"192.0.2.2",` +
			`"port_value":80}}}]`, "refused: additional_addresses[0]: TCP and UDP addresses require separate listeners"},
		{"the same address", `"additional_addresses":[{"address":{"socket_address":{"address":"192.0.2.1","port_value":80}}}]`,
			"refused: additional_addresses[0]: "},
		{"use_original_dst", `"use_original_dst":true`, "refused: use_original_dst: "},
		{"no use_original_dst", `"use_original_dst":false`, "listener l"},
		{"transparent", `"transparent":true`, "refused: transparent: "},
		{"bind_to_port", `"bind_to_port":false`, "refused: bind_to_port: "},
		{"enable_mptcp", `"enable_mptcp":true`, "refused: enable_mptcp: "},
		{"freebind", `"freebind":true`, "Socket.FreeBind=true"},
		{"backlog", `"tcp_backlog_size":100`, "Socket.Backlog=100"},
		{"fast open", `"tcp_fast_open_queue_length":10`, "Socket.FastOpen=10"},
		{"too much of it", `"tcp_fast_open_queue_length":70000`, "refused: tcp_fast_open_queue_length: "},
		{"buffer", `"per_connection_buffer_limit_bytes":32768`, "Buffer=32KiB"},
		{"a small buffer", `"per_connection_buffer_limit_bytes":1`, "Buffer=4KiB"},
		{"a great buffer", `"per_connection_buffer_limit_bytes":1048576`, "backend c IdleTimeout=0s\n"},
		{"timeout", `"listener_filters_timeout":"3s"`, "InspectTimeout=3s"},
		{"no timeout", `"listener_filters_timeout":"0s"`, "InspectTimeout=8760h"},
		{"a wrong timeout", `"listener_filters_timeout":"-3s"`, "refused: listener_filters_timeout: not a duration"},
		{"to go on without a hello", `"continue_on_listener_filters_timeout":true,"filter_chains":[` +
			chainOf("", `,"filter_chain_match":{"server_names":["a"]}`) + `]`, "refused: continue_on_listener_filters_timeout: "},
		{"to go on", `"continue_on_listener_filters_timeout":true`, "listener l"},
		{"not logged", ``, "AccessLog=false"},
		{"logged", log, "InspectTimeout=15s\n"},
		{"logged by an unknown kind", `"access_log":[{"typed_config":` + anyOfType(actionType, "") + `}]`, "InspectTimeout=15s\n"},
		{"logged by a chain", `"filter_chains":[{"filters":[` + toCluster(","+log) + `]}]`, "InspectTimeout=15s\n"},
		{"no chain", `"filter_chains":[]`, "refused: filter_chains: missing: the listener would accept no"},
		{"a default chain only", `"default_filter_chain":` + chainOf("", ""), "route Transport=any Backend=c"},
		{"a condition of it", `"default_filter_chain":` + chainOf("", `,"filter_chain_match":{}`),
			"refused: default_filter_chain.filter_chain_match: "},
		{"PROXY", `"listener_filters":[` + filter(proxyType, "") + `]`, "ProxyProtocol.Trusted=[0.0.0.0/0 ::/0] InspectTimeout"},
		{"PROXY or not", `"listener_filters":[` + filter(proxyType, `"allow_requests_without_proxy_protocol":true`) + `]`,
			"ProxyProtocol.Optional=true"},
		{"PROXY of a version", `"listener_filters":[` + filter(proxyType, `"disallowed_versions":["V1"]`) + `]`,
			"refused: listener_filters[0].disallowed_versions: "},
		{"another filter", `"listener_filters":[` + filter(tcpProxyType, ``) + `]`, "listener filter envoy.extensions.filters.network.tcp_proxy.v"},
		{"no config", `"listener_filters":[{}]`, "refused: listener_filters[0]: typed_config is missing"},

		{"UDP", udpTo(`"cluster":"c"`), "listener l at udp://192.0.2.1:53 InspectTimeout=15s Backend=c UDP.IdleTimeout=1m0s"},
		{"UDP idle", udpTo(`"cluster":"c","idle_timeout":"7s"`), "UDP.IdleTimeout=7s"},
		{"UDP for ever", udpTo(`"cluster":"c","idle_timeout":"0s"`), "UDP.IdleTimeout=8760h"},
		{"UDP hashed", udpTo(`"cluster":"c","hash_policies":[{"source_ip":true}]`), "Backend=c"},
		{"UDP without a cluster", udpTo(``), "refused: listener_filters[0].matcher: write matcher or cluster"},
		{"UDP by packet", udpTo(`"cluster":"c","use_per_packet_load_balancing":true`), "refused: listener_filters[0].use_per_packet"},
		{"UDP without a filter", udp + `"filter_chains":[]`, "refused: listener_filters: no listener filter for datagrams: write"},
		{"UDP with a chain", udp + `"filter_chains":[` + chainOf("", "") + `]`, "refused: filter_chains: UDP listeners have no filter chains: write"},
		{"udp_proxy of TCP", `"listener_filters":[` + filter(udpType, `"cluster":"c"`) + `],"filter_chains":[` + chainOf("", "") + `]`,
			"refused: listener_filters: udp_proxy requires an address with protocol: UDP"},
	} {
		if got := became(t, test.fields); !strings.Contains(got, test.want) {
			t.Errorf("%s: became\n%s\nand should have %q", test.name, got, test.want)
		}
	}
}

// TestSocketOptions has the known socket options set, and others refused by their numbers.
func TestSocketOptions(t *testing.T) {
	for _, test := range []struct{ options, want string }{
		{`{"level":1,"name":9,"int_value":1},{"level":6,"name":4,"int_value":45},{"level":6,"name":5,"int_value":5},` +
			`{"level":6,"name":6,"int_value":9,"state":"STATE_LISTENING"}`,
			"KeepAlive.Mode=own Socket.KeepAlive.Idle=45s Socket.KeepAlive.Interval=5s Socket.KeepAlive.Count=9"},
		{`{"level":6,"name":4,"int_value":45}`, "KeepAlive.Mode=none InspectTimeout"},
		{`{"level":6,"name":1,"int_value":1}`, "listener l"},
		{`{"level":6,"name":1,"int_value":0}`, "refused: socket_options[0]: socket option level 6 name 1, value 0:"},
		{`{"level":1,"name":15,"int_value":1}`, "listener l"},
		{`{"level":6,"name":2,"int_value":1400}`, "Socket.MSS=1400"},
		{`{"level":0,"name":1,"int_value":16}`, "Socket.TOS=16"},
		{`{"level":0,"name":15,"int_value":1}`, "Socket.FreeBind=true"},
		{`{"level":6,"name":23,"int_value":5}`, "Socket.FastOpen=5"},
		{`{"level":1,"name":25,"buf_value":"ZXRoMAA="}`, "Socket.Interface=eth0"},
		{`{"level":6,"name":6,"int_value":0}`, "value 0: out of range"},
		{`{"level":1,"name":36,"int_value":1}`, "refused: socket_options[0]: socket option level 1 name 36 is not supported"},
		{`{"level":0,"name":1,"buf_value":""}`, "socket option level 0 name 1 requires an int_value"},
	} {
		if got := became(t, `"socket_options":[`+test.options+`]`); !strings.Contains(got, test.want) {
			t.Errorf("%s became\n%s\nand should have %q", test.options, got, test.want)
		}
	}
}

// TestChainFields has each field of a filter chain and its filters do what it says, or refused.
func TestChainFields(t *testing.T) {
	matching := func(m string) string { return `"filter_chains":[` + chainOf("", `,"filter_chain_match":{`+m+`}`) + `]` }
	proxying := func(m string) string { return `"filter_chains":[{"filters":[` + toCluster(m) + `]}]` }
	with := func(filters string) string { return `"filter_chains":[` + chainOf(filters+",", "") + `]` }
	weighted := func(m string) string {
		return `"filter_chains":[{"filters":[` + filter(tcpProxyType, `"weighted_clusters":{"clusters":[`+m+`]}`) + `]}]`
	}
	for _, test := range []struct{ name, fields, want string }{
		{"names", matching(`"server_names":["A.example","*.b.example"]`), "SNI=[a.example]"},
		{"a wrong name", matching(`"server_names":["a.*"]`), `refused: routes[0].sni[0]: sni "a.*" has a "*"`},
		{"every name", matching(`"server_names":["*"]`), "refused: routes[0].sni[0]: "},
		{"protocols", matching(`"application_protocols":["h2"]`), "ALPN=[h2]"},
		{"tls", matching(`"transport_protocol":"tls"`), "Transport=tls"},
		{"raw_buffer", matching(`"transport_protocol":"raw_buffer"`), "Transport=raw"},
		{"quic", matching(`"transport_protocol":"quic"`), "refused: filter_chains[0].filter_chain_match.transport_protocol: "},
		{"sources", matching(`"source_prefix_ranges":[{"address_prefix":"10.1.2.3","prefix_len":8}]`), "Sources=[10.0.0.0/8]"},
		{"too long", matching(`"source_prefix_ranges":[{"address_prefix":"10.0.0.0","prefix_len":33}]`), "prefix length 33 is invalid for 10.0.0.0"},
		{"destinations", matching(`"prefix_ranges":[{"address_prefix":"::","prefix_len":0}]`), "Destinations=[::/0]"},
		{"a port", matching(`"destination_port":80`), "DestinationPorts=[80]"},
		{"no port", matching(`"destination_port":0`), "destination_port: not a port"},
		{"source_type", matching(`"source_type":"EXTERNAL"`), "source_type: only ANY"},
		{"two chains alike", `"filter_chains":[` + chainOf("", "") + `,` + chainOf("", `,"name":"x"`) + `]`,
			"refused: filter chains without a name and x have the same filter_chain_match"},
		{"a choice by protocols", `"filter_chains":[` + chainOf("", `,"filter_chain_match":{"application_protocols":["a"]}`) + `,` +
			chainOf("", `,"filter_chain_match":{"application_protocols":["b"]}`) + `]`, "refused: application_protocols: "},
		{"names of chains", `"filter_chains":[` + chainOf("", `,"name":"x"`) + `]`, "route Name=x"},

		{"idle", proxying(`,"idle_timeout":"20s"`), "IdleTimeout=20s"},
		{"never idle", proxying(`,"idle_timeout":"0s"`), "route Transport=any Backend=c\n"},
		{"idle by default", proxying(``), "IdleTimeout=1h0m0s"},
		{"lifetime", proxying(`,"max_downstream_connection_duration":"1800s"`), "Lifetime=30m0s"},
		{"attempts", proxying(`,"max_connect_attempts":6`), "Retries=5"},
		{"one attempt", proxying(`,"max_connect_attempts":1`), "Retries=0"},
		{"too many", proxying(`,"max_connect_attempts":1000`), "refused: filter_chains[0].filters[0].max_connect_attempts: "},
		{"hash", proxying(`,"hash_policy":[{"source_ip":{}}]`), "Backend=c"},
		{"another hash", proxying(`,"hash_policy":[{}]`), "hash_policy[0]: only source_ip"},
		{"no cluster", `"filter_chains":[{"filters":[` + filter(tcpProxyType, ``) + `]}]`, "cluster is missing"},
		{"no proxy", `"filter_chains":[{}]`, "refused: filter_chains[0].filters: tcp_proxy is missing"},
		{"behind the proxy", with(toCluster("")), "tcp_proxy must be the last filter"},
		{"weights", weighted(`{"name":"a","weight":20},{"name":"b","weight":30},{"name":"a","weight":50}`),
			"Backends=[{a 70} {b 30}]"},
		{"weight 0", weighted(`{"name":"a","weight":0}`), "clusters[0].weight: 0"},
		{"too heavy", weighted(`{"name":"a","weight":900000},{"name":"b","weight":900000}`), "the sum of the weights"},
		{"no name", weighted(`{"weight":1}`), "missing"},
		{"limit", with(filter(limitType, `"max_connections":7`)), "MaxConnections=7 OnLimit=reject"},
		{"no limit", with(filter(limitType, `"max_connections":0`)), "write 1 or more"},
		{"two limits", `"filter_chains":[` + chainOf(filter(limitType, `"max_connections":7`)+",", "") + `,` +
			chainOf("", `,"filter_chain_match":{"destination_port":80}`) + `]`, "connection_limit: a listener has one limit, but its chains d"},
		{"istio", with(`{"name":"istio.stats","typed_config":` +
			anyOfType("udpa.type.v1.TypedStruct", `"type_url":"type.googleapis.com/stats.PluginConfig","value":{}`) + `}`), "listener l"},
		{"Istio's metadata", with(`{"name":"x","typed_config":` + anyOfType("udpa.type.v1.TypedStruct",
			`"type_url":"type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange","value":{}`) + `}`), "listener l"},
		{"rules in the name of istio", with(`{"name":"istio.stats","typed_config":` +
			anyOfType(rbacType, `"rules":{"action":"DENY","policies":{"p":{"permissions":[{"any":true}],"principals":[{"any":true}]}}}`) +
			`}`), "Deny=[0.0.0.0/0 ::/0]"},
		{"a filter in the name of istio", with(`{"name":"istio.metadata_exchange","typed_config":` +
			anyOfType("udpa.type.v1.TypedStruct", `"type_url":"x/y"`) + `}`), "filter x/y is not supported"},
		{"a struct", with(`{"name":"x","typed_config":` + anyOfType("udpa.type.v1.TypedStruct", `"type_url":"x"`) + `}`),
			"filter x is not supported"},
		{"HTTP", `"filter_chains":[{"filters":[` + filter("envoy.extensions.filters.network.http_connection_manager.v3."+
			"HttpConnectionManager", "") + `]}]`, "HTTP is not proxied"},
	} {
		if got := became(t, test.fields); !strings.Contains(got, test.want) {
			t.Errorf("%s: became\n%s\nand should have %q", test.name, got, test.want)
		}
	}
}

// TestSNICluster has clusters chosen by their names.
func TestSNICluster(t *testing.T) {
	fields := `"filter_chains":[{"filters":[` + filter(sniType, "") + `,` + filter(tcpProxyType, `"cluster":""`) + `]}]`
	got := became(t, fields, "a.example", "b|x", "C.example", "192.0.2.1", "x.", "[::1]", "a b", "*.x", "unix:///x", "")
	if strings.Count(got, "route ") != 2 {
		t.Errorf("became\n%s", got)
	}
	for _, want := range []string{
		"SNI=[a.example] Transport=any Backend=a.example", "SNI=[c.example] Transport=any Backend=C.example",
	} {
		if !strings.Contains(got, want) || strings.Contains(got, "b|x") {
			t.Errorf("became\n%s\nand should have %q", got, want)
		}
	}
	if got := became(t, fields); !strings.Contains(got, "no cluster has a name") {
		t.Errorf("without clusters it became %s", got)
	}
}

// TestUnknownFields has a field refused that the subset does not have, wherever it is.
func TestUnknownFields(t *testing.T) {
	body := encoded(t, "")
	body = protowire.AppendTag(body, 5000, protowire.VarintType)
	body = protowire.AppendVarint(body, 1)
	if _, err := DecodeListener("l", body); err == nil || !strings.Contains(err.Error(), "field 5000") {
		t.Errorf("%v", err)
	}
	if _, err := DecodeListener("l", []byte{0xff}); err == nil {
		t.Error("bytes that are no message are accepted")
	}
}
