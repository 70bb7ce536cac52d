package loader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// TCP does not come back by UDP, nor by an interface that this machine does not use for itself.
func TestSelfProxyingByAnotherKind(t *testing.T) {
	for listener, want := range map[string]bool{
		"address: 'udp://127.0.0.1:80', backend: b":                                                    true,
		"address: '127.0.0.1:80', backend: b":                                                          true,
		"address: '127.0.0.1:79-81', backend: b":                                                       true,
		"address: '0.0.0.0:80', socket: {interface: eth0}, backend: b":                                 false,
		"address: '0.0.0.0:80', socket: {interface: lo}, backend: b":                                   true,
		"address: '127.0.0.1:80', backend: c, routes: [{sni: [a], backend: b}]":                        true,
		"address: '127.0.0.1:80', backend: c, routes: [{sources: [10.0.0.0/8], backend: b}]":           false,
		"address: 'udp://127.0.0.1:79', backend: b}\n- {name: l2, address: '127.0.0.1:80', backend: c": false,
	} {
		cfg, places, err := config.Parse("f", []byte("listeners:\n- {name: l, "+listener+"}\n"+
			"backends: [{name: b, servers: ['127.0.0.1:80']}, {name: c, servers: ['192.0.2.1:1']}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Check(t.Context(), cfg, places.Errors, noWarning); (err != nil) != want {
			t.Errorf("%s: %v", listener, err)
		}
	}
}

// TestSelfProxyingByUnixSocket checks that a listener on a unix socket does not lead back to itself.
func TestSelfProxyingByUnixSocket(t *testing.T) {
	for server, want := range map[string]bool{"/a": true, "/b": false, "@a": false} {
		cfg, places, err := config.Parse("f", []byte("listeners: [{name: l, address: 'unix:///a', backend: b}]\n"+
			"backends: [{name: b, servers: ['unix://"+server+"']}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Check(t.Context(), cfg, places.Errors, noWarning); (err != nil) != want {
			t.Errorf("%s: %v", server, err)
		}
	}
}

// A cycle of listeners is refused, a chain is not.
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
	refused := func(at string, port int, listener string) string {
		return fmt.Sprintf("%s: server \"tcp://127.0.0.1:%d\" leads back to the listener: "+
			"its connections would be proxied in an endless loop; see %s", at, port, listener)
	}
	for last, want := range map[string]string{
		"84": "",
		"81": refused("f:6:25", 82, "f:3:38") + "|" +
			refused("f:7:25", 83, "f:4:40") + "|" + refused("f:8:40", 81, "f:2:38"),
		"83": refused("f:8:40", 83, "f:4:40"),
	} {
		cfg, places, err := config.Parse("f", []byte(strings.Replace(text, "LAST", last, 1)))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := Check(t.Context(), cfg, places.Errors, noWarning); err != nil {
			got = strings.ReplaceAll(err.Error(), "\n", "|")
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", last, got, want)
		}
	}
}
