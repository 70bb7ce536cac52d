//go:build linux

package server_test

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

var (
	seeds = flag.Int("server.seeds", 300, "how many seeds the simulated tests play")
	seed  = flag.Uint64("server.seed", 0, "the one seed that they play, with a trace")
)

// simulate plays a program with one seed after another.
func simulate(t *testing.T, p simring.Program) {
	from, n, trace := uint64(1), *seeds, io.Writer(nil)
	if *seed != 0 {
		from, n, trace = *seed, 1, os.Stdout
	}
	if testing.Short() {
		n = min(n, 50)
	}
	for s := from; s < from+uint64(n); s++ {
		if os.Getenv("SHOW") != "" {
			fmt.Println(s)
		}
		if err := simring.Play(p, s, simring.Flawless, trace); err != nil {
			t.Fatalf("seed %d: %v\n\tgo test ./reactor/server -run '^%s$' -server.seed %d", s, err, t.Name(), s)
		}
	}
}

var quiet = slog.New(slog.DiscardHandler)

// simulated is where simulated servers listen.
var simulated = netip.MustParseAddrPort("127.0.0.1:7")

// simServer is a server on one to three simulated loops.
type simServer struct {
	*server.Server
	k     *simring.Kernel
	loops []*reactor.Loop
	up    int
	left  int
}

// startSim starts a server on a kernel.
func startSim(k *simring.Kernel, cfg server.Config, handler func(*reactor.Loop) server.Handler) *simServer {
	cfg.Addr, cfg.ErrorLog = simulated, quiet
	inner, err := server.New(cfg, handler)
	if err != nil {
		panic(err)
	}
	s := &simServer{Server: inner, k: k}
	s.run(1 + k.Rand().IntN(3))
	return s
}

func (s *simServer) run(loops int) {
	s.left = loops
	for i := range loops {
		l := program.NewLoop(s.k)
		s.loops = append(s.loops, l)
		s.k.Go(fmt.Sprintf("loop%d", i), func(*simring.Thread) {
			err := l.Run(func() {
				for s.On(l) != nil { // until there are descriptors
					if s.ended() {
						break
					}
				}
				s.up++
			})
			s.left--
			program.Ended(s.k, l, err)
		})
	}
}

func (s *simServer) isUp() bool { return s.up == len(s.loops) || s.left < len(s.loops) }

func (s *simServer) ended() bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// stop shuts the server down, waits for its end, and stops the loops.
func (s *simServer) stop(t *simring.Thread) {
	t.Until(s.isUp)
	s.Shutdown()
	t.Until(s.ended)
	for _, l := range s.loops {
		l.Stop()
	}
	if n := s.Stats().Connections; n != 0 {
		s.k.Errorf("%d connections are left", n)
	}
}

// echoes is a handler that echoes in all ways that there are.
type echoes struct {
	k      *simring.Kernel
	rng    *rand.Rand
	opened int
	closed int
}

// echoState is what a connection of echoes has: a timer that resumes it.
type echoState struct {
	timer   reactor.Timer
	c       *server.Conn
	paused  bool
	present []byte // the rest, which must be presented again
}

func (s *echoState) OnTimer(int64) {
	s.paused = false
	s.c.Resume()
}

func (h *echoes) Open(c *server.Conn) {
	h.opened++
	s := &echoState{c: c}
	s.timer.Init(s)
	c.SetContext(s)
}

func (h *echoes) Closed(c *server.Conn, _ error) {
	h.closed++
	if c.Context() == nil {
		h.k.Errorf("Closed twice")
		return
	}
	c.Loop().StopTimer(&c.Context().(*echoState).timer)
	c.SetContext(nil)
}

func (h *echoes) Data(c *server.Conn, in, out []byte) (int, []byte, error) {
	s := c.Context().(*echoState)
	switch {
	case len(in) == 0:
		h.k.Errorf("Data without bytes")
	case s.paused:
		h.k.Errorf("Data of a paused connection")
	case len(in) < len(s.present) || string(in[:len(s.present)]) != string(s.present):
		h.k.Errorf("the rest is not presented again: %d and then %d bytes", len(s.present), len(in))
	case c.Seen() > len(s.present):
		h.k.Errorf("of %d bytes of the rest %d were seen", len(s.present), c.Seen())
	}
	used := len(in)
	if h.rng.IntN(3) == 0 {
		used = h.rng.IntN(len(in) + 1)
	}
	if s.present = append(s.present[:0], in[used:]...); used < len(in) && (used == 0 || h.rng.IntN(2) == 0) {
		s.paused = true
		c.Pause()
		c.Loop().SetTimer(&s.timer, c.Loop().Now()+h.rng.Int64N(1e7))
	} else if used < len(in) && h.rng.IntN(2) == 0 {
		c.Need(len(in) - used)
	}
	switch h.rng.IntN(5) {
	case 0:
		return used, append(out, in[:used]...), nil
	case 1:
		_, _ = c.Write(in[:used])
		return used, nil, nil
	case 2:
		half := used / 2
		_, _ = c.Write(in[:half])
		return used, in[half:used], nil
	case 3:
		return used, append([]byte(nil), in[:used]...), nil
	}
	return used, in[:used], nil
}

// TestSimulatedEcho has echo servers talk to clients that half-close and reset.
func TestSimulatedEcho(t *testing.T) {
	simulate(t, func(k *simring.Kernel) func() {
		cfg := server.Config{HighWater: 1 << k.Rand().IntN(14), MaxConnections: k.Rand().IntN(6)}
		var handlers []*echoes
		s := startSim(k, cfg, func(*reactor.Loop) server.Handler {
			h := &echoes{k: k, rng: rand.New(rand.NewPCG(k.Rand().Uint64(), 1))}
			handlers = append(handlers, h)
			return h
		})
		talk := program.NewTalk(k)
		clients := talk.Clients(s.isUp)
		early := k.Rand().IntN(4)
		k.Go("stopper", func(t *simring.Thread) {
			if t.Sleep(time.Duration(k.Rand().Int64N(5e7))); early == 1 {
				for _, l := range s.loops {
					l.Stop()
				}
			} else if early != 0 {
				t.Until(func() bool { return *clients == 0 })
			}
			s.stop(t)
		})
		return func() {
			for _, h := range handlers {
				if h.opened != h.closed {
					k.Errorf("%d connections were opened and %d closed", h.opened, h.closed)
				}
			}
			for _, p := range talk.Parties() {
				if early > 1 {
					p.Judge(false)
				}
			}
		}
	})
}
