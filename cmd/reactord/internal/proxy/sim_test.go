package proxy

import (
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/simring/program"
	"github.com/reactord/reactord/reactor"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 300, "how many seeds the simulation is played with")
	simFrom  = flag.Uint64("sim.from", 0, "the first of them")
	simFlaw  = flag.String("sim.flaw", "", "what the simulated rings do wrong on purpose")
	simTrace = flag.Bool("sim.trace", false, "tell what happens, step by step")
)

// The data path on a simulated kernel. A failing seed is played again, with a trace, by
// go test -run TestSimulation -sim.from SEED -sim.seeds 1 -sim.trace.
func TestSimulation(t *testing.T) {
	var trace io.Writer
	if *simTrace {
		trace = os.Stdout
	}
	var saw struct{ ends, resets, refused int }
	for seed := *simFrom; seed < *simFrom+*simSeeds; seed++ {
		var s *simulation
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulate(k)
			return s.check
		}, seed, simring.Flaw(*simFlaw), trace)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, p := range s.talk.Parties() {
			switch {
			case p.SawEnd:
				saw.ends++
			case p.SawReset:
				saw.resets++
			case p.Refused:
				saw.refused++
			}
		}
	}
	t.Logf("%+v", saw)
	if *simSeeds >= 100 && (saw.ends < 100 || saw.resets < 100 || saw.refused == 0) {
		t.Errorf("hardly anything was tried: %+v", saw)
	}
}

func TestSimulationFindsFlaws(t *testing.T) {
	for _, flaw := range simring.Flaws {
		t.Run(string(flaw), func(t *testing.T) {
			for seed := range uint64(1000) {
				if simring.Play(func(k *simring.Kernel) func() { return simulate(k).check }, seed, flaw, nil) != nil {
					return
				}
			}
			t.Error("it was not found")
		})
	}
}

// simulation is a proxy with its clients and servers on a simulated kernel.
type simulation struct {
	k       *simring.Kernel
	talk    *program.Talk
	proxy   *Proxy
	up      int
	running int // loops
	clients int
	hurry   bool // the proxy is ended while there are connections
}

// simulate puts a proxy on the kernel: one to three loops before one to three servers, of which some may
// not be there. The proxy is drained or closed when the clients are done, or before.
func simulate(k *simring.Kernel) *simulation {
	rng := k.Rand()
	s := &simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(6), hurry: rng.IntN(4) == 0}
	b := Backend{Name: "b", Buffer: 1 << rng.IntN(14), HalfCloseTimeout: time.Hour, IdleTimeout: 2 * time.Hour}
	for i := range 1 + rng.IntN(3) {
		address := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(9000+i))
		b.Servers = append(b.Servers, Server{Name: fmt.Sprint(i), Address: address})
		if rng.IntN(4) != 0 {
			k.Go(fmt.Sprintf("server%d", i), func(t *simring.Thread) { s.serve(t, address) })
		}
	}
	loops := make([]*reactor.Loop, 1+rng.IntN(3))
	for i := range loops {
		loops[i] = program.NewLoop(k)
	}
	k.Go("start", func(t *simring.Thread) { s.start(b, loops) })
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), s.client)
	}
	after := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
	k.Go("stopper", func(t *simring.Thread) { s.stop(t, after) })
	return s
}

// start prepares the proxy and runs its loops.
func (s *simulation) start(b Backend, loops []*reactor.Loop) {
	odds := s.k.Odds.NoFile
	s.k.Odds.NoFile = 0 // without a listener there is nothing to see
	p, err := prepare(Config{
		Listeners: []Listener{{Name: "l", Address: netip.MustParseAddrPort("127.0.0.1:80"), Backend: "b", MaxConnections: 1 + s.k.Rand().IntN(8)}},
		Backends:  []Backend{b},
	}, loops)
	s.k.Odds.NoFile = odds
	if err != nil {
		s.k.Errorf("prepare: %v", err)
		return
	}
	s.proxy, s.running = p, len(loops)
	for i, w := range p.workers {
		s.k.Go(fmt.Sprintf("loop%d", i), func(*simring.Thread) {
			err := w.loop.Run(func() {
				w.start()
				s.up++
			})
			s.running--
			program.Ended(s.k, w.loop, err)
		})
	}
}

func (s *simulation) isUp() bool { return s.proxy != nil && s.up == len(s.proxy.workers) }

func (s *simulation) serve(t *simring.Thread, address netip.AddrPort) {
	ln := t.Listen(address)
	for i := 0; ; i++ {
		fd := t.Accept(ln, func() bool { return s.isUp() && s.running == 0 })
		if fd < 0 {
			break
		}
		p := s.talk.Join()
		s.k.Go(fmt.Sprintf("served%d", i), func(t *simring.Thread) { p.Run(t, fd) })
	}
	_ = s.k.System().Close(ln)
}

func (s *simulation) client(t *simring.Thread) {
	defer func() { s.clients-- }()
	t.Until(s.isUp)
	p := s.talk.Join()
	fd, err := t.Dial(s.proxy.addrs[0])
	if err != nil {
		p.Refused = true
		return
	}
	p.Run(t, fd)
}

// stop drains the proxy and, in a hurry, closes it.
func (s *simulation) stop(t *simring.Thread, after time.Duration) {
	t.Until(s.isUp)
	if s.hurry {
		t.Sleep(after)
	} else {
		t.Until(func() bool { return s.clients == 0 })
	}
	s.proxy.each((*worker).drain)
	if s.hurry {
		t.Sleep(after)
		s.proxy.each((*worker).close)
	}
}

// check asserts that nothing is left of the proxy, and that all parties have got what they should.
func (s *simulation) check() {
	for _, p := range s.talk.Parties() {
		p.Judge(s.hurry)
	}
	for _, w := range s.proxy.workers {
		if w.conns.first != nil || len(w.starved) != 0 {
			s.k.Errorf("connections are left")
		}
	}
	if n := s.proxy.starving.Load(); n != 0 {
		s.k.Errorf("%d connections want a descriptor", n)
	}
	stats := s.proxy.Stats()
	if n := stats.Listeners[0].Current; n != 0 {
		s.k.Errorf("%d connections are counted", n)
	}
	for _, server := range stats.Servers {
		if server.Current != 0 {
			s.k.Errorf("%d connections to server %s are counted", server.Current, server.Name)
		}
	}
}
