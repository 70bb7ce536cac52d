package translate

import (
	"fmt"
	"strings"
	"testing"
)

// A client's address, and the actions, in the JSON of rbac.
const (
	tenNet  = `{"address_prefix":"10.0.0.0","prefix_len":8}`
	tenOne  = `{"address_prefix":"10.1.0.0","prefix_len":16}`
	tlsAuth = `,"transport_socket":{"typed_config":{"@type":"type.googleapis.com/` + tlsType + `",` +
		`"common_tls_context":{"tls_certificate_sds_secret_configs":[{"name":"cert","sds_config":{"ads":{}}}],` +
		`"validation_context_sds_secret_config":{"name":"ca","sds_config":{"ads":{}}}},"require_client_certificate":true}}`
)

func action(name string) string {
	return `{"action":{"name":"x","typed_config":` + anyOfType(actionType, `"name":"x","action":"`+name+`"`) + `}}`
}

// when is a matcher of rbac: the action for clients of these networks.
func when(act, input string, networks ...string) string {
	return `{"on_match":` + action(act) + `,"predicate":{"single_predicate":{"input":{"name":"i","typed_config":` +
		anyOfType("envoy.extensions.matching.common_inputs.network.v3."+input, "") + `},"custom_match":{"name":"m","typed_config":` +
		anyOfType("envoy.extensions.matching.input_matchers.ip.v3.Ip", `"cidr_ranges":[`+strings.Join(networks, ",")+`]`) + `}}}}`
}

func matcher(matchers, otherwise string) string {
	return filter(rbacType, `"matcher":{"matcher_list":{"matchers":[`+matchers+`]},"on_no_match":`+otherwise+`}`)
}

func policies(act, permissions, principals string) string {
	return filter(rbacType, `"rules":{"action":"`+act+`","policies":{"p":{"permissions":[`+permissions+`],"principals":[`+
		principals+`]}}}`)
}

