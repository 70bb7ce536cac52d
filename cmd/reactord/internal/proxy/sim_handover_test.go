package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Two processes on one simulated kernel: the first hands its connections over to the second, with every fault of the
// kernel, and either may be killed at any time. Every byte arrives once and in order, or both sides see the end; no
// connection is counted twice, and none is left.
func TestSimulationOfHandovers(t *testing.T) {
	t.Parallel()
	defer abandonTasks() // of the processes that were killed
	var saw struct {
		handoverCounts
		ends, resets, piped int
	}
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		var s *handoverSimulation
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulateHandover(k, nil)
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
			}
		}
		saw.piped += s.piped
		saw.add(s)
	}
	t.Logf("%+v", saw)
	if seeds >= 100 && (saw.ends < 100 || saw.taken < 50 || saw.kills < 10 || saw.piped < 10) {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

// handoverCounts counts what has become of processes and what they handed over.
type handoverCounts struct{ moved, taken, kills int }

// add adds the counts of a simulation.
func (c *handoverCounts) add(s *handoverSimulation) {
	for _, p := range s.processes {
		if p.proxy != nil {
			c.moved += int(p.proxy.handovers.moved.Load())
			c.taken += int(p.proxy.handovers.taken.Load())
		}
		if p.killed {
			c.kills++
		}
	}
}

// handoverSimulation is two processes with their clients and servers.
type handoverSimulation struct {
	simulation
	processes [2]*simulatedProcess // the first is replaced by the second
	kills     bool
	bulk      bool
	piped     int // directions that were spliced when the handover began
	secure    *securePeers
}

// simulatedProcess is a process with a proxy.
type simulatedProcess struct {
	*simring.Victim
	simulation
	killed bool
}

// simulateHandover has peers with TLS, or nil.
func simulateHandover(k *simring.Kernel, secure *securePeers) *handoverSimulation {
	rng := k.Rand()
	s := &handoverSimulation{simulation: simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(12)}}
	s.secure = secure
	s.kills = rng.IntN(3) == 0
	s.hurry = s.kills || rng.IntN(3) == 0
	bulk := rng.IntN(2) == 0
	s.bulk = bulk
	b := Backend{Name: "b", Buffer: 1 << rng.IntN(14), HalfCloseTimeout: time.Hour, IdleTimeout: 2 * time.Hour}
	if bulk {
		b.Buffer = minAdaptive
		s.talk.SendUpTo(1 << 13)
	}
	for i := range 1 + rng.IntN(3) {
		server := drawServer(k, i)
		b.Servers = append(b.Servers, server)
		k.Go(fmt.Sprintf("server%d", i), func(t *simring.Thread) { s.serve(t, server) })
	}
	limited := !bulk && rng.IntN(2) == 0
	odds := k.Odds.NoDescriptor
	k.Odds.NoDescriptor = 0 // the listeners are needed
	k.Go("odds", func(t *simring.Thread) {
		t.Until(func() bool { return s.processes[0].proxy != nil && s.processes[1].proxy != nil })
		k.Odds.NoDescriptor = odds
	})
	for i := range s.processes {
		p := s.newProcess(i)
		next := b
		if i == 1 && rng.IntN(4) == 0 {
			next.Servers = next.Servers[:1] // others are gone
		}
		if i == 1 && rng.IntN(4) == 0 {
			next.Name = "other"
		}
		f := roomy()
		f.Listeners[0].Address = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(80+i))
		f.Listeners[0].Backend = next.Name
		if secure != nil {
			secure.set(&f.Listeners[0], &next)
		}
		if limited {
			rate := config.ByteRate{FromClient: 1 << 14, FromServer: 1 << 16, Burst: 1 << 10}
			f.Listeners[0].Bandwidth = config.Bandwidth{Connection: rate}
		}
		n := 1 + rng.IntN(3)
		p.Go(fmt.Sprintf("start%d", i), func(t *simring.Thread) {
			loops := make([]*reactor.Loop, n)
			for j := range loops {
				if bulk {
					loops[j] = program.NewBulkLoop(k)
				} else {
					loops[j] = program.NewLoop(k)
				}
			}
			p.start(f, next, loops)
		})
	}
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), s.client)
	}
	k.Go("upgrade", s.upgrade)
	if secure != nil {
		k.Go("watch", func(t *simring.Thread) { secure.watch(t, s) })
	}
	return s
}

// newProcess makes the process with an index.
func (s *handoverSimulation) newProcess(i int) *simulatedProcess {
	p := &simulatedProcess{
		Victim:     s.k.NewVictim(fmt.Sprintf("process%d", i)),
		simulation: simulation{k: s.k, talk: s.talk},
	}
	p.spawn = func(name string, f func(*simring.Thread)) *simring.Thread { return p.Go(p.Name()+" "+name, f) }
	s.processes[i] = p
	return p
}

// splicing returns how many directions are spliced.
func (p *simulatedProcess) splicing() (n int) {
	for _, w := range p.proxy.workers {
		n += w.splicing
	}
	return n
}

