package main

import (
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// A proxy that is its own server is refused, in whatever words and however many listeners are in between.
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
		_, err := settle(t.Context(), c.config(), flagErrors)
		if (err != nil) != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "--to: \"tcp://") ||
			!strings.HasSuffix(err.Error(), "leads back to the listener: its connections would never arrive; see --listen")) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestSelfProxyingThroughAnotherListener(t *testing.T) {
	const text = `listeners:
  - {name: one, backend: a, address: "127.0.0.1:81"}
  - {name: two, backend: b, address: "127.0.0.1:82"}
  - {name: three, backend: c, address: "127.0.0.1:83"}
backends:
  - {name: a, servers: ["127.0.0.1:82"]}
  - {name: b, servers: ["127.0.0.1:83"]}
  - {name: c, servers: ["192.0.2.1:1", "127.0.0.1:LAST"]}
`
	for last, want := range map[string]string{
		"84": "", // a chain of listeners is allowed
		"81": "f:6:25: server \"tcp://127.0.0.1:82\" leads back to the listener: its connections would never arrive; see f:3:38|" +
			"f:7:25: server \"tcp://127.0.0.1:83\" leads back to the listener: its connections would never arrive; see f:4:40|" +
			"f:8:40: server \"tcp://127.0.0.1:81\" leads back to the listener: its connections would never arrive; see f:2:38",
		"83": "f:8:40: server \"tcp://127.0.0.1:83\" leads back to the listener: its connections would never arrive; see f:4:40",
	} {
		cfg, source, err := config.Parse("f", []byte(strings.Replace(text, "LAST", last, 1)))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := settle(t.Context(), cfg, source.Errors); err != nil {
			got = strings.ReplaceAll(err.Error(), "\n", "|")
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", last, got, want)
		}
	}
}
