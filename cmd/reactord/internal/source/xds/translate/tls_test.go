package translate

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
	"google.golang.org/protobuf/proto"
)

// pki is certificates as a control plane sends them.
type pki struct {
	*certstest.Authority
	t testing.TB
}

func newPKI(t testing.TB) pki { return pki{certstest.New(t), t} }

// inline is the content of a file as a data source.
func (p pki) inline(path string) string {
	p.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprintf(`{"inline_string":%q}`, text)
}

// pair is a certificate with these names, and its key.
func (p pki) pair(names ...string) string {
	path := p.Issue("pair", certstest.Key(p.t), time.Hour, names...)
	return `{"certificate_chain":` + p.inline(path) + `,"private_key":` + p.inline(path) + `}`
}

// ca is the authority, with further fields of a validation context.
func (p pki) ca(fields string) string { return `{"trusted_ca":` + p.inline(p.File) + fields + `}` }

// secret decodes a secret.
func secret(t testing.TB, name, fields string) (*Secret, error) {
	t.Helper()
	return DecodeSecret(name, wire(t, &tlspb.Secret{}, fmt.Sprintf(`{"name":%q,%s}`, name, fields)))
}

func mustSecret(t testing.TB, name, fields string) *Secret {
	t.Helper()
	s, err := secret(t, name, fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	upstreamType = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	rawType      = "envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"
	headerType   = "envoy.extensions.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport"
)

// socket is a transport socket of a type.
func socket(of, fields string) string { return `{"typed_config":` + anyOfType(of, fields) + `}` }

// upstream is a transport socket with TLS: fields of its context, and of what contexts have in common.
func upstream(fields, common string) string {
	return socket(upstreamType, `"common_tls_context":{`+common+`}`+fields)
}

// sds is a secret that is asked for over ADS.
func sds(name string) string { return fmt.Sprintf(`{"name":%q,"sds_config":{"ads":{}}}`, name) }

// TestUpstreamTLS has each field of TLS with servers do what it says, or refused.
func TestUpstreamTLS(t *testing.T) {
	p := newPKI(t)
	ca, pair := `"validation_context":`+p.ca(""), `"tls_certificates":[`+p.pair("client.test")+`]`
	names := func(all string) string {
		return `"validation_context":` + p.ca(`,"match_typed_subject_alt_names":[`+all+`]`)
	}
	typed := func(kind, matcher string) string { return `{"san_type":"` + kind + `","matcher":{` + matcher + `}}` }
	params := func(all string) string { return ca + `,"tls_params":{` + all + `}` }
	only := func(fields string) string { return `"validation_context":{` + fields + `}` }
	mine := p.Issue("mine", certstest.Key(t), time.Hour)
	agent := func(field, name string) string {
		one := fmt.Sprintf(`{"name":%q,"sds_config":{"api_config_source":{"api_type":"GRPC",`+
			`"grpc_services":[{"envoy_grpc":{"cluster_name":"sds-grpc"}}]}}}`, name)
		if strings.HasSuffix(field, "configs") {
			one = "[" + one + "]"
		}
		return `"` + field + `":` + one
	}
	set := &Set{Endpoints: map[string]*Endpoints{}, Secrets: map[string]*Secret{
		"empty": mustSecret(t, "empty", `"validation_context":{}`),
		"ca": mustSecret(t, "ca", `"validation_context":`+p.ca(`,"match_typed_subject_alt_names":[`+typed("DNS",
			`"exact":"b.test"`)+`]`)),
		"pair": mustSecret(t, "pair", `"tls_certificate":`+p.pair("client.test")),
	}}
	set.Endpoints["c"], _ = endpoints(t, region("", at("192.0.2.1", 443, "")))
	for _, test := range []struct{ name, socket, want string }{
		{"nothing is verified", upstream("", ""), " TLS.Enabled=true TLS.ServerName=. TLS.Insecure=true "},
		{"a chain", upstream("", ca), " TLS.ServerName=. TLS.SANs=[any] TLS.CA=xds://cluster/c/validation_context/ca "},
		{"a name to ask for", upstream(`,"sni":"a.test"`, ca), " TLS.ServerName=a.test TLS.SANs=[any] "},
		{"its name", upstream(`,"sni":"a.test","auto_sni_san_validation":true`, ca), " TLS.ServerName=a.test TLS.CA="},
		{"its name and others", upstream(`,"sni":"a.test","auto_sni_san_validation":true`, names(typed("DNS",
			`"exact":"b.test"`))),
			" TLS.ServerName=a.test TLS.CA="},
		{"its name without authorities", upstream(`,"sni":"a.test","auto_sni_san_validation":true`, ""),
			"certificates cannot be verified without authorities: write t"},
		{"its name without authorities in the secret", upstream(`,"sni":"a.test","auto_sni_san_validation":true`,
			`"validation_context_sds_secret_config":`+sds("empty")),
			"certificates cannot be verified without authorities: write t"},
		{"no name to verify", upstream(`,"auto_sni_san_validation":true`, ca), "requires sni"},
		{"a name that is none", upstream(`,"sni":"a b"`, ca), `sni: "a b" is not a server name`},
		{"the host", upstream(`,"auto_host_sni":true`, ca), "not supported: write sni"},
		{"renegotiation", upstream(`,"allow_renegotiation":true`, ca), "renegotiation is not supported"},
		{"DNS", upstream("", names(typed("DNS", `"suffix":".a.test","ignore_case":true`))),
			" TLS.SANs=[dns-suffix:.a.test] "},
		{"URI", upstream("", names(typed("URI", `"prefix":"spiffe://a/"`)+","+typed("URI", `"exact":"spiffe://b/c"`))),
			" TLS.SANs=[uri-prefix:spiffe://a/ uri:spiffe://b/c] "},
		{"IP", upstream("", names(typed("IP_ADDRESS", `"exact":"192.0.2.1"`))), " TLS.SANs=[ip:192.0.2.1] "},
		{"email", upstream("", names(typed("EMAIL", `"contains":"@"`))), " TLS.SANs=[email-contains:@] "},
		{"regex", upstream("", names(typed("URI", `"safe_regex":{"regex":"spiffe://.*"}`))),
			" TLS.SANs=[uri-regex:spiffe://.*] "},
		{"a wrong regex", upstream("", names(typed("URI", `"safe_regex":{"regex":"("}`))), "is not an RE2 regular expression"},
		{"case of URI", upstream("", names(typed("URI", `"exact":"a","ignore_case":true`))), "only supported for DNS names"},
		{"another type", upstream("", names(typed("OTHER_NAME", `"exact":"a"`))),
			"names of type OTHER_NAME are not supported"},
		{"no form", upstream("", names(typed("URI", ``))), "write exact, prefix, suffix, contains or safe_regex"},
		{"names of any type", upstream("",
			only(`"match_subject_alt_names":[{"exact":"192.0.2.1"},{"prefix":"a"}],"trusted_ca":`+p.inline(p.File))),
			" TLS.SANs=[dns:192.0.2.1 uri:192.0.2.1 email:192.0.2.1 ip:192.0.2.1 dns-prefix:a uri-prefix:a email-prefix:a] "},
		{"names without authorities", upstream("", only(`"match_typed_subject_alt_names":[`+typed("DNS", `"exact":"a"`)+`]`)),
			"names of certificates require authorities: write trusted_ca,"},
		{"the system's", upstream("", only(`"system_root_certs":{}`)), " TLS.SANs=[any] IdleTimeout"},
		{"two kinds of authorities", upstream("", `"validation_context":`+p.ca(`,"system_root_certs":{}`)),
			" TLS.SANs=[any] TLS.CA=xds://cluster/c/validation_context/ca "},
		{"authorities that are none", upstream("", only(`"trusted_ca":{"inline_string":"a"}`)),
			"no certificate in PEM"},
		{"pins", upstream("", `"validation_context":`+p.ca(`,"verify_certificate_spki":["a"]`)),
			"pinning certificates is not supported: write trusted_ca"},
		{"revoked", upstream("", `"validation_context":`+p.ca(`,"crl":{"inline_string":"a"}`)),
			"has no certificate revocation list in PEM"},
		{"a list of what is revoked", upstream("", `"validation_context":`+p.ca(`,"crl":`+p.inline(p.Revoke("crl",
			time.Hour)))),
			" TLS.CRL=xds://cluster/c/validation_context/crl "},
		{"a list of another", upstream("", only(`"crl":`+p.inline(p.Revoke("crl", time.Hour)))),
			"crl: requires trusted_ca: write it, too"},
		{"of leaves only", upstream("", `"validation_context":`+p.ca(`,"only_verify_leaf_cert_crl":true`)),
			"the whole chain is always checked"},
		{"expired", upstream("", `"validation_context":`+p.ca(`,"allow_expired_certificate":true`)),
			"expired certificates are never accepted"},
		{"untrusted", upstream("", `"validation_context":`+p.ca(`,"trust_chain_verification":"ACCEPT_UNTRUSTED"`)),
			"chains are always verified"},
		{"depth", upstream("", `"validation_context":`+p.ca(`,"max_verify_depth":1`)), "limiting the depth is not supported"},
		{"a directory", upstream("", `"validation_context":`+p.ca(`,"watched_directory":{"path":"/a"}`)),
			"watching files is not supported: send them inline, or by SDS"},
		{"a certificate", upstream("", pair),
			" TLS.Cert=xds://cluster/c/tls_certificates[0]/cert TLS.Key=xds://cluster/c/tls_certificates[0]/key "},
		{"two certificates", upstream("", `"tls_certificates":[`+p.pair("a")+","+p.pair("b")+`]`),
			"only one certificate is supported, not 2"},
		{"no key", upstream("", `"tls_certificates":[{"certificate_chain":`+p.inline(p.File)+`}]`),
			"missing"},
		{"another's key", upstream("", `"tls_certificates":[{"certificate_chain":`+p.inline(p.File)+`,"private_key":`+
			p.inline(p.Issue("x", certstest.Key(t), time.Hour))+`}]`), "does not belong to the first certificate"},
		{"a file", upstream("",
			fmt.Sprintf(`"tls_certificates":[{"certificate_chain":{"filename":%q},"private_key":{"filename":%[1]q}}]`,
				p.Issue("x", certstest.Key(t), time.Hour))), " TLS.Cert=" + p.Dir + "/x.pem "},
		{"no file", upstream("",
			`"tls_certificates":[{"certificate_chain":{"filename":"/nowhere"},"private_key":{"filename":"/nowhere"}}]`),
			"fault: open /nowhere"},
		{"secrets", upstream("",
			`"tls_certificate_sds_secret_configs":[`+sds("pair")+`],"validation_context_sds_secret_config":`+sds("ca")),
			" TLS.SANs=[dns:b.test] TLS.CA=xds://secret/ca/ca TLS.Cert=xds://secret/pair/cert TLS.Key=xds://secret/pair/key "},
		{"combined", upstream("",
			`"combined_validation_context":{"default_validation_context":{"match_typed_subject_alt_names":[`+
				typed("DNS", `"exact":"a.test"`)+`]},"validation_context_sds_secret_config":`+sds("ca")+`}`),
			" TLS.SANs=[dns:a.test dns:b.test] TLS.CA=xds://secret/ca/ca "},
		{"no secret", upstream("", `"validation_context_sds_secret_config":`+sds("none")),
			`fault: secret "none" does not exist`},
		{"a certificate as authorities", upstream("", `"validation_context_sds_secret_config":`+sds("pair")),
			`fault: secret "pair" is not a validation context`},
		{"authorities as a certificate", upstream("", `"tls_certificate_sds_secret_configs":[`+sds("ca")+`]`),
			`fault: secret "ca" is not a certificate`},
		{"of the agent", upstream("",
			`"validation_context_sds_secret_config":{"name":"ROOTCA","sds_config":{"api_config_source":`+
				`{"api_type":"GRPC","grpc_services":[{"envoy_grpc":{"cluster_name":"sds-grpc"}}]}}}`),
			"refused: transport_socket: secrets from sds-grpc are not supported"},
		{"files of the agent", upstream("", agent("tls_certificate_sds_secret_configs", "file-cert:"+mine+"~"+mine)+","+
			agent("validation_context_sds_secret_config", "file-root:"+p.File)), " TLS.CA=" + p.File + " TLS.Cert=" + mine +
			" TLS.Key=" + mine},
		{"the system's, of the agent", upstream("", agent("validation_context_sds_secret_config", "file-root:system")),
			" TLS.SANs=[any] IdleT"},
		{"a file that the agent does not have", upstream("", agent("validation_context_sds_secret_config",
			"file-root:/nowhere")), "fault: open /nowhere"},
		{"versions", upstream("",
			params(`"tls_minimum_protocol_version":"TLSv1_0","tls_maximum_protocol_version":"TLSv1_2"`)),
			" TLS.MinVersion=1.0 TLS.MaxVersion=1.2 "},
		{"an old version", upstream("", params(`"tls_maximum_protocol_version":"TLSv1_1"`)),
			" TLS.MinVersion=1.1 TLS.MaxVersion=1.1 "},
		{"versions that are none", upstream("",
			params(`"tls_minimum_protocol_version":"TLSv1_3","tls_maximum_protocol_version":"TLSv1_2"`)),
			"tls_params.tls_minimum_protocol_version: greater than the maximum"},
		{"ciphers", upstream("",
			params(`"cipher_suites":["[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]","AES256-SHA",`+
				`"TLS_RSA_WITH_AES_128_GCM_SHA256"]`)), " TLS.Ciphers=[TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 " +
			"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 TLS_RSA_WITH_AES_256_CBC_SHA TLS_RSA_WITH_AES_128_GCM_SHA256] "},
		{"a cipher", upstream("", params(`"cipher_suites":["ECDHE-PSK-AES128-CBC-SHA"]`)),
			`tls_params.cipher_suites[0]: cipher suite "ECDHE-PSK-AES128-CBC-SHA" is not supported`},
		{"curves", upstream("", params(`"ecdh_curves":["X25519","P-256"]`)), " TLS.Curves=[X25519 P-256] "},
		{"a curve", upstream("", params(`"ecdh_curves":["P-224"]`)), `"P-224" is not supported: write one of X25519MLKEM768, SecP2`},
		{"signatures", upstream("", params(`"signature_algorithms":["a"]`)),
			"signature_algorithms: not supported"},
		{"compliance", upstream("", params(`"compliance_policies":["FIPS_202205"]`)),
			"compliance_policies: not supported"},
		{"ALPN", upstream("", ca+`,"alpn_protocols":["h2","a"]`), " TLS.ALPN=[h2 a] "},
		{"a header", socket(headerType, `"config":{"version":"V2"},"transport_socket":`+socket(rawType, "")),
			" ProxyProtocol.Version=v2 "},
		{"a header before TLS", socket(headerType, `"config":{"version":"V1"},"transport_socket":`+upstream("", ca)),
			" ProxyProtocol.Version=v1 "},
		{"two headers", socket(headerType, `"transport_socket":`+socket(headerType, "")), "two PROXY headers"},
		{"raw", socket(rawType, ""), "MaxConnections=1024 IdleTimeout"},
		{"another socket", socket("envoy.type.v3.Percent", ""),
			"transport socket envoy.type.v3.Percent is not supported"},
	} {
		c, err := cluster(t, `"transport_socket":`+test.socket)
		if got := builtWith(t, c, err, set, demand{}); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\nshould have %s", test.name, got, test.want)
		}
	}
}

