package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

// The address of the metrics must not overlap either; 0.0.0.0 is every address for them.
func TestMetricsOverlap(t *testing.T) {
	for listen, want := range map[string]string{
		"localhost:80": `--metrics: "tcp://127.0.0.1:80" overlaps "tcp://localhost:80": ` +
			"a connection could be for either; see --listen",
		"127.0.0.1:81": "",
	} {
		c, _ := parse(t, "--listen", listen, "--to", "192.0.2.1:1", "--metrics", "127.0.0.1:80")
		_, err := loader.Check(t.Context(), c.config(), flagErrors, noWarning)
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v", listen, err)
		}
	}
	c, _ := parse(t, "--listen", "[::1]:80", "--to", "192.0.2.1:1", "--metrics", "0.0.0.0:80")
	if _, err := loader.Check(t.Context(), c.config(), flagErrors, noWarning); err == nil {
		t.Error("0.0.0.0 for the metrics is every address")
	}
}

// A proxy that is its own server is refused, however the address is written.
func TestSelfProxying(t *testing.T) {
	for _, test := range []struct {
		name, listen, to string
		want             bool
	}{
		{"itself", "127.0.0.1:80", "127.0.0.1:80", true},
		{"by name", "127.0.0.1:80", "localhost:80", true},
		{"every IPv4 address", "0.0.0.0:80", "127.0.0.1:80", true},
		{"every address", "[::]:80", "127.0.0.1:80", true},
		{"every address, over IPv6", "[::]:80", "[::1]:80", true},
		{"another family", "0.0.0.0:80", "[::1]:80", false},
		{"another port", "127.0.0.1:80", "127.0.0.1:81", false},
		{"another machine", "0.0.0.0:80", "192.0.2.1:80", false},
		{"any free port", "127.0.0.1:0", "127.0.0.1:80", false},
	} {
		c, _ := parse(t, "--listen", test.listen, "--to", "192.0.2.2:1", "--to", test.to)
		_, err := loader.Check(t.Context(), c.config(), flagErrors, noWarning)
		if (err != nil) != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
		const why = " leads back to the listener: its connections would be proxied in an endless loop; see --listen"
		if err != nil && (!strings.HasPrefix(err.Error(), "--to: \"tcp://") || !strings.HasSuffix(err.Error(), why)) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A name that has no address is an error of its flag, and not a wrong command line.
func TestUnknownNameNamesItsFlag(t *testing.T) {
	c, _ := parse(t, "--listen", "tcp://front.invalid:80", "--to", "192.0.2.1:1")
	_, err := loader.Check(t.Context(), c.config(), flagErrors, noWarning)
	const want = `--listen: "tcp://front.invalid:80": `
	if err == nil || errors.Is(err, errFlags) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func noWarning(string) {}

// What is not ready for production is listed with its place, and is an error. Nothing to list is none.
func TestCheckProduction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	for text, want := range map[string]string{
		"access_log: {path: '-'}\nmetrics: '127.0.0.1:0'\n": "",
		"metrics: '127.0.0.1:0'\ndrain: {timeout: 0s}\n":    "drain.timeout access_log.path",
	} {
		text += "listeners: [{name: l, address: '127.0.0.1:80', backend: b}]\n" +
			"backends: [{name: b, servers: ['192.0.2.1:1']}]\n"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cfg, places, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, asJSON := range []bool{false, true} {
			var out strings.Builder
			err = checkCommand{Config: path, Production: true, JSON: asJSON}.production(&out, cfg.Production(), places)
			if errors.Is(err, errProduction) != (want != "") {
				t.Errorf("%q: %v", text, err)
			}
			var got []string
			if asJSON {
				var all []struct{ Setting, Place, Text string }
				if err := json.Unmarshal([]byte(out.String()), &all); err != nil {
					t.Fatal(err)
				}
				for _, f := range all {
					got = append(got, f.Setting)
				}
			} else {
				for line := range strings.Lines(out.String()) {
					if place, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(place, path+":") {
						got = append(got, strings.Split(rest, ": ")[0])
					}
				}
				if want == "" && out.String() != path+": ready for production\n" {
					t.Errorf("printed %q", out.String())
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("JSON %v: %q, want %s, in\n%s", asJSON, got, want, out.String())
			}
		}
	}
}
