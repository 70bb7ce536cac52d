package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	exampleFile       = "../../example.yaml"
	documentationFile = "../../../../docs/configuration.md"
	operatingFile     = "../../../../docs/operating.md"
	fleetFile         = "../../../../docs/fleet.md"
)

func example(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The values in the example file are the defaults, as the file says, and it has every setting.
func TestExample(t *testing.T) {
	c, places, err := Load(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	want := New()
	want.Metrics.Address = at("127.0.0.1", 9090)
	l, b, found := NewListener(), NewBackend(), NewBackend()
	l.Name, l.Address, l.Backend = "web", at("127.0.0.1", 8080), "app"
	b.Name, b.Servers = "app", []Server{serverAt("127.0.0.1", 9000), serverAt("127.0.0.1", 9001)}
	d, h := NewDNS(), NewHTTPDiscovery()
	d.Name, d.Port, h.URL = "app.example.org", 9000, "https://sd.example.org/targets"
	found.Name, found.DNS, found.HTTP = "discovered", []DNS{d}, []HTTPDiscovery{h}
	found.Files = []FileDiscovery{{Path: "/etc/reactord/app/*.json"}}
	k := NewKubernetesDiscovery()
	k.Service, k.Namespace, k.Port = "app", "default", "http"
	found.Kubernetes = []KubernetesDiscovery{k}
	want.Listeners, want.Backends = []Listener{l}, []Backend{b, found}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}

	written := map[*field]bool{}
	var visit func(*shape, *place)
	visit = func(s *shape, p *place) {
		for _, f := range s.fields {
			below := p.child(f.key)
			if below == nil {
				continue
			}
			written[f] = true
			if f.shape != nil {
				for _, each := range append(below.entries, below) {
					visit(f.shape, each)
				}
			}
		}
	}
	visit(root, places.top)
	text := string(example(t))
	eachField(root, func(s *shape, f *field) { // entries of some lists are in comments
		if !written[f] && !strings.Contains(text, "{"+f.key+": ") && !strings.Contains(text, ", "+f.key+": ") &&
			!strings.Contains(text, "# "+f.key+": ") {
			if s.isSet() { // its settings are shown elsewhere
				return
			}
			t.Errorf("%s does not show %s of %s", exampleFile, f.key, s.typ.Name())
		}
	})
}

// examples are the configurations of the documentation, by the names of their files.
func examples(t *testing.T) map[string][]byte {
	t.Helper()
	const dir = "../../../../docs/examples"
	files, err := fs.Glob(os.DirFS(dir), "*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	all := map[string][]byte{"example.yaml": example(t)}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = data
	}
	return all
}

func TestExamples(t *testing.T) {
	for name, data := range examples(t) {
		if _, _, err := Parse(name, data); err != nil {
			t.Error(err)
		}
	}
}

// In the documentation there are short pieces, too.
func TestConfigurationsInTheDocumentation(t *testing.T) {
	for _, file := range []string{documentationFile, operatingFile, fleetFile} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(data), "```yaml\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s: no configuration", file)
		}
		for _, block := range blocks {
			text, _, _ := strings.Cut(block, "```")
			indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
			text = strings.ReplaceAll("\n"+text, "\n"+indent, "\n") // it may be in a list
			if strings.Contains(text, "\napiVersion:") {
				continue // it is for Kubernetes
			}
			if !strings.Contains(text, "listeners:") { // it is about something else
				text += valid
			}
			if _, _, err := Parse(file, []byte(text)); err != nil {
				t.Errorf("%v, in\n%s", err, text)
			}
		}
	}
}

// Every setting with bounds has a rule, and every rule is of a setting.
func TestRulesAreOfSettings(t *testing.T) {
	used := map[string]bool{}
	eachField(root, func(s *shape, f *field) {
		key := f.id
		_, ok := rules[key]
		used[key] = ok
		kind := element(f.typ).Kind()
		if !ok && (kind == reflect.Int || kind == reflect.Int64 || kind == reflect.Uint32) {
			t.Errorf("%s has no rule", key)
		}
		if text := documentation(s, f); text == "" {
			t.Errorf("%s has no documentation", key)
		}
	})
	for key := range rules {
		if !used[key] {
			t.Errorf("there is no setting %s", key)
		}
	}
}

// The defaults of lists' entries obey the rules, but for what must be written.
func TestDefaultsAreValid(t *testing.T) {
	var v validator
	for s, value := range defaults() {
		v.section((&step{key: s.typ.Name()}).of("defaults"), s, value)
	}
	for _, p := range v.problems {
		if !strings.HasPrefix(p.Text, "no ") {
			t.Errorf("%s: %s", p.Path, p)
		}
	}
}