// Endpoints choose a transport socket by their metadata.
func TestSocketMatches(t *testing.T) {
	p := newPKI(t)
	ca, foreign := `"validation_context":`+p.ca(""),
		`"validation_context_sds_secret_config":{"name":"ROOTCA","sds_config":`+
			`{"api_config_source":{"api_type":"GRPC","grpc_services":[{"envoy_grpc":{"cluster_name":"sds-grpc"}}]}}}`
	match := func(match, socket string) string {
		return `{"name":"of ` + strings.ReplaceAll(match, `"`, "") + `","match":{` + match + `},"transport_socket":` +
			socket + `}`
	}
	chosen := func(port int, match string) string {
		return at("192.0.2.1", port, `,"metadata":{"filter_metadata":{"envoy.transport_socket_match":{`+match+`}}}`)
	}
	header := func(version, inner string) string {
		return socket(headerType, `"config":{"version":"`+version+`"},"transport_socket":`+inner)
	}
	matches := `"transport_socket_matches":[` + strings.Join([]string{
		match(`"tls":"a"`, upstream(`,"sni":"a.test"`, ca)), match(`"tls":"b"`, upstream(`,"sni":"b.test"`, ca)),
		match(`"tls":"raw"`, socket(rawType, "")), match(`"tls":"istio"`, upstream("", foreign)),
		match(`"tls":"header"`, header("V1", socket(rawType, ""))), match(`"tls":"secret"`, upstream("",
			`"validation_context_sds_secret_config":`+sds("ca"))),
	}, ",") + "]"
	set := &Set{Secrets: map[string]*Secret{"ca": mustSecret(t, "ca", `"validation_context":`+p.ca(""))}}
	for _, test := range []struct{ name, endpoints, want string }{
		{"none", "", "KeepAlive.Idle=0s\n"},
		{"the usual one", at("192.0.2.1", 1, ""), " Address=192.0.2.1:1 Weight=1\n"},
		{"one of them", chosen(1, `"tls":"a","more":true`) + "," + chosen(2, `"tls":"a"`), "TLS.ServerName=a.test "},
		{"by a secret", chosen(1, `"tls":"secret"`), "TLS.CA=xds://secret/ca/ca "},
		{"one that does not exist", chosen(1, `"tls":"c"`), "MaxConnections=1024 IdleTimeout"},
		{"with and without", chosen(1, `"tls":"a"`) + "," + chosen(2, `"tls":"raw"`) + "," + at("192.0.2.1", 3, ""),
			" Address=192.0.2.1:1 Weight=1\n  server Address=192.0.2.1:2 Weight=1 Plain=true\n" +
				"  server Address=192.0.2.1:3 Weight=1 Plain=true\n"},
		{"without and with", chosen(1, `"tls":"raw"`) + "," + chosen(2, `"tls":"b"`),
			" Address=192.0.2.1:1 Weight=1 Plain=true\n  server Address=192.0.2.1:2 Weight=1\n"},
		{"two of them", chosen(1, `"tls":"a"`) + "," + chosen(2, `"tls":"b"`),
			"fault: 192.0.2.1:1 and 192.0.2.1:2 match different transport sockets: only one"},
		{"a header and none", chosen(1, `"tls":"header"`) + "," + chosen(2, `"tls":"raw"`),
			"fault: 192.0.2.1:1 and 192.0.2.1:2 match different transport sockets: only one"},
		{"secrets of the agent", at("192.0.2.1", 2, "") + "," + chosen(1, `"tls":"istio"`),
			`fault: 192.0.2.1:1 matches transport_socket_matches "of`},
	} {
		c, err := cluster(t, matches)
		if err == nil && strings.Join(c.Secrets(), " ") != "ca" {
			t.Errorf("secrets %q", c.Secrets())
		}
		var wrong error
		if set.Endpoints = map[string]*Endpoints{}; true {
			set.Endpoints["c"], wrong = endpoints(t, `{"lb_endpoints":[`+test.endpoints+`]}`)
		}
		if wrong != nil {
			t.Fatal(wrong)
		}
		if got := builtWith(t, c, err, set, demand{}); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\nshould have %s", test.name, got, test.want)
		}
	}
	c, err := cluster(t, `"transport_socket":`+header("V2", upstream(`,"sni":"a.test"`, ca))+
		`,"health_checks":[{"interval":"5s","timeout":"1s","healthy_threshold":2,"unhealthy_threshold":3,"tcp_health_check":{}}]`)
	set.Endpoints["c"], _ = endpoints(t, `{"lb_endpoints":[`+at("192.0.2.1", 1, "")+`]}`)
	if got := builtWith(t, c, err, set, demand{}); !strings.Contains(got,
		" Check.TLS=true Check.TLSServerName=a.test Check.Proxy=true ") {
		t.Errorf("a check: %s", got)
	}
	for _, with := range []string{upstream("", ca), header("V1", socket(rawType, ""))} {
		c, err = cluster(t, `"transport_socket":`+with)
		if got := builtWith(t, c, err, set, demand{datagrams: true}); !strings.Contains(got, "not possible for datagrams") {
			t.Errorf("datagrams: %s", got)
		}
	}
}

