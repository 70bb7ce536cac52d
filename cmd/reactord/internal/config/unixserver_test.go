package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnixServers checks that a server may be a unix socket, and which settings it cannot have.
func TestUnixServers(t *testing.T) {
	for _, test := range []struct{ listener, settings, want string }{
		{"tcp://127.0.0.1:1", "", ""},
		{"tcp://127.0.0.1:1", "check: {interval: 1s, tls: true}; proxy_protocol: {version: v2}", ""},
		{"tcp://127.0.0.1:1", "tls: {enabled: true, server_name: a.test}", ""},
		{"tcp://127.0.0.1:1", "tls: {enabled: true, insecure: true}", ""},
		{"tcp://127.0.0.1:1", "tls: {enabled: true, sans: ['dns:a.test']}", ""},
		{"tcp://127.0.0.1:1", "tls: {enabled: true}", `server_name or sans is required for the server "unix:///run/a b.sock"`},
		{"tcp://127.0.0.1:1", "check: {interval: 1s, port: 2}", `port does not fit the server "unix:///run/a b.sock"`},
		{"tcp://127.0.0.1:1", "agent: {port: 2}", "port does not fit the server"},
		{"tcp://127.0.0.1:1", "source_addresses: ['::1']", "source_addresses does not fit the server"},
		{"udp://127.0.0.1:1", "", `address "unix:///run/a b.sock" cannot serve the datagrams of listener "l"`},
	} {
		text := fmt.Sprintf("listeners:\n- {name: l, address: '%s', backend: b}\nbackends:\n- name: b\n"+
			"  servers: ['unix:///run/a b.sock', {address: 'unix://@b', name: 'unix:///named'}]\n", test.listener)
		for setting := range strings.SplitSeq(test.settings, "; ") {
			text += "  " + setting + "\n"
		}
		cfg, _, err := Parse("f", []byte(text))
		switch {
		case test.want != "":
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got\n%v\nwant\n%s", test.settings, err, test.want)
			}
		case err != nil:
			t.Errorf("%s: %v", test.settings, err)
		default:
			s := cfg.Backends[0].Servers
			if s[0].Address.ServerName() != "unix:///run/a b.sock" || s[1].Address.Path != "@b" {
				t.Errorf("%+v", s)
			}
		}
	}
	for path, want := range map[string]string{
		"/" + strings.Repeat("a", 106): "",
		"/" + strings.Repeat("a", 107): "is limited to 107 bytes, and this one has 108",
		"@" + strings.Repeat("a", 106): "",
		"@" + strings.Repeat("a", 107): "is limited to 107 bytes, and this one has 108",
		"run/app.sock":                 "the path is not absolute",
		"@":                            "no path",
	} {
		text := "listeners:\n- {name: l, address: '127.0.0.1:1', backend: b}\n" +
			"backends:\n- {name: b, servers: ['unix://" + path + "']}\n"
		_, _, err := Parse("f", []byte(text))
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	text := "listeners:\n- {name: l, address: '127.0.0.1:1', backend: b}\n" +
		"backends:\n- {name: b, servers: ['unix:///a', 'unix:///a']}\n"
	if _, _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), "is used twice") {
		t.Error(err)
	}
}
