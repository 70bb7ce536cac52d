package proxy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// What [Proxy.Explain] says happens: random clients come to random plans, one after the other, and each gets the end,
// the backend and, if the policy hashes, the server that was explained before.
func TestSimulationOfExplanations(t *testing.T) {
	t.Parallel()
	hellos := map[string][]byte{}
	for _, sni := range explainedNames {
		for _, alpn := range explainedProtocols {
			hellos[sni+alpn] = hello(t, sni, slices.DeleteFunc([]string{alpn}, func(s string) bool { return s == "" })...)
		}
	}
	var saw explanationSightings
	seeds := *simSeeds
	if seeds == 0 {
		seeds = testenv.Seeds(100)
	}
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		err := simring.Play(func(k *simring.Kernel) func() {
			return simulateExplanations(k, hellos, &saw).check
		}, seed, simring.Flawless, traceOutput())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%+v", saw)
	if seeds < 100 {
		return
	}
	for name := range saw.unmet {
		if saw.unmet[name] < 10 {
			t.Errorf("the condition %s was rarely unmet", name)
		}
	}
	if saw.forwarded < 500 || saw.hashed < 100 || len(saw.refused) < 6 || len(saw.unmet) != 6 {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

// explanationSightings counts what the runs have seen.
type explanationSightings struct {
	forwarded, hashed int
	refused           map[string]int // by reason
	unmet             map[string]int // by condition
}

var (
	explainedNames     = []string{"", "a.test", "b.test", "x.a.test", "other"}
	explainedProtocols = []string{"", "h2", "x"}
	explainedNetworks  = []string{"127.0.0.0/8", "192.0.2.0/24", "198.51.100.0/25", "0.0.0.0/0"}
	explainedAddresses = []string{"192.0.2.1", "192.0.2.77", "198.51.100.1", "198.51.100.200"}
)

// explanations is a proxy on a random plan, and clients that ask first.
type explanations struct {
	*simulation
	rng    *rand.Rand
	hellos map[string][]byte
	saw    *explanationSightings
	plan   *plan.Plan
	file   *plan.File
	before *Preview // of the plan
}

func simulateExplanations(k *simring.Kernel, hellos map[string][]byte, saw *explanationSightings) *explanations {
	if saw.refused == nil {
		saw.refused, saw.unmet = map[string]int{}, map[string]int{}
	}
	k.Odds = simring.Odds{Latency: time.Millisecond, Buffer: 1 << 12, Files: 4096, CQ: 64}
	s := &explanations{
		simulation: &simulation{k: k, talk: program.NewTalk(k)}, rng: k.Rand(), hellos: hellos, saw: saw,
	}
	s.plan = &plan.Plan{}
	cfg := &config.Config{}
	for i := range 3 {
		b := s.drawBackend(i)
		s.plan.Backends = append(s.plan.Backends, b)
		cfg.Backends = append(cfg.Backends, *b.Settings)
	}
	l := simulatedListener(0, 0).plan()
	s.drawListener(&l)
	s.plan.Listeners = []plan.Listener{l}
	cfg.Listeners = []config.Listener{l.Listener}
	s.file = &plan.File{Config: cfg, Place: func(path string) string { return path }}
	before, err := NewPreview(s.plan, upstream.Handover{}, nil)
	if err != nil {
		k.Errorf("preview: %v", err)
	}
	s.before = before
	loop := program.NewLoop(k)
	k.Go("start", func(*simring.Thread) {
		p, err := prepare(Config{pairs: 1000, seed: 1}, s.plan, []*reactor.Loop{loop})
		if err != nil {
			k.Errorf("prepare: %v", err)
			return
		}
		s.run(p)
	})
	k.Go("clients", s.come)
	return s
}

// drawBackend draws a backend with servers of which some get no connections, and runs them.
func (s *explanations) drawBackend(i int) plan.Backend {
	b := config.NewBackend()
	b.Name = fmt.Sprintf("b%d", i)
	b.Balance.Policy = []config.Policy{config.Maglev, config.SourceHash, config.Random, config.P2C}[s.rng.IntN(4)]
	b.RetryDelay, b.Retries = 0, 0
	out := plan.Backend{Settings: &b}
	for k := range s.rng.IntN(4) {
		server := Server{Name: fmt.Sprintf("s%d", k), Address: serverAddress(10*i + k)}
		out.Servers = append(out.Servers, plan.Server{
			Name: server.Name, Address: server.addr(), Weight: s.rng.IntN(4), Priority: s.rng.IntN(2),
			State: []plan.State{plan.Up, plan.Up, plan.Up, plan.Drain}[s.rng.IntN(4)],
		})
		s.k.Go("server", func(t *simring.Thread) { s.serveAs(t, server, b.Name+"/"+server.Name) })
	}
	return out
}

// drawListener draws the rules of the listener.
func (s *explanations) drawListener(l *plan.Listener) {
	rng := s.rng
	l.Backend = []string{"", "b0", "b1"}[rng.IntN(3)]
	l.Allow, l.Deny = s.drawNetworks(6), s.drawNetworks(8)
	if rng.IntN(2) == 0 {
		l.ProxyProtocol.Trusted = prefixes([]string{"127.0.0.0/8", "127.0.0.0/8", "192.0.2.0/24"}[rng.IntN(3)])
		l.ProxyProtocol.Optional = rng.IntN(2) == 0
	}
	for i := range rng.IntN(6) {
		r := config.NewRoute()
		r.Name, r.Backend = fmt.Sprintf("r%d", i), fmt.Sprintf("b%d", rng.IntN(3))
		if rng.IntN(2) == 0 {
			r.SNI = []string{[]string{"a.test", "*.test", "B.test", "*.a.test"}[rng.IntN(4)]}
		}
		if rng.IntN(3) == 0 {
			r.ALPN = []string{"h2"}
		}
		if rng.IntN(4) == 0 {
			r.Transport = []config.Transport{config.TLSTransport, config.RawTransport, config.AnyTransport}[rng.IntN(3)]
		}
		r.Sources, r.Destinations = s.drawNetworks(3), s.drawNetworks(4)
		r.Allow, r.Deny = s.drawNetworks(8), s.drawNetworks(8)
		if rng.IntN(4) == 0 {
			r.DestinationPorts = []int{80 + rng.IntN(3)}
		}
		if rng.IntN(4) == 0 {
			r.Backend = ""
			r.Backends = []config.WeightedBackend{{Backend: "b0", Weight: rng.IntN(3)}, {Backend: "b2", Weight: 1}}
		}
		l.Routes = append(l.Routes, r)
	}
	if l.Backend == "" && len(l.Routes) == 0 {
		l.Backend = "b0"
	}
}

// drawNetworks draws a network, once in so many times.
func (s *explanations) drawNetworks(times int) []config.Prefix {
	if s.rng.IntN(times) != 0 {
		return nil
	}
	return prefixes(explainedNetworks[s.rng.IntN(len(explainedNetworks))])
}

// serveAs says its name to each client, and waits for the end.
func (s *explanations) serveAs(t *simring.Thread, server Server, name string) {
	over := func() bool { return s.isUp() && s.running == 0 }
	for ln := server.listen(t); ; {
		fd := t.Accept(ln, over)
		if fd < 0 {
			_ = s.k.System().Close(ln)
			return
		}
		_, _ = t.Send(fd, []byte(name))
		s.k.Go("served", func(t *simring.Thread) { s.untilEnd(t, fd) })
	}
}

// untilEnd receives until there is no more, and closes the socket.
func (s *explanations) untilEnd(t *simring.Thread, fd int) {
	for {
		t.Until(func() bool { return s.k.Ready(fd, unix.POLLIN) })
		if n, err := t.Recv(fd, make([]byte, 4096)); n == 0 && err != unix.EAGAIN {
			_ = s.k.System().Close(fd)
			return
		}
	}
}

// come has clients come, one after the other, and ends the proxy.
func (s *explanations) come(t *simring.Thread) {
	t.Until(s.isUp)
	for range 40 {
		s.visit(t)
	}
	s.proxy.each((*worker).drain)
}

// visit is a random client. What it gets is compared with what was explained.
func (s *explanations) visit(t *simring.Thread) {
	rng := s.rng
	c := Client{Listener: s.plan.Listeners[0].Name, TLS: rng.IntN(3) != 0}
	opener := []byte("something that is not TLS")
	if c.TLS {
		c.SNI = explainedNames[rng.IntN(len(explainedNames))]
		alpn := explainedProtocols[rng.IntN(len(explainedProtocols))]
		if opener = s.hellos[c.SNI+alpn]; alpn != "" {
			c.ALPN = []string{alpn}
		}
	}
	before := s.ends()
	fd, refused := t.Dial(s.proxy.Addrs()[0])
	c.Address, c.To = netip.MustParseAddrPort("127.0.0.1:1"), s.proxy.Addrs()[0]
	if rng.IntN(2) == 0 {
		c.Peer, c.Header = c.Address, true
		c.Address = netip.AddrPortFrom(netip.MustParseAddr(explainedAddresses[rng.IntN(4)]), uint16(1+rng.IntN(60000)))
		c.To = netip.AddrPortFrom(netip.MustParseAddr(explainedAddresses[rng.IntN(4)]), uint16(80+rng.IntN(3)))
		opener = append(proxyproto.Append(nil, &proxyproto.Header{Version: 1 + rng.IntN(2), Source: c.Address,
			Destination: c.To}), opener...)
	}
	x, err := s.proxy.Explain(c, s.file)
	if err != nil {
		s.k.Errorf("explain: %v", err)
		return
	}
	s.foresee(c, x)
	got := ""
	if refused == nil {
		_, _ = t.Send(fd, opener)
		got = s.answer(t, fd)
		_ = s.k.System().Close(fd)
	}
	if t.UntilOr(func() bool { return s.ended(before) != "" }, time.Minute, "waiting for the end of the connection") {
		s.compare(c, x, got, s.ended(before))
	}
}

// foresee compares what the preview of the plan says with what the proxy says.
func (s *explanations) foresee(c Client, x *stats.Explanation) {
	y, err := s.before.Explain(c, s.file)
	if err != nil || y.Outcome != x.Outcome || y.Reason != x.Reason || !slices.Equal(y.Steps, x.Steps) ||
		!slices.Equal(y.Routes, x.Routes) || len(y.Backends) != len(x.Backends) {
		s.k.Errorf("%+v: %v, the preview says %+v, the proxy %+v", c, err, y, x)
		return
	}
	for i, b := range x.Backends {
		for k, server := range b.Servers {
			if also := y.Backends[i].Servers[k]; also.Percent != server.Percent || b.Hashes && also.Chosen != server.Chosen {
				s.k.Errorf("%+v: the preview says %+v, the proxy %+v", c, also, server)
			}
		}
	}
}

// ends returns how many connections have ended, or were refused, by reason.
func (s *explanations) ends() map[string]uint64 {
	all, l := map[string]uint64{}, s.proxy.Stats().Listeners[0]
	for _, e := range l.Ended {
		all[e.By+"/"+e.Phase] = e.Count
	}
	for _, r := range l.Rejected {
		all[r.Reason+"/accept"] = r.Count
	}
	return all
}

// ended returns why a connection has ended since then, or "".
func (s *explanations) ended(before map[string]uint64) string {
	for why, n := range s.ends() {
		if n != before[why] {
			return why
		}
	}
	return ""
}

// answer returns what a client is told by a server, or "".
func (s *explanations) answer(t *simring.Thread, fd int) string {
	t.UntilOr(func() bool { return s.k.Ready(fd, unix.POLLIN) }, time.Minute, "waiting for an answer")
	b := make([]byte, 16)
	n, _ := t.Recv(fd, b)
	return string(b[:max(n, 0)])
}

// compare compares what a client got, and how it ended, with what was explained.
func (s *explanations) compare(c Client, x *stats.Explanation, got, ended string) {
	for _, r := range x.Routes {
		if r.Unmet != "" {
			s.saw.unmet[r.Unmet]++
		}
	}
	if got == "" {
		if ended != x.Reason && !s.mayEnd(x, ended) {
			s.k.Errorf("%+v: ended by %s; explained: %+v", c, ended, x)
		}
		s.saw.refused[ended]++
		return
	}
	s.saw.forwarded++
	for _, b := range x.Backends {
		for _, server := range b.Servers {
			if b.Backend+"/"+server.Server != got {
				continue
			}
			if s.saw.hashed++; !b.Hashes {
				s.saw.hashed--
			}
			if b.Percent == 0 || server.Percent == 0 || b.Hashes && !server.Chosen {
				s.k.Errorf("%+v: served by %s; explained: %+v", c, got, x)
			}
			return
		}
	}
	s.k.Errorf("%+v: served by %s, which was not explained: %+v", c, got, x)
}

// mayEnd reports whether a connection may end so because of one of several backends.
func (s *explanations) mayEnd(x *stats.Explanation, ended string) bool {
	return slices.ContainsFunc(x.Backends, func(b stats.ExplainedBackend) bool {
		return b.Percent > 0 && b.Outcome == "refuse" && b.Reason == ended
	})
}
