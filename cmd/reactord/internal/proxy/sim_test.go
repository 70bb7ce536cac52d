package proxy

import (
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 0, "number of seeds to run the simulation with; 0: as many as the test wants")
	simFrom  = flag.Uint64("sim.from", 0, "first seed")
	simFlaw  = flag.String("sim.flaw", "", "flaw of the simulated rings")
	simTrace = flag.Bool("sim.trace", false, "print each step")
)

// manySeeds is how many seeds a simulation of everything is run with.
func manySeeds() uint64 {
	if *simSeeds != 0 {
		return *simSeeds
	}
	return testenv.Seeds(300)
}

// traceOutput returns where the steps of a simulation are printed, or nil.
func traceOutput() io.Writer {
	if *simTrace {
		return os.Stdout
	}
	return nil
}

// The data path on a simulated kernel. This runs a failing seed again, with a trace:
// go test -run TestSimulation -sim.from SEED -sim.seeds 1 -sim.trace
func TestSimulation(t *testing.T) {
	t.Parallel()
	var saw struct{ ends, resets, refused int }
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		var s *simulation
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulate(k)
			return s.check
		}, seed, simring.Flaw(*simFlaw), traceOutput())
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
	if seeds >= 100 && (saw.ends < 100 || saw.resets < 100 || saw.refused == 0) {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

func TestSimulationFindsFlaws(t *testing.T) {
	if testing.Short() {
		t.Skip("many simulated runs")
	}
	defer abandonTasks()
	for _, flaw := range simring.Flaws {
		t.Run(string(flaw), func(t *testing.T) {
			for seed := range uint64(1000) {
				if simring.Play(func(k *simring.Kernel) func() { return simulate(k).check }, seed, flaw, nil) != nil {
					return
				}
			}
			t.Error("the flaw was not found")
		})
	}
}

// simulation is a proxy with its clients and servers on a simulated kernel.
type simulation struct {
	k       *simring.Kernel
	talk    *program.Talk
	proxy   *Proxy
	up      int
	running int               // loops
	threads []*simring.Thread // the loops'
	clients int
	hurry   bool                                                       // the proxy is closed while there are connections
	spawn   func(name string, f func(*simring.Thread)) *simring.Thread // makes the loops' threads; nil: the kernel does
}

// simulate puts a proxy on the kernel: one or two listeners on one to three loops before one to three servers, of which
// some may not be there, with descriptors for some of the clients. The proxy is drained or closed when the clients are
// done, or before.
func simulate(k *simring.Kernel) *simulation {
	rng := k.Rand()
	s := &simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(6), hurry: rng.IntN(4) == 0}
	b := Backend{Name: "b", Buffer: 1 << rng.IntN(14), HalfCloseTimeout: time.Hour, IdleTimeout: 2 * time.Hour}
	if rng.IntN(2) == 0 { // little room, so that connections wait in the queue
		b.MaxConnections = rng.IntN(3)
		most, size := rng.IntN(4), rng.IntN(5)
		timeout, total := time.Duration(1+rng.Int64N(int64(time.Second))), time.Duration(rng.Int64N(int64(time.Second)))
		hold := max(time.Duration(rng.Int64N(int64(time.Second)))-time.Second/2, 0)
		b.Set = func(s *config.Backend) {
			s.MaxConnections, s.Queue.Size, s.Queue.Timeout, s.TotalConnectTimeout = most, size, timeout, total
			s.Hold, s.RetryDelay = hold, time.Millisecond
		}
	}
	for i := range 1 + rng.IntN(3) {
		server := drawServer(k, i)
		b.Servers = append(b.Servers, server)
		if rng.IntN(4) != 0 {
			k.Go(fmt.Sprintf("server%d", i), func(t *simring.Thread) { s.serve(t, server) })
		}
	}
	loops := make([]*reactor.Loop, 1+rng.IntN(3))
	for i := range loops {
		loops[i] = program.NewLoop(k)
	}
	k.Go("start", func(t *simring.Thread) { s.start(tight(k), b, loops) })
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), s.client)
	}
	after := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
	k.Go("stopper", func(t *simring.Thread) { s.stop(t, after) })
	return s
}

// drawServer returns the server with an index: of TCP, or on a unix socket with a path or an abstract name.
func drawServer(k *simring.Kernel, i int) Server {
	server := Server{Name: fmt.Sprint(i), Address: serverAddress(i)}
	switch k.Rand().IntN(4) {
	case 0:
		server.Path = fmt.Sprintf("/server%d", i)
	case 1:
		server.Path = fmt.Sprintf("@server%d", i)
	}
	return server
}

func serverAddress(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(9000+i))
}

// listen listens where the proxy finds the server.
func (s Server) listen(t *simring.Thread) int {
	if s.Path != "" {
		return t.ListenUnix(s.Path)
	}
	return t.Listen(s.Address)
}

// tight is one or two listeners with descriptors for few connections.
func tight(k *simring.Kernel) fixture {
	rng := k.Rand()
	cfg := fixture{Config: Config{pairs: 1 + rng.IntN(6)}}
	for i := range 1 + rng.IntN(2) {
		cfg.Listeners = append(cfg.Listeners, simulatedListener(i, rng.IntN(5)))
	}
	return cfg
}

