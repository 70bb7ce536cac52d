package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

func parse(t *testing.T, args ...string) (*proxyCommand, *kong.Context) {
	t.Helper()
	var c commands
	parser, err := kong.New(&c, defaults())
	if err != nil {
		t.Fatal(err)
	}
	context, err := parser.Parse(append([]string{"proxy"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return &c.Proxy, context
}

// TestFlagsHaveTheDefaultsOfTheFile compares the shortest command line with the shortest file.
func TestFlagsHaveTheDefaultsOfTheFile(t *testing.T) {
	c, _ := parse(t, "--listen", "tcp://[::1]:8080", "--to", "tcp://app:9000")
	file, _, err := config.Parse("f", []byte(`
listeners: [{name: proxy, address: "tcp://[::1]:8080", backend: servers}]
backends: [{name: servers, servers: ["tcp://app:9000"]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	file.Metrics.Detail = config.FullDetail // flags set it: there is one listener
	if diff := cmp.Diff(file, c.config()); diff != "" {
		t.Errorf("-file +flags\n%s", diff)
	}
}

func TestEveryFlagReachesTheConfiguration(t *testing.T) {
	c, _ := parse(t, "--listen=a:1", "--to=b:2", "--to=c:3,d:4", "--max-connections=5",
		"--connect-timeout=6s", "--idle-timeout=7s",
		"--half-close-timeout=8s", "--buffer=9KiB", "--ring=epoll", "--loops=10", "--pin", "--min-wait=13us",
		"--metrics=e:11", "--drain-timeout=12s",
		"--log-level=warn", "--log-format=json")
	want := config.New()
	want.Ring, want.Loops, want.Pin, want.MinWait = "epoll", 10, true, 13*time.Microsecond
	want.Metrics.Address, want.Metrics.Detail = config.Address{Host: "e", Port: 11}, config.FullDetail
	want.Drain.Timeout = 12 * time.Second
	want.Log = config.Log{Level: "warn", Format: "json"}
	l, b := config.NewListener(), config.NewBackend()
	l.Name, l.Address, l.Backend, l.MaxConnections = "proxy", config.Address{Host: "a", Port: 1}, "servers", 5
	b.Name, b.Buffer = "servers", 9*config.KiB
	b.ConnectTimeout, b.IdleTimeout, b.HalfCloseTimeout = 6*time.Second, 7*time.Second, 8*time.Second
	for _, at := range []config.Address{{Host: "b", Port: 2}, {Host: "c", Port: 3}, {Host: "d", Port: 4}} {
		s := config.NewServer()
		s.Address = at
		b.Servers = append(b.Servers, s)
	}
	want.Listeners, want.Backends = []config.Listener{l}, []config.Backend{b}
	if diff := cmp.Diff(want, c.config()); diff != "" {
		t.Error(diff)
	}
}

// TestProblemsNameFlagsThatExist gives every flag a wrong value.
func TestProblemsNameFlagsThatExist(t *testing.T) {
	c, context := parse(t, "--listen=a:1", "--to=b:0", "--max-connections=-1",
		"--connect-timeout=-1s", "--idle-timeout=-1s",
		"--half-close-timeout=-1s", "--buffer=0", "--ring=x", "--loops=-1", "--drain-timeout=-1s",
		"--min-wait=-1s", "--log-level=x", "--log-format=x")
	c.Listen = config.Address{}
	flags := map[string]bool{}
	for _, f := range context.Selected().Flags {
		flags["--"+f.Name] = true
	}
	problems := c.config().Validate()
	named := map[string]bool{}
	for _, p := range problems {
		flag := flagOf(p.Path)
		if !flags[flag] {
			t.Errorf("%s: there is no flag %s", p.Path, flag)
		}
		named[flag] = true
	}
	if len(named) != 13 {
		t.Errorf("%d flags are found wrong, want 13: %v", len(named), problems)
	}
	if lines := strings.Split(flagErrors(problems).Error(), "\n"); len(lines) != len(problems) {
		t.Errorf("%d lines for %d problems", len(lines), len(problems))
	}
}