// flowing reports whether bytes may flow on a connection.
func (p *simulatedProcess) flowing() bool {
	return slices.ContainsFunc(p.proxy.workers, func(w *worker) bool {
		for l := w.conns.First(); l != nil; l = l.Next() {
			if connOf(l).phase == phaseFlowing {
				return true
			}
		}
		return false
	})
}

func (p *simulatedProcess) over() bool { return p.killed || p.isUp() && p.running == 0 }

// client is a client of the first process.
func (s *handoverSimulation) client(t *simring.Thread) {
	defer func() { s.clients-- }()
	first := s.processes[0]
	t.Until(func() bool { return first.isUp() || first.killed })
	p := s.talk.Join()
	if first.killed {
		p.Refused = true
		return
	}
	fd, err := t.Dial(first.proxy.Addrs()[0])
	if err != nil {
		p.Refused = true
		return
	}
	s.converse(t, p, fd, client)
}

// converse runs a party on a connection of a side.
func (s *handoverSimulation) converse(t *simring.Thread, p *program.Party, fd, side int) {
	if s.secure.on(side) {
		s.secure.run(t, p, fd, side)
		return
	}
	p.Run(t, fd)
}

func (s *handoverSimulation) serve(t *simring.Thread, at Server) {
	s.talk.Local = s.talk.Local || at.Path != ""
	ln := at.listen(t)
	for i := 0; ; i++ {
		fd := t.Accept(ln, func() bool { return s.processes[0].over() && s.processes[1].over() })
		if fd < 0 {
			break
		}
		p := s.talk.Join()
		p.Local = at.Path != ""
		s.k.Go(fmt.Sprintf("served%d", i), func(t *simring.Thread) { s.converse(t, p, fd, server) })
	}
	_ = s.k.System().Close(ln)
}

// upgrade replaces the first process by the second, which ends when the clients are done.
func (s *handoverSimulation) upgrade(t *simring.Thread) {
	rng := s.k.Rand()
	first, second := s.processes[0], s.processes[1]
	t.Until(func() bool { return first.isUp() && second.isUp() })
	if rng.IntN(2) == 0 { // the plans have the same listener
		table := second.proxy.table.Load()
		table.byKey[first.proxy.table.Load().listeners[0].key] = table.listeners[0]
	}
	if s.secure != nil {
		t.Until(func() bool { return first.flowing() || s.clients == 0 }) // handshakes take a while
	}
	if s.bulk && rng.IntN(2) == 0 {
		t.Until(func() bool { s.piped = first.splicing(); return s.piped != 0 || s.clients == 0 })
	} else {
		t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(25))))
	}
	first.proxy.each((*worker).drain) // it accepts what is queued
	for i := range second.proxy.Channels(len(first.proxy.workers)) {
		s.connect(first, second, i)
	}
	if s.hurry {
		t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(20))))
		first.closeSome(t)
	}
	if s.kills {
		t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(24))))
		victim := s.processes[rng.IntN(2)]
		victim.killed = true
		victim.Kill()
	}
	if s.hurry {
		t.Sleep(time.Duration(rng.Int64N(int64(50 * time.Millisecond))))
		for _, p := range s.processes {
			if !p.killed && rng.IntN(2) == 0 {
				p.proxy.each((*worker).close)
			}
		}
	}
	t.Until(func() bool { return s.clients == 0 })
	if !second.killed {
		second.proxy.each((*worker).drain)
	}
}

// connect connects a loop of the first process with one of the second.
func (s *handoverSimulation) connect(first, second *simulatedProcess, index int) {
	var ends [2]int
	s.k.Spared(func() {
		fds, err := s.k.System().Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			s.k.Errorf("socketpair: %v", err)
			return
		}
		ends = fds
	})
	first.Give(ends[0])
	second.Give(ends[1])
	first.proxy.HandOver(ends[0], index, len(second.proxy.workers))
	second.proxy.TakeOver(ends[1], index)
}

// check asserts that nothing is left, and that all parties have received what they should.
func (s *handoverSimulation) check() {
	if !s.kills { // else a process that ends closes its sockets wherever it was
		for _, p := range s.talk.Parties() {
			p.Judge(s.hurry)
		}
	}
	var moved, taken uint64
	for _, p := range s.processes {
		if p.killed {
			continue
		}
		p.checkCounts()
		moved, taken = moved+p.proxy.handovers.moved.Load(), taken+p.proxy.handovers.taken.Load()
		for _, w := range p.proxy.workers {
			if way := heldConn(w); way != "" {
				s.k.Errorf("a closed connection is referred to by %s", way)
			}
			if len(w.offers) != 0 || len(w.takings) != 0 || w.splicing != 0 {
				s.k.Errorf("%d offers, %d takings and %d splices are left", len(w.offers), len(w.takings), w.splicing)
			}
		}
	}
	if !s.hurry && moved != taken {
		s.k.Errorf("%d connections have moved, and %d were taken", moved, taken)
	}
}