// roomy is a listener without limits.
func roomy() fixture {
	return fixture{Config: Config{pairs: 1000}, Listeners: []Listener{simulatedListener(0, 0)}}
}

func simulatedListener(i, maxConnections int) Listener {
	address := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(80+i))
	return Listener{Name: fmt.Sprint(i), Address: address, Backend: "b", MaxConnections: maxConnections}
}

// start prepares the proxy and runs its loops.
func (s *simulation) start(cfg fixture, b Backend, loops []*reactor.Loop) {
	odds := s.k.Odds.NoDescriptor
	s.k.Odds.NoDescriptor = 0 // the listeners are needed
	cfg.Backends, cfg.seed = []Backend{b}, 1
	p, err := cfg.prepare(loops)
	s.k.Odds.NoDescriptor = odds
	if err != nil {
		s.k.Errorf("prepare: %v", err)
		return
	}
	if cfg.IncomingCPU {
		p.preferIncomingCPU()
	}
	s.run(p)
}

// run runs the loops of the proxy.
func (s *simulation) run(p *Proxy) {
	s.proxy, s.running = p, len(p.workers)
	if s.spawn == nil {
		s.spawn = s.k.Go
	}
	for i, w := range p.workers {
		s.spawn(fmt.Sprintf("loop%d", i), func(t *simring.Thread) {
			s.threads = append(s.threads, t)
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

func (s *simulation) serve(t *simring.Thread, server Server) {
	s.talk.Local = s.talk.Local || server.Path != ""
	ln := server.listen(t)
	for i := 0; ; i++ {
		fd := t.Accept(ln, func() bool { return s.isUp() && s.running == 0 })
		if fd < 0 {
			break
		}
		p := s.talk.Join()
		p.Local = server.Path != ""
		s.k.Go(fmt.Sprintf("served%d", i), func(t *simring.Thread) { p.Run(t, fd) })
	}
	_ = s.k.System().Close(ln)
}

func (s *simulation) client(t *simring.Thread) {
	defer func() { s.clients-- }()
	t.Until(s.isUp)
	p := s.talk.Join()
	fd, err := t.Dial(s.proxy.Addrs()[s.k.Rand().IntN(len(s.proxy.Addrs()))])
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
		s.closeSome(t)
	} else {
		t.Until(func() bool { return s.clients == 0 })
	}
	s.proxy.each((*worker).drain)
	if s.hurry {
		t.Sleep(after)
		s.proxy.each((*worker).close)
	}
}

// closeSome closes open connections, as the admin API does.
func (s *simulation) closeSome(t *simring.Thread) {
	rng, walks := s.k.Rand(), len(s.proxy.workers)
	if rng.IntN(2) == 0 {
		return
	}
	s.proxy.walkAll(connsOf, func(l *intrusive.Links) bool {
		if rng.IntN(2) == 0 {
			connOf(l).close(reasonAdmin, bothSides)
		}
		return rng.IntN(8) != 0
	}, func() { walks-- })
	t.Until(func() bool { return walks == 0 || s.running == 0 })
}

// check asserts that nothing of the proxy is left, and that all parties have received what they should.
func (s *simulation) check() {
	for _, p := range s.talk.Parties() {
		p.Judge(s.hurry)
	}
	for _, w := range s.proxy.workers {
		if way := heldConn(w); way != "" {
			s.k.Errorf("a closed connection is referred to by %s", way)
		}
		for w.closedConns.Len() != 0 {
			if !reflect.ValueOf(w.closedConns.Get()).Elem().IsZero() {
				s.k.Errorf("a closed connection has changed")
			}
		}
	}
	s.checkCounts()
}

// checkCounts asserts that no connection is left, and that none is counted.
func (s *simulation) checkCounts() {
	for _, w := range s.proxy.workers {
		if !w.conns.Empty() || w.forFD.length != 0 {
			s.k.Errorf("connections are left")
		}
		if len(w.walks) != 0 {
			s.k.Errorf("%d walks have not ended", len(w.walks))
		}
		for _, l := range w.backends {
			if n := l.shared.queued.Load(); n != 0 || l.queue.length != 0 {
				s.k.Errorf("%d connections are in the queue", n)
			}
			if n := l.upstream.Load.N(); n != 0 {
				s.k.Errorf("%d connections to the backend are counted", n)
			}
		}
	}
	if n := s.proxy.waitingForFD.Load(); n != 0 {
		s.k.Errorf("%d connections wait for a descriptor", n)
	}
	if all, free := s.proxy.budget.Pairs(); free != all {
		s.k.Errorf("%d pairs are free, want %d", free, all)
	}
	for _, l := range s.proxy.table.Load().listeners {
		if n := l.admission.Connections(); n != 0 {
			s.k.Errorf("%d connections are admitted", n)
		}
	}
	stats := s.proxy.Stats()
	for _, l := range stats.Listeners {
		if l.Connections != 0 {
			s.k.Errorf("%d connections are counted", l.Connections)
		}
	}
	for _, server := range stats.Servers {
		if server.Connections != 0 {
			s.k.Errorf("%d connections to server %s are counted", server.Connections, server.Name)
		}
	}
}
