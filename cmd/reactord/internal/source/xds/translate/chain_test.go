package translate

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// client is a connection for which a chain is looked for.
type client struct {
	port     uint16
	to, from netip.Addr
	name     string
	tls      bool
	offers   []string
}

// envoy is the chain that Envoy chooses: it looks at one condition after the other, and never goes back. nil: none.
func envoy(chains []*chain, c client) *chain {
	narrow := func(best func(m *match) int) { // to the chains with the greatest rank; less than 0: it does not fit
		most, left := -1, []*chain(nil)
		for _, ch := range chains {
			most = max(most, best(&ch.match))
		}
		for _, ch := range chains {
			if most >= 0 && best(&ch.match) == most {
				left = append(left, ch)
			}
		}
		chains = left
	}
	one := func(unset, fits bool) int {
		switch {
		case fits && !unset:
			return 1
		case unset:
			return 0
		}
		return -1
	}
	longest := func(all []netip.Prefix, ip netip.Addr) int {
		if len(all) == 0 {
			return 0
		}
		rank := -1
		for _, p := range all {
			if p.Contains(ip) {
				rank = max(rank, 1+p.Bits())
			}
		}
		return rank
	}
	narrow(func(m *match) int { return one(m.port == 0, m.port == c.port) })
	narrow(func(m *match) int { return longest(m.destinations, c.to) })
	narrow(func(m *match) int {
		if len(m.names) == 0 {
			return 0
		}
		rank := -1
		for _, n := range m.names {
			if n == c.name {
				rank = 1000
			} else if below, wild := strings.CutPrefix(n, "*"); wild && strings.HasSuffix(c.name, below) {
				rank = max(rank, len(n))
			}
		}
		return rank
	})
	narrow(func(m *match) int {
		return one(m.transport == "", m.transport == map[bool]config.Transport{true: "tls", false: "raw"}[c.tls])
	})
	narrow(func(m *match) int {
		return one(len(m.protocols) == 0, shared(m.protocols, c.offers))
	})
	narrow(func(m *match) int { return longest(m.clients, c.from) })
	if len(chains) == 0 {
		return nil
	}
	return chains[0]
}

// shared reports whether both lists have something in common.
func shared(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// takes reports whether a route takes a connection, as the proxy does.
func takes(r *config.Route, c client) bool {
	in := func(all []config.Prefix, ip netip.Addr) bool {
		return len(all) == 0 || slices.ContainsFunc(all, func(p config.Prefix) bool { return p.Contains(ip) })
	}
	fits := func(n string) bool { return c.name != "" && covers(n, c.name) }
	named := len(r.SNI) == 0 || slices.ContainsFunc(r.SNI, fits)
	offered := len(r.ALPN) == 0 || shared(r.ALPN, c.offers)
	begun := r.Transport == "any" || r.Transport == map[bool]config.Transport{true: "tls", false: "raw"}[c.tls]
	port := len(r.DestinationPorts) == 0 || slices.Contains(r.DestinationPorts, int(c.port))
	return named && offered && begun && port && in(r.Sources, c.from) && in(r.Destinations, c.to)
}

// TestRoutesAreChains compares the first route that matches with the chain that Envoy chooses, for random chains and
// every connection of a small world.
func TestRoutesAreChains(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tried := 0
	for range 3000 {
		chains, fallback := randomChains(r)
		all, err := routes(chains, fallback, nil)
		if err != nil {
			continue // two chains are alike
		}
		tried++
		for range 50 {
			c := randomClient(r)
			want := "reset"
			ch := envoy(chains, c)
			if ch == nil {
				ch = fallback
			}
			if ch != nil && (c.tls || ch.tls == nil) {
				want = ch.route.Backend
			}
			got := "reset"
			if i := slices.IndexFunc(all, func(m matched) bool { return takes(&m.Route, c) }); i >= 0 && len(all[i].Deny) == 0 {
				got = all[i].Backend
			}
			if got != want {
				t.Fatalf("connection %+v goes to %s and not to %s\n%s", c, got, want, show(chains, fallback, all))
			}
		}
	}
	if tried < 500 {
		t.Fatalf("only %d sets of chains were not refused", tried)
	}
}

func show(chains []*chain, fallback *chain, all []matched) string {
	var b strings.Builder
	for _, ch := range chains {
		fmt.Fprintf(&b, "chain %s %+v tls=%v\n", ch.route.Backend, ch.match, ch.tls != nil)
	}
	fmt.Fprintf(&b, "fallback %v\n", fallback != nil)
	for _, r := range all {
		fmt.Fprintf(&b, "route%s\n", differences(r.Route, config.NewRoute()))
	}
	return b.String()
}

func few[T any](r *rand.Rand, all ...T) []T {
	var out []T
	for _, v := range all {
		if r.IntN(len(all)+2) == 0 {
			out = append(out, v)
		}
	}
	return out
}

func one[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func randomChains(r *rand.Rand) (chains []*chain, fallback *chain) {
	for i := range 1 + r.IntN(5) {
		ch := &chain{index: i, route: config.NewRoute()}
		ch.route.Backend = fmt.Sprint("b", i)
		ch.match = match{
			port:         one[uint16](r, 0, 0, 80),
			destinations: few(r, netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.1.0.0/16")),
			names:        few(r, "a.b.c", "*.b.c", "*.c", "d.b.c", "e"),
			transport:    one[config.Transport](r, "", "", "", "tls", "raw"),
			protocols:    one(r, nil, nil, []string{"h2", "x"}),
			clients:      few(r, netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("192.168.1.0/24")),
		}
		if r.IntN(3) == 0 {
			ch.tls = &serverTLS{}
		}
		chains = append(chains, ch)
	}
	if r.IntN(2) == 0 {
		fallback = &chain{route: config.NewRoute()}
		fallback.route.Backend = "fallback"
		if r.IntN(3) == 0 {
			fallback.tls = &serverTLS{}
		}
	}
	return chains, fallback
}

func randomClient(r *rand.Rand) client {
	c := client{
		port: one[uint16](r, 80, 81),
		to:   netip.MustParseAddr(one(r, "10.0.0.1", "10.1.0.1", "11.0.0.1")),
		from: netip.MustParseAddr(one(r, "192.168.0.1", "192.168.1.1", "1.1.1.1")),
		tls:  r.IntN(3) > 0,
	}
	if c.tls {
		c.name = one(r, "", "a.b.c", "d.b.c", "x.b.c", "x.c", "e", "f")
		c.offers = one(r, nil, []string{"h2"}, []string{"y", "x"})
	}
	return c
}