// TestSecrets has each field of a secret do what it says, or refused.
func TestSecrets(t *testing.T) {
	p := newPKI(t)
	for fields, want := range map[string]string{
		`"tls_certificate":` + p.pair("a.test"): "",
		`"validation_context":` + p.ca(""):      "",
		`"validation_context":{}`:               "",
		`"tls_certificate":{"certificate_chain":{"filename":"/a"},"private_key":{"filename":"/b"}}`: "",
		`"tls_certificate":{}`: "tls_certificate.certificate_chain: missing",
		`"tls_certificate":{"certificate_chain":{"inline_string":"a"},"private_key":{"inline_bytes":"YQ=="}}`: "xds://secret/s/cert has no certificate in PEM",
		`"validation_context":{"trusted_ca":{"inline_string":"a"}}`:                                           "xds://secret/s/ca: no certificate in PEM",
		`"validation_context":{"trusted_ca":{"inline_string":""}}`:                                            "validation_context.trusted_ca: empty",
		`"validation_context":{"trusted_ca":{}}`:                                                              "",
		`"tls_certificate":{"watched_directory":{"path":"/a"}}`:                                               "tls_certificate.watched_directory: watching files is not supported",
	} {
		_, err := secret(t, "s", fields)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v", fields, err)
		}
	}
	if _, err := DecodeSecret("s", wire(t, &tlspb.Secret{}, `{"name":"t"}`)); err == nil ||
		!strings.Contains(err.Error(), "kind of secret is not supported") {
		t.Error(err)
	}
	fields := `"tls_certificate":` + p.pair("a.test")
	one, same, other := mustSecret(t, "s", fields), mustSecret(t, "s", fields), mustSecret(t, "s",
		`"tls_certificate":`+p.pair("a.test"))
	if !one.Same(same) || one.Same(other) {
		t.Error("the same secret is another, or another is the same")
	}
}

