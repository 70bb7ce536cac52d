package translate

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

var update = flag.Bool("update", false, "write the golden files of this package")

// recorded is a resource that control planes have sent, as e2e/xds/recordings writes it.
type recorded struct {
	Type       string
	Name       string
	Recordings []string
	Body       []byte
}

// recordings reads the resources of all recordings.
func recordings(t testing.TB) []recorded {
	t.Helper()
	text, err := os.ReadFile("testdata/resources.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// add decodes a resource into the set, and says how it was judged.
func (s *Set) add(of, name string, body []byte) (verdict string, err error) {
	switch of {
	case "Listener":
		var l *Listener
		if l, err = DecodeListener(name, body); err == nil {
			s.Listeners[name] = l
			if at, path, ok := l.Ready(); ok {
				return fmt.Sprintf("readiness, at %s%s", at, path), nil
			}
		}
	case "Cluster":
		var c *Cluster
		if c, err = DecodeCluster(name, body); err == nil {
			s.Clusters[name] = c
		}
	case "ClusterLoadAssignment":
		var e *Endpoints
		if e, err = DecodeEndpoints(name, body); err == nil {
			s.Endpoints[name] = e
		}
	case "Secret":
		var c *Secret
		if c, err = DecodeSecret(name, body); err == nil {
			s.Secrets[name] = c
		}
	}
	if err != nil {
		return "refused", err
	}
	return "accepted", nil
}

func newSet() *Set {
	return &Set{
		Listeners: map[string]*Listener{}, Clusters: map[string]*Cluster{}, Endpoints: map[string]*Endpoints{},
		Secrets: map[string]*Secret{},
	}
}

// TestReplay has every resource of every recording judged. The golden file says how, and why one is refused.
func TestReplay(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Every resource of the recordings, and how it is judged.\n" +
		"# Written by go test -run TestReplay -update.\n")
	for _, of := range []string{"Listener", "Cluster", "ClusterLoadAssignment", "Secret"} {
		for _, r := range recordings(t) {
			if r.Type != of {
				continue
			}
			verdict, err := newSet().add(r.Type, r.Name, r.Body)
			fmt.Fprintf(&b, "\n%s %s: %s\n    in %s\n", r.Type, r.Name, verdict, strings.Join(r.Recordings, ", "))
			if err != nil {
				for line := range strings.Lines(err.Error()) {
					fmt.Fprintf(&b, "    because %s\n", strings.TrimSuffix(line, "\n"))
				}
			}
		}
	}
	golden(t, "replay.txt", b.String())
}

// TestReplayPlans has a part of a plan made of what each recording ends with. The golden files say what is in force.
func TestReplayPlans(t *testing.T) {
	sets, names := map[string]*Set{}, []string(nil)
	for _, r := range recordings(t) {
		for _, recording := range r.Recordings {
			if sets[recording] == nil {
				sets[recording] = newSet()
				names = append(names, recording)
			}
			_, _ = sets[recording].add(r.Type, r.Name, r.Body)
		}
	}
	slices.Sort(names)
	of := map[string][]string{}
	var texts []string
	for _, name := range names {
		control, faults := Build(sets[name])
		text := describe(control)
		for _, f := range faults {
			text += "fault: " + f.Error() + "\n"
		}
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], name)
	}
	var b strings.Builder
	b.WriteString("# The part of a plan that each recording ends with: what differs from reactord's own defaults.\n" +
		"# Written by go test -run TestReplayPlans -update.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n== %s\n%s", strings.Join(of[text], ", "), text)
	}
	golden(t, "plans.txt", b.String())
}

// describe is a part of a plan, as far as it differs from defaults.
func describe(c *plan.Control) string {
	var b strings.Builder
	for _, l := range c.Listeners {
		of := differences(l, config.NewListener(), "Name", "Address", "Routes")
		fmt.Fprintf(&b, "listener %s at %s%s\n", l.Name, l.Address, of)
		for i, r := range l.Routes {
			keys := ""
			if all := c.RouteKeys[l.Name]; len(all) > i && all[i] != nil {
				keys = " (with keys)"
			}
			fmt.Fprintf(&b, "  route%s%s\n", differences(r, config.NewRoute()), keys)
		}
	}
	for _, backend := range c.Backends {
		keys := ""
		if c.Keys[backend.Name] != nil {
			keys = " (with keys)"
		}
		fmt.Fprintf(&b, "backend %s%s%s\n", backend.Name, differences(backend, config.NewBackend(), "Name"), keys)
		for _, s := range c.Servers[backend.Name] {
			fmt.Fprintf(&b, "  server%s\n", differences(s, plan.Server{}, "Origin"))
		}
	}
	return b.String()
}

// differences is the fields of a struct that differ from those of the other, with their values.
func differences[T any](v, from T, but ...string) string {
	return below("", reflect.ValueOf(v), reflect.ValueOf(from), but)
}

func below(path string, v, from reflect.Value, but []string) string {
	if reflect.DeepEqual(v.Interface(), from.Interface()) {
		return ""
	}
	if _, text := reflect.TypeAssert[fmt.Stringer](v); v.Kind() != reflect.Struct || text {
		return fmt.Sprintf(" %s=%v", path, v.Interface())
	}
	out := ""
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if path == "" && slices.Contains(but, name) || !v.Type().Field(i).IsExported() {
			continue
		}
		at := name
		switch {
		case v.Type().Field(i).Anonymous:
			at = path
		case path != "":
			at = path + "." + name
		}
		out += below(at, v.Field(i), from.Field(i), nil)
	}
	return out
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range is {
		if i >= len(was) || was[i] != is[i] {
			t.Fatalf("%s line %d is\n%s\nand should be\n%s", path, i+1, is[i], append(was, "nothing")[min(i, len(was))])
		}
	}
	t.Fatalf("%s is longer than what was made", path)
}
