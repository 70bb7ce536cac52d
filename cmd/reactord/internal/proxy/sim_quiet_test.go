package proxy

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// A proxy that has no room for the connections that are queued does nothing until there is room.
func TestSimulationOfNoSpinWithoutRoom(t *testing.T) {
	err := simring.Play(func(k *simring.Kernel) func() {
		k.Odds = calm(1 << 10)
		cfg := roomy()
		cfg.pairs = 2
		s := &crowd{simulation: &simulation{k: k, talk: program.NewTalk(k)}, clients: 6}
		s.run(cfg, func(t *simring.Thread) {
			t.Until(func() bool { return s.proxy.Stats().Listeners[0].Connections == 2 })
			t.Sleep(time.Second)
			if used := s.idleFor(t, time.Hour); used.enters > 5 || used.lines != 0 {
				k.Errorf("the rings were entered %d times in an hour, and %d lines logged", used.enters, used.lines)
			}
		})
		return s.check
	}, 1, simring.Flawless, nil)
	if err != nil {
		t.Error(err)
	}
}

// A proxy that has run out of descriptors backs off, logs once a second at most, and serves all clients when it has
// descriptors again.
func TestSimulationOfNoDescriptors(t *testing.T) {
	mentioned := 0
	for _, files := range []int{10, 12, 14} { // it is the server or a client that finds none, in some
		err := simring.Play(func(k *simring.Kernel) func() {
			k.Odds = calm(1 << 10)
			k.Odds.Files = files
			s := &crowd{simulation: &simulation{k: k, talk: program.NewTalk(k)}, clients: 6}
			s.run(roomy(), func(t *simring.Thread) {
				t.Sleep(10 * time.Second)
				used := s.idleFor(t, time.Minute)
				if most := uint64(2 * time.Minute / reactor.AcceptBackoff); used.enters > most || used.lines > 60 {
					k.Errorf("the rings were entered %d times in a minute, want at most %d, and %d lines logged",
						used.enters, most, used.lines)
				}
				mentioned += min(s.logs.Len(), 1)
			})
			return s.check
		}, 1, simring.Flawless, nil)
		if err != nil {
			t.Errorf("%d descriptors: %v", files, err)
		}
	}
	if mentioned == 0 {
		t.Error("no log mentions that there are no descriptors")
	}
}

// crowd is clients that stay connected, or queued, until the time has passed.
type crowd struct {
	*simulation
	clients int
	logs    *observer.ObservedLogs
	over    bool
}

// run has the clients connect, calls measure, and then has them leave.
func (s *crowd) run(cfg fixture, measure func(t *simring.Thread)) {
	k := s.k
	core, logs := observer.New(zapcore.InfoLevel)
	cfg.Log, s.logs = zap.New(core), logs
	address := netip.MustParseAddrPort("127.0.0.1:9000")
	listens, left := false, s.clients
	k.Go("server", func(t *simring.Thread) {
		ln := t.Listen(address)
		listens = true
		for i := 0; ; i++ {
			fd := t.Accept(ln, func() bool { return left == 0 })
			if fd < 0 {
				break
			}
			k.Go(fmt.Sprintf("served%d", i), func(t *simring.Thread) {
				t.Await(fd, false)
				_ = k.System().Close(fd)
			})
		}
		_ = k.System().Close(ln)
	})
	b := Backend{
		Name: "b", Buffer: 1 << 14, HalfCloseTimeout: 1000 * time.Hour, IdleTimeout: 1000 * time.Hour,
		Servers: []Server{{Name: "0", Address: address}},
	}
	loop := program.NewLoop(k)
	k.Go("start", func(*simring.Thread) { s.start(cfg, b, []*reactor.Loop{loop}) })
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), func(t *simring.Thread) {
			t.Until(func() bool { return listens && s.isUp() })
			fd, err := t.Dial(s.proxy.Addrs()[0])
			if err != nil {
				k.Errorf("dial: %v", err)
				return
			}
			t.Until(func() bool { return s.over })
			_ = k.System().Close(fd)
			left--
		})
	}
	k.Go("meter", func(t *simring.Thread) {
		t.Until(func() bool { return listens && s.isUp() })
		measure(t)
		s.over = true
		t.Until(func() bool { return left == 0 })
		s.proxy.each((*worker).drain)
	})
}

// used is what a proxy did in some time.
type used struct {
	enters uint64
	lines  int
}

func (s *crowd) idleFor(t *simring.Thread, d time.Duration) used {
	loop, lines := s.proxy.workers[0].loop, s.logs.Len()
	enters := loop.Stats().Enters
	t.Sleep(d)
	return used{loop.Stats().Enters - enters, s.logs.Len() - lines}
}

// However slowly a server reads, and for however long, what waits for it never takes more buffers than the backend's
// Buffer is worth.
func TestSimulationOfASlowReaderBoundsWhatIsLeased(t *testing.T) {
	for seed := range testenv.Seeds(20) {
		const size, buffer, total = 64, 4 * 64, 20_000
		most := int64(0)
		err := simring.Play(func(k *simring.Kernel) func() {
			odds := calm(256)
			odds.OldKernel = k.Odds.OldKernel // kernels that cannot limit a multishot receive, too
			k.Odds = odds
			loop, err := reactor.NewLoopOn(k.NewRing(), k.System(), reactor.LoopConfig{
				DrainTimeout: time.Hour,
				Buffers:      reactor.BufferConfig{Size: size, Window: 4, Limit: 64, LargeLimit: -1},
			})
			if err != nil {
				panic(err)
			}
			s := &idling{simulation: &simulation{k: k, talk: program.NewTalk(k)}, loop: loop}
			done := false
			s.server = func(t *simring.Thread, fd int) {
				if got, err := readSlowly(t, fd, total, 50, 100*time.Millisecond); got != total {
					k.Errorf("the server got %d bytes of %d and %v", got, total, err)
				}
				done = true
				_ = k.System().Close(fd)
			}
			s.client = func(t *simring.Thread, fd int) {
				sendAll(t, fd, total)
				t.Until(func() bool { return done })
			}
			k.Go("meter", func(t *simring.Thread) {
				for t.Until(s.isUp); !done; t.Sleep(time.Millisecond) {
					most = max(most, loop.Stats().LeasedBytes)
				}
			})
			s.run(Backend{Buffer: buffer, IdleTimeout: time.Hour, HalfCloseTimeout: time.Hour})
			return s.check
		}, seed, simring.Flawless, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if most == 0 || most > buffer {
			t.Errorf("seed %d: %d bytes were leased at most, want some and no more than %d", seed, most, buffer)
		}
	}
}