// What is honoured and weakens security, or is not followed, has a remark; what is as it should be has none.
func TestRemarks(t *testing.T) {
	p := newPKI(t)
	ofCluster := func(fields string) []string {
		c, err := cluster(t, fields)
		if err != nil {
			t.Fatal(err)
		}
		return c.Remarks()
	}
	ofListener := func(fields string) []string {
		l, err := DecodeListener("l", encoded(t, fields))
		if err != nil {
			t.Fatal(err)
		}
		return l.Remarks()
	}
	const unverified, sinks = "certificates of servers are not verified", "not to these sinks"
	log := `"access_log":[{"typed_config":` +
		anyOfType("envoy.extensions.access_loggers.stream.v3.StdoutAccessLog", "") + `}]`
	chains := func(fields string) string {
		return `"filter_chains":[{"filters":[` + toCluster(fields) + `]}]`
	}
	for _, test := range []struct {
		name    string
		remarks []string
		want    string // "": there is none
	}{
		{"no TLS", ofCluster(""), ""},
		{"verified", ofCluster(`"transport_socket":` + upstream("", `"validation_context":`+p.ca(""))), ""},
		{"not verified", ofCluster(`"transport_socket":` + upstream("", "")), unverified},
		{"an empty context", ofCluster(`"transport_socket":` + upstream("", `"validation_context":{}`)), unverified},
		{"authorities of a secret", ofCluster(`"transport_socket":` +
			upstream("", `"validation_context_sds_secret_config":`+sds("s"))), ""},
		{"a secret", mustSecret(t, "s", `"validation_context":`+p.ca("")).Remarks(), ""},
		{"a secret without", mustSecret(t, "s", `"validation_context":{}`).Remarks(), "without authorities"},
		{"a listener", ofListener(chains("")), ""},
		{"sinks of a listener", ofListener(chains("") + "," + log), sinks},
		{"sinks of a filter", ofListener(chains("," + log)), sinks},
	} {
		if got := strings.Join(test.remarks, "; "); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// downstream decodes a DownstreamTlsContext.
func downstream(t testing.TB, fields string) (*serverTLS, error) {
	t.Helper()
	m := &tlspb.DownstreamTlsContext{}
	if err := proto.Unmarshal(wire(t, &tlspb.DownstreamTlsContext{}, "{"+fields+"}"), m); err != nil {
		t.Fatal(err)
	}
	r := newReading()
	return decodeServerTLS(r, m), r.failed()
}

// TestDownstreamTLS has each field of TLS with clients do what it says, or refused.
func TestDownstreamTLS(t *testing.T) {
	p := newPKI(t)
	pair, ca := `"tls_certificates":[`+p.pair("a.test")+`]`,
		`"validation_context":`+p.ca("")
	names := `"validation_context":` + p.ca(`,"match_typed_subject_alt_names":`+
		`[{"san_type":"URI","matcher":{"prefix":"spiffe://a/"}}]`)
	of := func(common, fields string) string { return `"common_tls_context":{` + common + `}` + fields }
	eighty := base64.StdEncoding.EncodeToString(make([]byte, ticketKey))
	set := &Set{Secrets: map[string]*Secret{
		"tickets": mustSecret(t, "tickets", `"session_ticket_keys":{"keys":[{"inline_bytes":"`+eighty+`"}]}`),
		"ca":      mustSecret(t, "ca", `"validation_context":`+p.ca("")), "pair": mustSecret(t, "pair",
			`"tls_certificate":`+p.pair("client.test")),
		"system": mustSecret(t, "system", `"validation_context":{"system_root_certs":{}}`),
	}}
	for _, test := range []struct {
		name, fields string
		sans         []string
		want         string
	}{
		{"a certificate", of(pair, ""), nil,
			" Certificates=[{xds://listener/tls_certificates[0]/cert xds://listener/tls_certificates[0]/key  }]"},
		{"two", of(`"tls_certificate_sds_secret_configs":[`+sds("pair")+`],`+pair, ""), nil,
			"key  } {xds://secret/pair/cert xds://secret/pair/key  }]"},
		{"none", of("", ""), nil, "refused: common_tls_context: certificate is missing"},
		{"no secret", of(`"tls_certificate_sds_secret_configs":[`+sds("none")+`]`, ""), nil,
			`fault: secret "none" does not exist`},
		{"clients may have certificates", of(pair+","+ca, ""), nil,
			" ClientAuth=request ClientCA=xds://listener/validation_context/ca"},
		{"clients with names must", of(pair+","+names, ""), nil,
			" ClientAuth=require ClientCA=xds://listener/validation_context/ca ClientSANs=[uri-prefix:spiffe://a/]"},
		{"clients must", of(pair+","+ca, `,"require_client_certificate":true`), nil, " ClientAuth=require "},
		{"of fewer names", of(pair+","+names, ""), []string{"uri:spiffe://a/b", "uri:spiffe://b/c"},
			" ClientSANs=[uri:spiffe://a/b]"},
		{"of no name", of(pair+","+names, ""), []string{"uri:spiffe://b/c"}, "fault: the names required by the listener"},
		{"by a secret", of(pair+`,"validation_context_sds_secret_config":`+sds("ca"), `,"require_client_certificate":true`),
			nil,
			" ClientAuth=require ClientCA=xds://secret/ca/ca"},
		{"without authorities", of(pair, `,"require_client_certificate":true`), nil,
			"refused: require_client_certificate: requires trusted_ca"},
		{"names without authorities", of(pair, ""), []string{"any"}, "fault: client certificates require authorities: write"},
		{"the system's", of(pair+`,"validation_context":{"system_root_certs":{}}`, ""), nil,
			"system authorities are not supported for clients: write trus"},
		{"the system's in a secret", of(pair+`,"validation_context_sds_secret_config":`+sds("system"), ""), nil,
			"fault: system authorities are not supported for clients: wri"},
		{"require_sni", of(pair, `,"require_sni":true`), nil, "not supported: match server_names"},
		{"no tickets", of(pair, `,"disable_stateless_session_resumption":true`), nil, " Tickets=false"},
		{"keys of tickets", of(pair,
			`,"session_ticket_keys":{"keys":[{"inline_bytes":"`+eighty+`"},{"inline_bytes":"`+eighty+`"}]}`), nil,
			" TicketKeys=xds://listener/tickets"},
		{"keys of tickets in a secret", of(pair, `,"session_ticket_keys_sds_secret_config":`+sds("tickets")), nil,
			" TicketKeys=xds://secret/tickets/tickets"},
		{"keys of tickets in another", of(pair, `,"session_ticket_keys_sds_secret_config":`+sds("ca")), nil,
			`fault: secret "ca" has no ticket keys`},
		{"a short key", of(pair, `,"session_ticket_keys":{"keys":[{"inline_bytes":"YQ=="}]}`), nil,
			"session_ticket_keys.keys[0]: 1 bytes: a key has 80"},
		{"no key of tickets", of(pair, `,"session_ticket_keys":{}`), nil, "missing"},
		{"a file of keys", of(pair, `,"session_ticket_keys":{"keys":[{"filename":"/a"}]}`), nil,
			"ticket keys must be inline"},
		{"what is revoked", of(pair+`,"validation_context":`+p.ca(`,"crl":`+p.inline(p.Revoke("crl", time.Hour))), ""), nil,
			" ClientCRL=xds://listener/validation_context/crl"},
		{"staples", of(pair, `,"ocsp_staple_policy":"MUST_STAPLE"`), nil,
			"requiring a staple is not supported"},
		{"of the agent",
			of(`"tls_certificate_sds_secret_configs":[{"name":"default","sds_config":{"api_config_source":{"api_type":"GRPC",`+
				`"grpc_services":[{"envoy_grpc":{"cluster_name":"sds-grpc"}}]}}}]`, `,"require_client_certificate":true`), nil,
			"refused: common_tls_context: secrets from sds-grpc are not supported"},
	} {
		tls, err := downstream(t, test.fields)
		got := ""
		if err != nil {
			got = "refused: " + err.Error()
		} else if settings, keys, err := tls.build(set, test.sans); err != nil {
			got = "fault: " + err.Error()
		} else {
			got = differences(settings, config.NewListener().TLS)
			if keys == nil {
				t.Errorf("%s: no keys", test.name)
			}
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\nshould have %s", test.name, got, test.want)
		}
	}
}

// What two lists of names have in common.
func TestNarrower(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"dns:a.b", "dns:A.B", "dns:a.b"}, {"dns:a", "uri:a", ""}, {"any", "uri:a", "uri:a"}, {"uri-prefix:a", "any",
			"uri-prefix:a"},
		{"uri-prefix:ab", "uri:abc", "uri:abc"}, {"uri:abc", "uri-suffix:bc", "uri:abc"}, {"uri-prefix:ab", "uri:bc", ""},
		{"uri-prefix:ab", "uri-prefix:abc", "uri-prefix:abc"}, {"uri-prefix:ab", "uri-prefix:ac", ""},
		{"uri-suffix:bc", "uri-suffix:c", "uri-suffix:bc"}, {"uri-contains:b", "uri-contains:abc", "uri-contains:abc"},
		{"uri-contains:b", "uri-contains:c", "error"}, {"uri-prefix:a", "uri-suffix:b", "error"},
		{"uri-regex:a", "uri-regex:a", "uri-regex:a"}, {"uri-regex:a", "uri-regex:b", "error"},
		{"uri-regex:a.*", "uri:abc", "uri:abc"}, {"uri-regex:a.*", "uri:bc", ""},
	} {
		got, err := meet(test.a, test.b)
		if err != nil {
			got = "error"
		}
		if got != test.want {
			t.Errorf("%s and %s: %q, not %q", test.a, test.b, got, test.want)
		}
	}
}

