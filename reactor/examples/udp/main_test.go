package main

import (
	"net"
	"strings"
	"testing"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// dig asks until the server has started.
func dig(t *testing.T, p *exampletest.Program, args ...string) string {
	t.Helper()
	host, port, _ := net.SplitHostPort(p.Addr)
	args = append([]string{"@" + host, "-p", port, "+time=1", "+tries=10"}, args...)
	return strings.TrimSpace(exampletest.Client(t, "dig", args...))
}

func TestDig(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.StartPacket(t, "-ring", ring, "-loops", "2")
		exampletest.Eventually(t, "the server answers", func() bool {
			host, port, _ := net.SplitHostPort(p.Addr)
			_, err := exampletest.ClientErr(t, "dig", "@"+host, "-p", port, "+time=1", "+tries=1", "hello.example")
			return err == nil
		})
		for _, test := range []struct{ question, want string }{
			{"hello.example A", "192.0.2.1"},
			{"hello.example AAAA", "2001:db8::1"},
			{"WhoAmI.example A", "127.0.0.1"},
			{"hello.example TXT", ""},
			{"nothing.example A", ""},
		} {
			if got := dig(t, p, append(strings.Fields(test.question), "+short")...); got != test.want {
				t.Errorf("%s: %q, want %q", test.question, got, test.want)
			}
		}
		if got := dig(t, p, "nothing.example"); !strings.Contains(got, "status: NXDOMAIN") {
			t.Errorf("a name that does not exist: %s", got)
		}
	})
}
