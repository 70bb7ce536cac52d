package proxy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// A backend holds connections while its server refuses them, is not in the plan, or is full, on random plans:
//
//   - never more wait than the queue has places;
//   - on each loop, those that are on their way have come before those that wait;
//   - nobody waits for longer than the hold, and the last attempt;
//   - once the server is back, and no longer full, nobody waits;
//   - held connections come to a server that is back one after the other, and then more at a time;
//   - while an operator has paused the backend, its server gets no new connection;
//   - at the end all were released, or have ended.
//
// This runs a failing seed again: go test -run TestSimulationOfHold -sim.from SEED -sim.seeds 1 -sim.trace
func TestSimulationOfHold(t *testing.T) {
	t.Parallel()
	var saw holdSightings
	seeds := *simSeeds
	if seeds == 0 {
		seeds = testenv.Seeds(40)
	}
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		err := simring.Play(func(k *simring.Kernel) func() {
			s := simulateHold(k, &saw)
			return s.check
		}, seed, simring.Flawless, traceOutput())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%+v", saw)
	if seeds >= 40 && (saw.held < 1000 || saw.served < 400 || saw.timedOut < 200 || saw.left < 100 || saw.together < 5 ||
		saw.paused < 50 || saw.expired < 20) {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

// holdSightings counts what the runs have seen.
type holdSightings struct {
	held, served, timedOut, left int
	together                     int // the most that could be on their way at a time
	paused, expired              int // pauses
}

type holdSimulation struct {
	simulation
	rng      *rand.Rand
	saw      *holdSightings
	backend  Backend
	hold     time.Duration
	size     int
	room     int   // of the server; 0: no limit
	working  bool  // the server listens
	planned  bool  // the server is in the plan
	paused   int64 // since when the backend is; 0: it is not
	ends     int64 // of the pause
	goodFrom int64
	served   []byte // clients
	stopped  bool
	asking   int
}

func simulateHold(k *simring.Kernel, saw *holdSightings) *holdSimulation {
	rng := k.Rand()
	s := &holdSimulation{rng: rng, saw: saw, planned: rng.IntN(2) == 0}
	k.Odds = simring.Odds{Latency: time.Millisecond, Buffer: 1 << 10, Files: 4096, CQ: 64}
	s.simulation = simulation{k: k, talk: program.NewTalk(k), hurry: true}
	s.hold = time.Duration(1+rng.IntN(20)) * time.Second
	s.size, s.room = 1+rng.IntN(40), []int{0, 0, 1, 5}[rng.IntN(4)]
	server := Server{Name: "0", Address: serverAddress(0)}
	s.backend = Backend{
		Name: "b", IdleTimeout: time.Hour, HalfCloseTimeout: time.Hour, ConnectTimeout: time.Second,
		Servers: []Server{server}, MaxConnections: s.room,
		Set: func(c *config.Backend) {
			c.Hold, c.Queue.Size, c.RetryDelay, c.Retries = s.hold, s.size, 200*time.Millisecond, 0
		},
	}
	loops := make([]*reactor.Loop, 1+rng.IntN(3))
	for i := range loops {
		loops[i] = program.NewLoop(k)
	}
	k.Go("server", func(t *simring.Thread) { s.serveAt(t, server) })
	k.Go("start", func(*simring.Thread) { s.start(roomy(), s.planNow(), loops) })
	k.Go("driver", s.drive)
	return s
}

// planNow returns the backend of the next plan, with its server or without.
func (s *holdSimulation) planNow() Backend {
	b := s.backend
	if !s.planned {
		b.Servers = nil
	}
	return b
}

// change switches the server on or off, by its port or by the plan.
func (s *holdSimulation) change(t *simring.Thread, working, planned bool) {
	s.working = working
	if s.planned != planned {
		s.planned = planned
		f := roomy()
		f.Backends = []Backend{s.planNow()}
		c, err := s.proxy.prepareChange(f.plan())
		if err != nil {
			s.k.Errorf("prepare: %v", err)
			return
		}
		c.commit()
		t.Until(func() bool { return c.pending.Load() == 0 })
	}
	s.goodFrom = s.k.Now()
}

// pause pauses the backend for a time; 0: it resumes it.
func (s *holdSimulation) pause(t *simring.Thread, length time.Duration) {
	done := false
	s.proxy.each(func(w *worker) {
		if w.index != 0 {
			return
		}
		s.endPause(s.k.Now())
		if s.paused = 0; length == 0 {
			s.proxy.upstreams.Resume("b")
		} else {
			s.proxy.upstreams.Pause("b", length)
			s.paused, s.ends = s.k.Now(), s.k.Now()+int64(length)
			s.saw.paused++
		}
		done = true
	})
	t.Until(func() bool { return done })
	s.goodFrom = s.k.Now()
}

// endPause notes that the time of a pause has passed.
func (s *holdSimulation) endPause(now int64) {
	if s.paused != 0 && now >= s.ends {
		s.paused, s.goodFrom = 0, max(s.goodFrom, s.ends)
		s.saw.expired++
	}
}

func (s *holdSimulation) drive(t *simring.Thread) {
	t.Until(s.isUp)
	watcher := s.k.Go("watcher", s.watch)
	clients := s.k.Go("clients", s.come)
	for range 5 + s.rng.IntN(10) {
		s.change(t, s.rng.IntN(2) == 0, s.rng.IntN(3) != 0)
		switch s.rng.IntN(4) {
		case 0:
			s.pause(t, time.Duration(1+s.rng.Int64N(int64(10*time.Second))))
		case 1:
			s.pause(t, 0)
		}
		t.Sleep(time.Duration(s.rng.Int64N(int64(8 * time.Second))))
	}
	s.stopped = true
	t.Until(clients.Ended)
	s.pause(t, 0)
	if s.rng.IntN(2) == 0 { // else what waits is reset
		s.change(t, true, true)
		t.Until(func() bool { return s.asking == 0 })
	}
	s.proxy.each((*worker).drain)
	s.proxy.each((*worker).close)
	t.Until(watcher.Ended)
}

func (s *holdSimulation) over() bool { return s.proxy != nil && s.up != 0 && s.running == 0 }

// serveAt accepts connections while the server works.
func (s *holdSimulation) serveAt(t *simring.Thread, server Server) {
	ln := -1
	for !s.over() {
		working := s.working
		changed := func() bool { return s.working != working || s.over() }
		switch {
		case working && ln < 0:
			ln = server.listen(t)
		case !working && ln >= 0:
			_ = s.k.System().Close(ln)
			ln = -1
		}
		if ln < 0 {
			t.Until(changed)
			continue
		}
		if fd := t.Accept(ln, changed); fd >= 0 {
			s.k.Go("served", func(t *simring.Thread) {
				s.served = append(s.served, serveOne(t, fd, time.Duration(s.k.Rand().Int64N(int64(time.Second)))))
				_ = s.k.System().Close(fd)
			})
		}
	}
	if ln >= 0 {
		_ = s.k.System().Close(ln)
	}
}

// come has clients come, one after the other.
func (s *holdSimulation) come(t *simring.Thread) {
	for name := byte(1); !s.stopped && name < 200; name++ {
		t.Sleep(time.Duration(s.rng.Int64N(int64(300 * time.Millisecond))))
		s.asking++
		s.k.Go(fmt.Sprintf("client%d", name), func(t *simring.Thread) {
			defer func() { s.asking-- }()
			s.visit(t, name)
		})
	}
}

// visit is a client that waits for the server, or loses patience.
func (s *holdSimulation) visit(t *simring.Thread, name byte) {
	began := s.k.Now()
	fd, err := t.Dial(s.proxy.Addrs()[0])
	if err != nil {
		return
	}
	_, _ = t.Send(fd, []byte{name})
	patient := s.hold + 5*time.Second
	if s.rng.IntN(5) == 0 {
		patient = time.Duration(s.rng.Int64N(int64(s.hold)))
	}
	if !t.UntilOr(func() bool { return s.k.Ready(fd, unix.POLLIN) }, patient, "waiting for a server") {
		if waited := time.Duration(s.k.Now() - began); waited > s.hold+4*time.Second && !slices.Contains(s.served, name) {
			s.k.Errorf("client %d has waited for %v, and the hold is %v", name, waited, s.hold)
		}
		t.Reset(fd)
		return
	}
	_ = s.k.System().Close(fd)
}

// watch asserts what holds at each time.
func (s *holdSimulation) watch(t *simring.Thread) {
	const settling = int64(3 * time.Second) // attempts that fail, and those that follow
	var alone int64                         // since when nothing but time can keep connections waiting
	var served uint64                       // connects, of a pause that has lasted for longer than one
	for !s.over() {
		b := &s.proxy.Stats().Backends[0]
		shared := s.proxy.sharedBackend(s.proxy.table.Load().backends["b"])
		s.checkOrder(shared)
		if b.Queued > s.size || b.Held > b.Queued {
			s.k.Errorf("%d connections are held, and %d of %d wait", b.Held, b.Queued, s.size)
		}
		s.endPause(s.k.Now())
		if b.Paused != (s.paused != 0) && s.k.Now() < s.ends {
			s.k.Errorf("paused: %v, %v before the end", b.Paused, time.Duration(s.ends-s.k.Now()))
		}
		switch n := s.connects(); {
		case n < served || s.paused == 0 || s.k.Now()-s.paused < int64(s.backend.ConnectTimeout):
			served = n
		case n != served:
			s.k.Errorf("%d connections have got a server that is paused since %v", n-served, time.Duration(s.paused))
			served = n
		}
		usable := s.working && s.planned && s.paused == 0
		if !usable || b.Queued == 0 || s.room > 0 && b.Connections >= s.room {
			alone = s.k.Now()
		}
		if alone = max(alone, s.goodFrom); s.k.Now()-alone > settling {
			s.k.Errorf("%d connections wait, and the server has room since %v", b.Queued, time.Duration(alone))
			return
		}
		t.Sleep(20 * time.Millisecond)
	}
}

// connects returns how many connections have got the server.
func (s *holdSimulation) connects() (n uint64) {
	for _, server := range s.proxy.Stats().Servers {
		n += server.Total
	}
	return n
}

// checkOrder asserts that those on their way have come before those that wait. For a moment after an attempt has
// failed, the connection waits again, and others are still on their way.
func (s *holdSimulation) checkOrder(shared *sharedBackend) {
	h := &shared.hold
	s.saw.together = max(s.saw.together, int(h.window.Load()))
	if n := h.underway.Load(); n > maxReleases {
		s.k.Errorf("%d connections are on their way", n)
	}
	if s.k.Now() < h.retryAt.Load()+int64(50*time.Millisecond) {
		return
	}
	for _, w := range s.proxy.workers {
		first := shared.loops[w.index].queue.first()
		for l := w.conns.First(); l != nil && first != nil; l = l.Next() {
			if d := connOf(l).dial; d != nil && d.releasing && d.queuedAt > first.since {
				s.k.Errorf("a connection is on its way that came %v later than one that waits",
					time.Duration(d.queuedAt-first.since))
			}
		}
	}
}

func (s *holdSimulation) check() {
	s.checkCounts()
	b := &s.proxy.Stats().Backends[0]
	n := func(outcome heldOutcome) int { return int(b.Holds[outcome].Count) }
	all := n(heldServed) + n(heldTimeout) + n(heldClient) + n(heldEnded)
	s.saw.held, s.saw.served = s.saw.held+all, s.saw.served+n(heldServed)
	s.saw.timedOut, s.saw.left = s.saw.timedOut+n(heldTimeout), s.saw.left+n(heldClient)
	if b.Held != 0 {
		s.k.Errorf("%d connections are held", b.Held)
	}
	for _, w := range s.proxy.workers {
		for _, l := range w.backends {
			if n := l.shared.hold.underway.Load(); n != 0 {
				s.k.Errorf("%d connections are on their way", n)
			}
		}
	}
}