// TestHandshakes has a client and a server shake hands that a control plane has made: each verifies the other.
func TestHandshakes(t *testing.T) {
	p := newPKI(t)
	exact := func(uri string) string {
		return `,"match_typed_subject_alt_names":[{"san_type":"URI","matcher":{"exact":"` + uri + `"}}]`
	}
	set := &Set{Endpoints: map[string]*Endpoints{"c": {}}, Secrets: map[string]*Secret{
		"server": mustSecret(t, "server", `"tls_certificate":`+p.pair("spiffe://a/server")),
		"client": mustSecret(t, "client", `"tls_certificate":`+p.pair("spiffe://a/client")),
	}}
	shake := func(ofServer, ofClient string) error {
		t.Helper()
		s, err := downstream(t, `"common_tls_context":{"tls_certificate_sds_secret_configs":[`+sds("server")+
			`],"validation_context":`+p.ca(exact(ofClient))+`},"require_client_certificate":true`)
		if err != nil {
			t.Fatal(err)
		}
		settings, keys, err := s.build(set, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := cluster(t, `"transport_socket":`+upstream(`,"sni":"b.test"`,
			`"tls_certificate_sds_secret_configs":[`+sds("client")+
				`],"validation_context":`+p.ca(exact(ofServer))))
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.build(set, demand{})
		if err != nil {
			t.Fatal(err)
		}
		return handshake(t, keys.Config(&settings), b.keys.Config(&b.config.TLS))
	}
	if err := shake("spiffe://a/server", "spiffe://a/client"); err != nil {
		t.Error(err)
	}
	if err := shake("spiffe://a/other", "spiffe://a/client"); err == nil || !strings.Contains(err.Error(),
		"[uri:spiffe://a/server]") {
		t.Error(err)
	}
	if err := shake("spiffe://a/server", "spiffe://a/other"); err == nil || !strings.Contains(err.Error(),
		"bad certificate") {
		t.Error(err)
	}
	before := keysOf(t, set)
	if !before.Same(keysOf(t, set)) {
		t.Error("the same secrets are others")
	}
	set.Secrets["server"] = mustSecret(t, "server", `"tls_certificate":`+p.pair("spiffe://a/server"))
	if after := keysOf(t, set); before.Same(after) || after.Changes(before) == "" {
		t.Error("a secret has changed, and the keys have not")
	}
}

// What TLS becomes is made once, and again if a secret changes.
func TestMadeOnce(t *testing.T) {
	p := newPKI(t)
	c, err := cluster(t, `"transport_socket":`+upstream("", `"tls_certificate_sds_secret_configs":[`+sds("s")+`]`))
	if err != nil {
		t.Fatal(err)
	}
	build := func(s *Secret) *certs.Client {
		b, err := c.build(&Set{Endpoints: map[string]*Endpoints{"c": {}}, Secrets: map[string]*Secret{"s": s}}, demand{})
		if err != nil {
			t.Fatal(err)
		}
		return b.keys
	}
	one, other := mustSecret(t, "s", `"tls_certificate":`+p.pair("a")), mustSecret(t, "s",
		`"tls_certificate":`+p.pair("a"))
	before, again, after := build(one), build(one), build(other)
	if before != again || before == after || before.Same(after) || !before.Same(build(one)) {
		t.Error("what TLS becomes is not that of its secrets")
	}
	fresh, _ := cluster(t, `"transport_socket":`+upstream("", `"tls_certificate_sds_secret_configs":[`+sds("s")+`]`))
	if !c.Same(fresh) {
		t.Error("a cluster is another one after it was built")
	}
}

// keysOf is what TLS holds that needs the secret "server".
func keysOf(t testing.TB, s *Set) *certs.Server {
	t.Helper()
	d, err := downstream(t, `"common_tls_context":{"tls_certificate_sds_secret_configs":[`+sds("server")+`]}`)
	if err != nil {
		t.Fatal(err)
	}
	_, keys, err := d.build(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// handshake is what the client says of a handshake, and of what the server says then.
func handshake(t testing.TB, server, client *tls.Config) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if s := tls.Server(c, server); s.Handshake() == nil {
			_, _ = s.Write([]byte("x"))
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { <-done }()
	defer c.Close()
	s := tls.Client(c, client)
	_, err = s.Read(make([]byte, 1))
	return err
}

// build is the settings of t and what they hold.
func (t *serverTLS) build(s *Set, sans []string) (config.ServerTLS, *certs.Server, error) {
	e, err := t.terminateTLS(s, named{sans: sans}, nil)
	if err != nil {
		return config.ServerTLS{}, nil, err
	}
	return e.config, e.keys, nil
}