// TestRBAC has rules become networks of clients, or names in their certificates, or refused.
func TestRBAC(t *testing.T) {
	const anyone, source = `{"any":true}`, "SourceIPInput"
	allowTen := when("ALLOW", source, tenNet)
	principal := func(m string) string { return `{"authenticated":{"principal_name":` + m + `}}` }
	for _, test := range []struct{ name, filters, more, want string }{
		{"matcher: allow", matcher(allowTen, action("DENY")), "", "Allow=[10.0.0.0/8] Backend"},
		{"matcher: deny", matcher(when("DENY", source, tenNet), action("ALLOW")), "", "Deny=[10.0.0.0/8] Backend"},
		{"matcher: the first one counts", matcher(when("DENY", source, tenOne)+","+allowTen, action("DENY")), "",
			"Allow=[10.0.0.0/16 10.2.0.0/15 10.4.0.0/14 10.8.0.0/13 10.16.0.0/12 10.32.0.0/11 10.64.0.0/10 10.128.0.0/9]"},
		{"matcher: no client", filter(rbacType, `"matcher":{"matcher_list":{"matchers":[]}}`), "", "Deny=[0.0.0.0/0 ::/0]"},
		{"matcher: everybody", matcher("", action("ALLOW")), "", "route Transport=any Backend=c"},
		{"matcher: logged", matcher("", action("LOG")), "", "route Transport=any Backend=c"},
		{"matcher: direct", matcher(when("ALLOW", "DirectSourceIPInput", tenNet), action("DENY")), "", "Allow=[10.0.0.0/8]"},
		{"matcher: direct behind a proxy", matcher(when("ALLOW", "DirectSourceIPInput", tenNet), action("DENY")),
			`,"listener_filters":[` + filter(proxyType, "") + `]`, "not supported with proxy_protocol, whose header has the clie"},
		{"matcher: by SNI", matcher(when("ALLOW", "ServerNameInput", tenNet), action("DENY")), "",
			"ServerNameInput is not supported"},
		{"two filters", matcher(allowTen, action("DENY")) + "," + matcher(when("ALLOW", source, tenOne), action("DENY")), "",
			"Allow=[10.1.0.0/16]"},
		{"matcher within", filter(rbacType, `"matcher":{"on_no_match":{"matcher":{}}}`), "", "action is missing; nested matchers are not supported"},

		{"no rules", filter(rbacType, ""), "", "route Transport=any Backend=c"},
		{"DENY no client", filter(rbacType, `"rules":{"action":"DENY"}`), "", "route Transport=any Backend=c"},
		{"ALLOW no client", filter(rbacType, `"rules":{"action":"ALLOW"}`), "", "Deny=[0.0.0.0/0 ::/0]"},
		{"LOG", policies("LOG", anyone, anyone), "", "route Transport=any Backend=c"},
		{"ALLOW", policies("ALLOW", anyone, `{"remote_ip":`+tenNet+`}`), "", "Allow=[10.0.0.0/8]"},
		{"DENY", policies("DENY", anyone, `{"direct_remote_ip":`+tenNet+`}`), "", "Deny=[10.0.0.0/8]"},
		{"and, or, not", policies("ALLOW", anyone, `{"and_ids":{"ids":[{"or_ids":{"ids":[{"source_ip":`+tenNet+`}]}},{"not_id":{"remote_ip":`+
			`{"address_prefix":"10.128.0.0","prefix_len":9}}}]}}`), "", "Allow=[10.0.0.0/9]"},
		{"no permission", policies("ALLOW", `{"not_rule":{"any":true}}`, anyone), "", "Deny=[0.0.0.0/0 ::/0]"},
		{"its port", policies("ALLOW", `{"and_rules":{"rules":[{"destination_port":80},{"any":true}]}}`, anyone), "", "route Transport=any Backend=c"},
		{"another port", policies("ALLOW", `{"or_rules":{"rules":[{"destination_port":81}]}}`, anyone), "", "Deny=[0.0.0.0/0 ::/0]"},
		{"its address", policies("ALLOW", `{"destination_ip":{"address_prefix":"192.0.2.0","prefix_len":24}}`, anyone), "", "route Transport=any Backend=c"},
		{"a name", policies("ALLOW", `{"requested_server_name":{"suffix":".example"}}`, anyone),
			`,"match":{"server_names":["a.example","b.example"]}`, "SNI=[a.example b.example] Transport=any Backend=c"},
		{"one of its names", policies("ALLOW", `{"requested_server_name":{"exact":"a.example"}}`, anyone),
			`,"match":{"server_names":["a.example","b.example"]}`, "it applies to only some of the chain's server_names"},
		{"any name", policies("ALLOW", `{"requested_server_name":{"exact":"a.example"}}`, anyone), "", "match with server_names instead"},
		{"no principals", policies("ALLOW", anyone, ``), "", "principals are missing"},

		{"a name without TLS", policies("ALLOW", anyone, principal(`{"exact":"spiffe://a/b"}`)), "", "it matches names of clients, but the chain's TLS does not re"},
		{"a name denied", policies("DENY", anyone, principal(`{"exact":"spiffe://a/b"}`)), "", "it matches names of clients, but the chain's TLS does not re"},
		{"a subject denied", policies("DENY", anyone, principal(`{"exact":"CN=a"}`)), "", `"CN=a" may match the subject of a certificate, which is not `},
		{"DENY everybody", policies("DENY", anyone, anyone), "", "Deny=[0.0.0.0/0 ::/0]"},
		{"a name and not", policies("ALLOW", anyone, `{"not_id":`+principal(`{"exact":"a"}`)+`}`), "", "cannot be combined"},
		{"a name or an address", policies("ALLOW", anyone, principal(`{"exact":"a"}`)+`,{"remote_ip":`+tenNet+`}`), "",
			"ALLOW: mixing clients allowed by address with clients allowe"},
		{"a wrong pattern", policies("ALLOW", anyone, principal(`{"safe_regex":{"regex":"("}}`)), "", "not an RE2 regular expression"},
	} {
		more, match := test.more, ""
		if text, ok := strings.CutPrefix(more, `,"match":`); ok {
			more, match = "", `,"filter_chain_match":`+text
		}
		got := became(t, `"filter_chains":[`+chainOf(test.filters+",", match)+`]`+more)
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: became\n%s\nand should have %q", test.name, got, test.want)
		}
	}
}

// TestNames has names in certificates allowed and denied.
func TestNames(t *testing.T) {
	id := func(text string) string {
		return `{"authenticated":{"principal_name":{"exact":"spiffe://a/` + text + `"}}}`
	}
	but := func(is, no string) string { return `{"and_ids":{"ids":[` + id(is) + `,{"not_id":` + id(no) + `}]}}` }
	for _, test := range []struct{ act, principals, want string }{
		{"DENY", id("x"), "[] [uri:spiffe://a/x]"},
		{"DENY", `{"or_ids":{"ids":[` + id("x") + `,` + id("y") + `]}}`, "[] [uri:spiffe://a/x uri:spiffe://a/y]"},
		{"DENY", `{"and_ids":{"ids":[` + id("x") + `]}}`, "[] [uri:spiffe://a/x]"},
		{"DENY", but("x", "y") + "," + id("z"), "[] [uri:spiffe://a/z except uri:spiffe://a/y uri:spiffe://a/x]"},
		{"DENY", but("x", "y") + "," + but("z", "x"), "several lists of excepted names"},
		{"DENY", `{"and_ids":{"ids":[` + id("x") + `,{"remote_ip":` + tenNet + `}]}}`, "cannot be combined"},
		{"ALLOW", but("x", "y") + "," + id("z"),
			"[uri:spiffe://a/z uri:spiffe://a/x] [except uri:spiffe://a/z uri:spiffe://a/y]"},
	} {
		l, err := DecodeListener("l", encoded(t, `"filter_chains":[`+
			chainOf(policies(test.act, `{"any":true}`, test.principals)+",", tlsAuth)+`]`))
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(l.chains[0].named.sans, l.chains[0].named.denied)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %s", test.act, test.principals, got)
		}
	}
}
