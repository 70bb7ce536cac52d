package config

import (
	"strings"
	"testing"
)

// Words of other proxies are translated, and what is often written is answered with what to write instead.
func TestForeignWords(t *testing.T) {
	const head = "listeners: [{name: a, address: 'tcp://127.0.0.1:1', backend: b%L}]\n" +
		"backends: [{name: b, servers: ['tcp://127.0.0.1:2']%B}]\n"
	for _, test := range []struct{ listener, backend, top, want string }{
		{backend: ", maxconn: 5", want: `key "maxconn" is unknown: write max_connections`},
		{backend: ", balance: {policy: leastconn}", want: `policy "leastconn" is unknown: write least_connections`},
		{backend: ", balance: {policy: roundrobin}", want: `did you mean "round_robin"?`},
		{backend: ", tls: {enabled: true, verify: none}", want: `"verify" is unknown: write insecure: true`},
		{listener: ", proxy_pass: x", want: `"proxy_pass" is unknown: write backend of a listener`},
		{listener: ", tls: {cert: x.pem}", want: `as in {certificates: [{cert: /etc/reactord/example.org.pem}]}`},
		{top: "frontends: []\n", want: `"frontends" is unknown: write listeners`},
		{backend: ", idle_timeout: 1d", want: `idle_timeout "1d" is not a duration: write 24h`},
		{backend: ", idle_timeout: 10 min", want: `idle_timeout "10 min" is not a duration: write 10m`},
		{backend: ", proxy_protocol: {version: 2}", want: `version is text, not the number 2: write v2`},
	} {
		text := strings.NewReplacer("%L", test.listener, "%B", test.backend).Replace(head) + test.top
		if _, _, err := Parse("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n%v\nwant %s", text, err, test.want)
		}
	}
}

// What is to be written instead is a setting: each key before a colon, or after "write", is one.
func TestForeignWordsNameSettings(t *testing.T) {
	settings := map[string]bool{}
	for _, s := range Reference() {
		settings[s.Key] = true
		for _, f := range s.Settings {
			settings[f.Key] = true
		}
	}
	for word, advice := range foreignKeys {
		if !strings.HasPrefix(advice, "write ") {
			continue
		}
		for _, part := range strings.FieldsFunc(advice, func(r rune) bool { return !isNameRune(r) && r != ':' }) {
			key, found := strings.CutSuffix(part, ":")
			if found && !settings[key] && key == strings.ToLower(key) {
				t.Errorf("%s: %q: there is no setting %s", word, advice, key)
			}
		}
	}
}

// Each word of another proxy is in the form in which it is looked up, and no setting or value of ours.
func TestForeignTables(t *testing.T) {
	for key := range foreignKeys {
		if fold(key) != key {
			t.Errorf("%q is never found", key)
		}
	}
	for value := range foreignValues {
		if fold(value) != value {
			t.Errorf("%q is never found", value)
		}
	}
}

// A valid file with probable mistakes gets warnings, and one without gets none.
func TestUnusual(t *testing.T) {
	const file = `
listeners: [{name: a, address: 'tcp://127.0.0.1:1', routes: [{backends: [{backend: b}]}]}]
backends:
  - {name: b, servers: ['tcp://127.0.0.1:2']%s}
`
	for _, test := range []struct{ set, want string }{
		{"", ""},
		{", check: {interval: 1s}, queue: {size: 0}, total_connect_timeout: 20s", ""},
		{"}\n  - {name: c, servers: ['tcp://127.0.0.1:3']", "backends[1]: unused: no listener or route has backend: c"},
		{", total_connect_timeout: 1s", "backends[0].total_connect_timeout: 1s is less than connect_timeout, 5s"},
		{", check: {interval: 1s, timeout: 3s}", "backends[0].check.timeout: 3s is longer than the interval, 1s"},
		{", queue: {size: 0, timeout: 1s}", "backends[0].queue.timeout: no effect with size 0"},
	} {
		c, _, err := Parse("a.yaml", []byte(strings.Replace(file, "%s", test.set, 1)))
		if err != nil {
			t.Fatal(err)
		}
		all := c.Unusual()
		if got := strings.Join(all, "\n"); !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%q: %q, want %q", test.set, got, test.want)
		}
	}
}
