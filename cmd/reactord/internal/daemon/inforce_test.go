package daemon

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// The plan in force is a configuration file, in which every value says where it comes from.
func TestInForce(t *testing.T) {
	const text = `loops: 2
listeners: [{name: l, address: "127.0.0.1:80", backend: b}]
backends:
- name: a
  dns: [{name: a.test, port: 1}]
- name: b
  retries: 7
  servers:
  - {address: "192.0.2.1:1", weight: 5}
`
	cfg, places, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := &plan.File{Config: cfg, Errors: places.Errors, Place: places.Place, Origin: places.Origin}
	parts := plan.Parts{File: f, Discovered: map[plan.Source][]plan.Server{
		plan.Sources(&cfg.Backends[0])[0]: {
			{Address: serveraddr.MustParse("192.0.2.9:1"), Weight: 3, Origin: "dns a.test"},
		},
	}}
	state := plan.Drain
	overrides := map[plan.ServerKey]plan.Override{
		{Backend: "b", Address: serveraddr.MustParse("192.0.2.1:1")}: {State: &state},
	}
	parts.Overrides = overrides
	p, err := plan.Merge(parts)
	if err != nil {
		t.Fatal(err)
	}
	got := inForce(f, p, overrides)
	for _, want := range []string{
		"# The plan of revision 0\n", "loops: 2 # f:1\n", "pin: false # default\n", "    retries: 7 # f:7\n",
		"      - address: tcp://192.0.2.9:1 # dns a.test\n", "        weight: 3 # dns a.test\n",
		"      - address: tcp://192.0.2.1:1 # f:9:5\n", "        weight: 5 # f:9:5\n",
		"        state: drain # override of f:9:5\n", "        port: 1 # f:5\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if _, _, err := config.Parse("f", got); err != nil {
		t.Errorf("what is in force is no configuration: %v", err)
	}
	f.Origin = nil
	if got := inForce(f, p, overrides); !bytes.Contains(got, []byte("loops: 2 # command line or default\n")) {
		t.Errorf("flags have no origin:\n%s", got)
	}
}
