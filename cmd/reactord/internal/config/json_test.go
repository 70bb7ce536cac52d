package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSON(t *testing.T) {
	l := NewListener()
	l.Name, l.Address, l.Backend = "web", Address{Host: "::1", Port: 80}, "app"
	const listener = `{"address":"tcp://[::1]:80","backend":"app","max_connections":0,"name":"web","on_limit":"wait",` +
		`"rate":{"burst":0,"connections":0},` +
		`"source_rate":{"burst":0,"connections":0,"ipv4_prefix":32,"ipv6_prefix":64,"sources":65536}}`
	if diff := cmp.Diff(listener, string(JSON(&l))); diff != "" {
		t.Error(diff)
	}
	b := NewBackend()
	b.Servers = []Server{NewServer()}
	var got map[string]any
	if err := json.Unmarshal(JSON(&b), &got); err != nil {
		t.Fatal(err)
	}
	if _, empty := got["dns"]; empty || got["buffer"] != "64KiB" || got["idle_timeout"] != "10m" ||
		got["servers"].([]any)[0].(map[string]any)["weight"] != 1.0 {
		t.Errorf("got %v", got)
	}
}
