package config

import (
	"os"
	"strings"
	"testing"
)

// What is said about a configuration has the order of danger.
func TestProduction(t *testing.T) {
	c, _, err := Parse("f", []byte(`user: root
admin: {address: "tcp://127.0.0.1:1"}
metrics: "[::]:9090"
drain: {timeout: 0s}
upgrade: {timeout: 0s}
listeners:
  - {name: open, address: "[::]:80", backend: database}
  - {name: local, address: "127.0.0.1:80", backend: plain}
  - {name: known, address: "[::]:81", backend: plain, allow: [10.0.0.0/8]}
  - {name: limited, address: "[::]:82", backend: plain, source_rate: {connections: 1}}
  - {name: datagrams, address: "udp://[::]:53", backend: dns, allow: [10.0.0.0/8]}
backends:
  - name: database
    servers: ["10.0.0.1:5432", "10.0.0.2:5432"]
    balance: {panic_threshold: 50}
    idle_timeout: 0s
    keep_alive: {idle: 0s}
    half_close_timeout: 0s
  - {name: plain, servers: ["10.0.0.1:80"], tls: {enabled: true, insecure: true}, idle_timeout: 0s}
  - {name: dns, servers: ["10.0.0.1:53", "10.0.0.2:53"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Production() {
		got = append(got, f.Path)
		if f.Text == "" {
			t.Errorf("%s: no text", f.Path)
		}
	}
	const want = "backends[0].balance.panic_threshold backends[0].check.interval backends[1].tls.insecure admin.address " +
		"metrics.address user listeners[0].source_rate.connections backends[0].idle_timeout backends[0].half_close_timeout " +
		"drain.timeout upgrade.timeout access_log.path"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// The examples, and the configuration that the documentation recommends, are ready for production.
func TestExamplesAreForProduction(t *testing.T) {
	all := examples(t)
	delete(all, "example.yaml") // it shows every setting with its default
	text, err := os.ReadFile(operatingFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "## A production configuration\n\n```yaml\n")
	if !found {
		t.Fatal("there is no production configuration")
	}
	block, _, _ := strings.Cut(rest, "```")
	all["operating.md"] = []byte(block)
	for name, data := range all {
		c, places, err := Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Production() {
			t.Errorf("%s: %s: %s", places.Place(f.Path), f.Path, f.Text)
		}
	}
}
