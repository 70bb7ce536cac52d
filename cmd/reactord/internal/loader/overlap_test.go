package loader

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Two listeners on one address, however it is written, are refused, and so are addresses of which one covers the other.
func TestOverlaps(t *testing.T) {
	loopback, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"127.0.0.1:80", "127.0.0.1:81", false},
		{"127.0.0.1:80", "127.0.0.2:80", false},
		{"localhost:80", "127.0.0.1:80", true},
		{"[::ffff:127.0.0.1]:80", "localhost:80", true},
		{"0.0.0.0:80", "127.0.0.1:80", true},
		{"0.0.0.0:80", "[::ffff:127.0.0.1]:80", true},
		{"0.0.0.0:80", "[::1]:80", false},
		{"0.0.0.0:80", "[::]:80", true},
		{"[::]:80", "[::1]:80", true},
		{"[::]:80", "127.0.0.1:80", true},
		{"[::1]:80", "127.0.0.1:80", false},
		{"0.0.0.0:0", "127.0.0.1:0", false},
		{"127.0.0.1:0", "localhost:0", false},
		{"[fe80::1%lo]:80", fmt.Sprintf("[fe80::1%%%d]:80", loopback.Index), true},
		{"[fe80::1%lo]:80", fmt.Sprintf("[fe80::1%%%d]:80", loopback.Index+1), false},
		{"127.0.0.1:80-90", "127.0.0.1:90-91", true},
		{"127.0.0.1:80-90", "127.0.0.1:91", false},
		{"127.0.0.1:80-90", "udp://127.0.0.1:85", false},
		{"udp://0.0.0.0:85", "udp://127.0.0.1:80-90", true},
		{"unix:///run/a", "unix:///run/b", false},
		{"unix:///run/a", "unix://@/run/a", false},
		{"fd://a", "fd+udp://a", true},
	} {
		for _, order := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			cfg, places, err := config.Parse("f", fmt.Appendf(nil, `listeners:
  - {name: one, backend: b, address: "%s"}
  - {name: two, backend: b, address: "%s"}
backends: [{name: b, servers: ["192.0.2.1:1"]}]
`, order[0], order[1]))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Check(t.Context(), cfg, places.Errors, noWarning)
			if (err != nil) != test.want {
				t.Errorf("%v: %v", order, err)
			}
			if err == nil {
				continue
			}
			if s := err.Error(); !strings.HasPrefix(s, "f:3:38: address ") || !strings.HasSuffix(s, "; see f:2:38") {
				t.Errorf("%v: the places are missing: %v", order, err)
			}
		}
	}
}

// Options of sockets keep addresses apart.
func TestSocketsThatDoNotOverlap(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"'[::]:80', socket: {ipv6_only: true}", "'0.0.0.0:80'", false},
		{"'[::]:80', socket: {ipv6_only: true}", "'[::1]:80'", true},
		{"'[::]:80', socket: {interface: lo}", "'[::]:80', socket: {interface: eth0}", false},
		{"'[::]:80', socket: {interface: lo}", "'127.0.0.1:80'", true},
	} {
		cfg, places, err := config.Parse("f", fmt.Appendf(nil, `listeners:
  - {name: one, backend: b, address: %s}
  - {name: two, backend: b, address: %s}
backends: [{name: b, servers: ["192.0.2.1:1"]}]
`, test.a, test.b))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Check(t.Context(), cfg, places.Errors, noWarning); (err != nil) != test.want {
			t.Errorf("%s, %s: %v", test.a, test.b, err)
		}
	}
}
