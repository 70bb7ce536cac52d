package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// fileSource is a source that reads often.
func fileSource(path string) *File {
	f := NewFile(config.FileDiscovery{Path: path})
	f.interval = 5 * time.Millisecond
	f.lookup = func(_ context.Context, host string) (netip.Addr, error) {
		if host == "db.example" {
			return netip.MustParseAddr("10.1.1.1"), nil
		}
		return netip.Addr{}, errors.New("no such host")
	}
	return f
}

// replace replaces a file by renaming another one.
func replace(t *testing.T, path, text string) {
	t.Helper()
	other := filepath.Join(filepath.Dir(path), ".new")
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
}

func TestFile(t *testing.T) {
	for _, test := range []struct{ name, one, two, bad, place string }{
		{
			"a.json",
			`[{"targets": ["10.0.0.1:80"], "labels": {"job": "x", "weight": "7"}}]`,
			`[{"targets": ["10.0.0.2:80", "[fd00::1]:81"], "labels": {"priority": 2}},
			{"targets": ["db.example:82"]}]`,
			"[\n  {\"targets\": [\"10.0.0.2\"]}\n]",
			":2:16: target \"10.0.0.2\": no port",
		},
		{
			"a.yml",
			"- targets: ['10.0.0.1:80']\n  labels: {job: x, weight: 7}\n",
			"- targets:\n  - 10.0.0.2:80\n  - '[fd00::1]:81'\n  labels:\n    priority: 2\n- targets: [db.example:82]\n",
			"- targets:\n  - 10.0.0.2\n",
			":2:5: target \"10.0.0.2\": no port",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.name)
			f := fileSource(path)
			r := start(t, f)
			if got := r.next(); got.servers != nil || !errors.Is(got.err, os.ErrNotExist) {
				t.Fatalf("%v", got)
			}
			replace(t, path, test.one)
			r.await("10.0.0.1:80 w7 p0")
			replace(t, path, test.two)
			both := []string{"10.0.0.2:80 w1 p2", "10.1.1.1:82 w1 p0", "[fd00::1]:81 w1 p2"}
			servers := r.await(both...)
			if s := servers[1]; s.Name != "db.example:82" || !strings.HasPrefix(s.Origin, "file "+path+":") {
				t.Errorf("%+v", s)
			}
			replace(t, path, test.bad)
			if got := r.awaitError(path + test.place); !slices.Equal(addresses(got.servers), both) {
				t.Errorf("not kept: %v", got)
			}
			replace(t, path, "\n")
			r.awaitError(path + ":1:1: the file is empty: for no servers write []")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if got := r.awaitError("no such file"); !slices.Equal(addresses(got.servers), both) {
				t.Errorf("not kept: %v", got)
			}
			replace(t, path, "[]")
			r.await()
			if got := r.last.servers; got == nil {
				t.Error("an empty list is reported as unknown")
			}
			if s := f.Stats(); s.Lookups[ResultInvalid] == 0 || s.Lookups[ResultEmpty] == 0 || s.Servers != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The content of a ConfigMap changes when a symbolic link to a directory is replaced.
func TestFileConfigMap(t *testing.T) {
	dir := t.TempDir()
	swap := func(version, text string) {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		replace(t, filepath.Join(dir, version, "s.yaml"), text)
		other := filepath.Join(dir, "..tmp")
		if err := errors.Join(os.Symlink(version, other), os.Rename(other, filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	swap("v1", "- targets: ['10.0.0.1:80']")
	if err := os.Symlink("..data/s.yaml", filepath.Join(dir, "s.yaml")); err != nil {
		t.Fatal(err)
	}
	r := start(t, fileSource(filepath.Join(dir, "s.yaml")))
	r.await("10.0.0.1:80 w1 p0")
	swap("v2", "- targets: ['10.0.0.2:80']")
	r.await("10.0.0.2:80 w1 p0")
}

func TestFilePattern(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	r := start(t, fileSource(in("*.yml")))
	r.awaitError("no file matches the pattern")
	replace(t, in("a.yml"), "- targets: ['10.0.0.1:80', '10.0.0.3:80']")
	r.await("10.0.0.1:80 w1 p0", "10.0.0.3:80 w1 p0")
	replace(t, in("b.yml"), "- targets: ['10.0.0.2:80', '10.0.0.3:80']")
	r.await("10.0.0.1:80 w1 p0", "10.0.0.2:80 w1 p0", "10.0.0.3:80 w1 p0")
	replace(t, in("b.yml"), "- targets: 10.0.0.2:80")
	if got := r.awaitError("b.yml:1:12: targets are a list"); len(got.servers) != 3 {
		t.Errorf("not kept: %v", got)
	}
	if err := os.Remove(in("b.yml")); err != nil {
		t.Fatal(err)
	}
	r.await("10.0.0.1:80 w1 p0", "10.0.0.3:80 w1 p0")
	if err := os.Remove(in("a.yml")); err != nil {
		t.Fatal(err)
	}
	r.awaitError("no file matches the pattern")
}

// A name that cannot be looked up is looked up again, although the file stays the same.
func TestFileName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	replace(t, path, `[{"targets": ["new.example:80"]}]`)
	f := fileSource(path)
	fails := 3
	f.lookup = func(context.Context, string) (netip.Addr, error) {
		if fails--; fails >= 0 {
			return netip.Addr{}, errors.New("no such host")
		}
		return netip.MustParseAddr("10.0.0.1"), nil
	}
	r := start(t, f)
	r.awaitError(path + `:1:15: target "new.example:80": no such host`)
	r.await("10.0.0.1:80 w1 p0")
}

// parseText reads target groups without looking names up.
func parseText(text string, read reader) ([]plan.Server, error) {
	g := groups{
		lookup: func(context.Context, string) (netip.Addr, error) { return netip.MustParseAddr("127.0.0.1"), nil },
		origin: func(v *value) string { return fmt.Sprintf("%d:%d", v.line, v.column) },
	}
	return g.parse(context.Background(), []byte(text), read)
}

func TestLabels(t *testing.T) {
	servers, err := parseText(`[{"labels": {"weight": 0, "priority": "3", "backup": true, "locality": "eu-1",
		"name": "a \u00e9", "max_connections": "10", "state": "maintenance", "__meta": "x"}, "targets": ["10.0.0.1:80"]},
		{"targets": null}]`, parseJSON)
	want := plan.Server{
		Name: "a é", Address: serveraddr.MustParse("10.0.0.1:80"), Priority: 3, Backup: true, Locality: "eu-1",
		MaxConnections: 10, State: plan.Maintenance, Origin: "2:100",
	}
	if err != nil || len(servers) != 1 || servers[0] != want {
		t.Errorf("%+v, %v; want %+v", servers, err, want)
	}
}

// TestUnixTargets checks that a target may be a unix socket.
func TestUnixTargets(t *testing.T) {
	servers, err := parseText(`[{"targets": ["unix:///run/app.sock", "unix://@app"]}]`, parseJSON)
	if err != nil || len(servers) != 2 || servers[0].Address != serveraddr.Unix("/run/app.sock") ||
		servers[0].Name != "unix:///run/app.sock" || servers[1].Address != serveraddr.Unix("@app") {
		t.Errorf("%+v, %v", servers, err)
	}
	for path, want := range map[string]string{
		"/" + strings.Repeat("a", 107): "is limited to 107 bytes", "run/app.sock": "the path is not absolute",
	} {
		_, err := parseText(`[{"targets": ["unix://`+path+`"]}]`, parseJSON)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// What is wrong is named with its place.
func TestWrongGroups(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{}`, "1:1: want a list of target groups, not a mapping"},
		{`[1]`, "1:2: want a target group, not text"},
		{`[{}]`, "1:2: the group has no targets"},
		{`[{"targets": {}}]`, "1:14: targets are a list of HOST:PORT, not a mapping"},
		{`[{"targets": [[]]}]`, "1:15: a target is HOST:PORT, not a list"},
		{`[{"targets": ["a:0"]}]`, `1:15: target "a:0": port 0 is not allowed`},
		{`[{"targets": ["http://a:1"]}]`, `1:15: target "http://a:1": scheme "http" is unknown`},
		{`[{"targets": [], "labels": []}]`, "1:28: labels are a mapping"},
		{`[{"targets": [], "labels": {"weight": "x"}}]`, `1:39: the label weight is a whole number from 0 to 1000, not "x"`},
		{`[{"targets": [], "labels": {"weight": 1001}}]`, "from 0 to 1000"},
		{`[{"targets": [], "labels": {"weight": []}}]`, "not a list"},
		{`[{"targets": [], "labels": {"backup": "yes"}}]`, "the label backup is true or false"},
		{`[{"targets": [], "labels": {"state": "down"}}]`, `the label state is one of ["up" "drain" "maintenance"]`},
		{`[{"targets": [], "labels": {"name": "a\nb"}}]`, "cannot be printed"},
		{`[{"targets": ["a:1", "a:2"], "labels": {"name": "x"}}]`, `1:2: the label name "x" applies to 2 targets`},
		{`[{"targets": [], "targets": []}]`, `"targets" is already set in line 1`},
		{"[{\n\"targets\": [}]", "2:13: not JSON"},
		{`[`, "1:2: not JSON: unexpected end"},
		{`[] []`, "1:4: unexpected content after the list"},
		{strings.Repeat("[", 10), "nested too deeply"},
	} {
		if _, err := parseText(test.text, parseJSON); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.text, err, test.want)
		}
	}
	for _, test := range []struct{ text, want string }{
		{"a: [", "not YAML"},
		{"--- []\n--- []", "a second document"},
		{"# nothing", "the file is empty"},
		{"- &a {targets: []}\n- *a", "1:3: anchors, aliases"},
		{"- null: []", "1:3: a key is plain text"},
	} {
		if _, err := parseText(test.text, parseYAML); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.text, err, test.want)
		}
	}
	many := `[{"targets": [` + strings.Repeat(`"10.0.0.1:1", `, maxServers) + `"10.0.0.1:1"]}]`
	if _, err := parseText(many, parseJSON); err == nil || !strings.Contains(err.Error(), errTooMany.Error()) {
		t.Errorf("%d servers: %v", maxServers+1, err)
	}
}

// A text of the largest size allocates no more than a small multiple of itself, whatever is in it. The parser of YAML
// copies more often.
func TestContentIsBoundedInMemory(t *testing.T) {
	for name, text := range map[string]string{
		"numbers":       "[" + strings.Repeat("0,", maxContent/2-1) + "0]",
		"targets":       `[{"targets":[` + strings.Repeat(`"",`, maxContent/3-10) + `""]}]`,
		"other keys":    `[{"x":[` + strings.Repeat("[],", maxContent/3-10) + `[]],"targets":[]}]`,
		"lines":         strings.Repeat("\n", maxContent-2) + "[]",
		"one long text": `[{"targets":["` + strings.Repeat("a", maxContent-20) + `"]}]`,
	} {
		for kind, read := range map[string]reader{"JSON": parseJSON, "YAML": parseYAML} {
			most := map[string]uint64{"JSON": 100 << 20, "YAML": 600 << 20}[kind]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := parseText(text, read)
			runtime.ReadMemStats(&after)
			if all := after.TotalAlloc - before.TotalAlloc; all > most {
				t.Errorf("%s as %s: %d MB were allocated, and %v", name, kind, all>>20, err)
			}
		}
	}
}

// FuzzGroups reads target groups. What is a JSON text means the same in YAML, if YAML accepts it.
func FuzzGroups(f *testing.F) {
	f.Add(`[{"targets": ["10.0.0.1:80", "a.example:1"], "labels": {"weight": "7", "state": "drain"}}]`)
	f.Add("- targets: ['10.0.0.1:80']\n  labels: {weight: 7}\n")
	f.Add("- targets:\n  - \"10.0.0.1:80\"\n  labels:\n    name: |\n      a\n")
	f.Add(`[{"targets": [], "labels": {"max_connections": 1e3, "backup": null}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []reader{parseJSON, parseYAML} {
			servers, err := parseText(text, read)
			if (err == nil) != (servers != nil) {
				t.Fatalf("%v, %v", servers, err)
			}
			if at, ok := errors.AsType[*contentError](err); err != nil && (!ok || at.line < 1 || at.column < 1) {
				t.Fatalf("no place: %#v", err)
			}
			for _, s := range servers {
				if !s.Address.IsValid() || s.Address.Port() == 0 || s.Weight < 0 || s.Weight > maxWeight || s.Name == "" {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}
