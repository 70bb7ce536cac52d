package loader

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

func TestResolve(t *testing.T) {
	cfg, places, err := config.Parse("f", []byte(`
listeners:
  - {name: six, address: "tcp://[::1]:80", backend: app, max_connections: 7}
  - {name: name, address: "tcp://localhost:81", backend: app}
backends:
  - name: app
    servers: ["tcp://192.0.2.1:9000", "tcp://LOCALHOST:9001"]
    connect_timeout: 2s
    idle_timeout: 0s
    half_close_timeout: 3s
    buffer: 8KiB
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Check(t.Context(), cfg, places.Errors, noWarning)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort
	type bound struct {
		Name string
		At   netip.AddrPort
	}
	var listeners, servers []bound
	for _, l := range got.Listeners {
		listeners = append(listeners, bound{l.Name, l.Bind})
	}
	for _, s := range got.Backend("app").Servers {
		servers = append(servers, bound{s.Name, s.Address.AddrPort()})
	}
	same := cmpopts.EquateComparable(netip.AddrPort{})
	want := []bound{{"name", at("127.0.0.1:81")}, {"six", at("[::1]:80")}}
	if diff := cmp.Diff(want, listeners, same); diff != "" {
		t.Error(diff)
	}
	want = []bound{{"localhost:9001", at("127.0.0.1:9001")}, {"192.0.2.1:9000", at("192.0.2.1:9000")}}
	if diff := cmp.Diff(want, servers, same); diff != "" {
		t.Error(diff)
	}
}

// named is a configuration with so many servers by name, each of them twice.
func named(t *testing.T, n int) (*config.Config, *config.Places) {
	t.Helper()
	var text strings.Builder
	text.WriteString("listeners: [{name: l, address: 'tcp://front.test:80', backend: b}]\n" +
		"metrics: front.test:81\nbackends:\n- name: b\n  servers:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - tcp://s%d.test:9000\n  - tcp://s%[1]d.test:9001\n", i)
	}
	cfg, places, err := config.Parse("f", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return cfg, places
}

// Names are looked up in parallel up to a limit, each once and with a deadline of its own.
func TestNamesAreLookedUpInParallel(t *testing.T) {
	const names = 3 * parallelLookups
	cfg, _ := named(t, names-1)
	var mu sync.Mutex
	var running, most, lookups int
	full := make(chan struct{})
	found, problems := resolve(t.Context(), cfg, func(ctx context.Context, host string) (netip.Addr, error) {
		mu.Lock()
		lookups++
		running++
		if most = max(most, running); lookups == parallelLookups {
			close(full)
		}
		mu.Unlock()
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > lookupTimeout || time.Until(at) < lookupTimeout/2 {
			t.Errorf("%s has until %v", host, at)
		}
		select {
		case <-full:
		case <-ctx.Done():
		}
		mu.Lock()
		running--
		mu.Unlock()
		return netip.MustParseAddr("192.0.2.1"), nil
	})
	if len(problems) != 0 || found.of(cfg.Metrics.Address) != netip.MustParseAddrPort("192.0.2.1:81") {
		t.Errorf("%v, metrics on %v", problems, found.of(cfg.Metrics.Address))
	}
	if most != parallelLookups || lookups != names {
		t.Errorf("%d lookups, %d at a time, want %d and %d", lookups, most, names, parallelLookups)
	}
}

// There is an error for every setting whose name has no address, with its place.
func TestEveryNameThatFailsIsReported(t *testing.T) {
	cfg, places := named(t, 2)
	noName := errors.New("no such name")
	_, problems := resolve(t.Context(), cfg, func(_ context.Context, host string) (netip.Addr, error) {
		if host == "s0.test" {
			return netip.MustParseAddr("192.0.2.1"), nil
		}
		return netip.Addr{}, noName
	})
	err := places.Errors(problems)
	const want = `f:1:32: address "tcp://front.test:80": no such name
f:2:10: metrics "tcp://front.test:81": no such name
f:8:5: server "tcp://s1.test:9000": no such name
f:9:5: server "tcp://s1.test:9001": no such name`
	if fmt.Sprint(err) != want || !errors.Is(err, noName) {
		t.Errorf("got\n%v", err)
	}
}

// When the context is done, no further names are looked up.
func TestLookupsEnd(t *testing.T) {
	cfg, _ := named(t, 3*parallelLookups)
	ctx, cancel := context.WithCancel(t.Context())
	var lookups atomic.Int64
	resolve(ctx, cfg, func(ctx context.Context, host string) (netip.Addr, error) {
		if lookups.Add(1) == parallelLookups {
			cancel()
		}
		<-ctx.Done()
		return netip.Addr{}, ctx.Err()
	})
	if n := lookups.Load(); n != parallelLookups {
		t.Errorf("%d lookups, want %d", n, parallelLookups)
	}
}

func noWarning(string) {}
