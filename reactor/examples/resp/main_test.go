package main

import (
	"strings"
	"testing"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// redis returns what redis-cli prints for a command.
func redis(t *testing.T, p *exampletest.Program, args ...string) string {
	t.Helper()
	host, port, _ := strings.Cut(p.Addr, ":")
	return strings.TrimSpace(exampletest.Client(t, "redis-cli", append([]string{"-h", host, "-p", port}, args...)...))
}

func TestRedisCLI(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		long := strings.Repeat("x", 100_000)
		for _, test := range []struct{ command, want string }{
			{"PING", "PONG"},
			{"SET greeting hello", "OK"},
			{"GET greeting", "hello"},
			{"INCR n", "1"},
			{"INCR n", "2"},
			{"SET long " + long, "OK"},
			{"GET long", long},
			{"EXISTS greeting n nothing", "2"},
			{"DEL greeting", "1"},
			{"GET greeting", ""},
			{"NONSENSE", "ERR unknown command"},
		} {
			if got := redis(t, p, strings.Fields(test.command)...); got != test.want {
				t.Errorf("%.40s: %.40q, want %.40q", test.command, got, test.want)
			}
		}
	})
}

// redis-benchmark pipelines.
func TestRedisBenchmark(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring)
		host, port, _ := strings.Cut(p.Addr, ":")
		out := exampletest.Client(t, "redis-benchmark", "-h", host, "-p", port, "-q", "-P", "16", "-c", "20", "-n", "20000",
			"-d", "64", "-r", "1000", "-t", "ping,set,get,incr")
		for _, test := range []string{"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR"} {
			if !strings.Contains(out, test+":") {
				t.Errorf("%s has no figure in %s", test, out)
			}
		}
	})
}

// The server survives a shortage of descriptors.
func TestShortage(t *testing.T) {
	exampletest.TestShortage(t, func(t *testing.T, p *exampletest.Program) {
		if got := redis(t, p, "PING"); got != "PONG" {
			t.Errorf("PING: %q", got)
		}
	})
}
