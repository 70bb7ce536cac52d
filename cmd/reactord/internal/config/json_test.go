package config

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJSON(t *testing.T) {
	l := Listener{
		Name: "web", Address: Address{Host: "::1", Port: 80}, InspectTimeout: 90 * time.Second, AccessLog: true,
		Deny: []Prefix{{Prefix: netip.MustParsePrefix("10.0.0.0/8")}}, Socket: Socket{Mode: 0o600},
	}
	object := map[string]any{}
	if err := json.Unmarshal(JSON(&l), &object); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "web", "address": "tcp://[::1]:80", "inspect_timeout": "1m30s", "access_log": true,
		"deny": []any{"10.0.0.0/8"}, "max_connections": 0.0, "on_limit": "",
	}
	for key, value := range want {
		if diff := cmp.Diff(value, object[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if _, empty := object["allow"]; empty || object["socket"].(map[string]any)["mode"] != "0600" {
		t.Errorf("got %v", object)
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
