package cli

import (
	"errors"
	"strings"
	"testing"

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
