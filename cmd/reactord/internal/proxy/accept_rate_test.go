package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func sourceRate(connections, burst, n int) config.SourceRate {
	return config.SourceRate{Connections: connections, Burst: burst, IPv4Prefix: 24, IPv6Prefix: 64, Sources: n}
}

// limited runs a proxy whose listener has limits, and tries so many connections.
func limited(t *testing.T, ring reactor.RingKind, set func(*fixture), clients int) (*Proxy, []net.Conn) {
	t.Helper()
	ln := listen(t)
	go echo(ln)
	s := setupOf(Backend{}, ln)
	s.Ring, s.Loops = ring, 2
	set(&s)
	p := s.run(t)
	var all []net.Conn
	for range clients {
		c, err := net.Dial("tcp", p.Addrs()[0].String())
		if errors.Is(err, syscall.ECONNRESET) { // it was rejected before Dial looked
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = c.Write([]byte{1}) // fails if it is reset already
		all = append(all, c)
	}
	return p, all
}

func rejected(p *Proxy, reason string) (n uint64) {
	for _, c := range p.Stats().Listeners[0].Rejected {
		if c.Reason == reason {
			n = c.Count
		}
	}
	return n
}

// Beyond a limit with on_limit: reject, connections are reset and counted by the reason. The log has the setting, and
// the source if that is what is limited.
func TestReject(t *testing.T) {
	for reason, set := range map[string]func(*fixture){
		"limit":       func(s *fixture) { s.Listeners[0].MaxConnections, s.Listeners[0].OnLimit = 4, "reject" },
		"rate":        func(s *fixture) { s.Listeners[0].Rate.Connections, s.Listeners[0].Rate.Burst = 1, 4 },
		"source_rate": func(s *fixture) { s.Listeners[0].SourceRate = sourceRate(1, 4, 16) },
	} {
		for _, process := range []bool{false, true} {
			t.Run(fmt.Sprint(reason, process), func(t *testing.T) {
				onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
					core, logs := observer.New(zapcore.WarnLevel)
					p, clients := limited(t, ring, func(s *fixture) {
						set(s)
						s.Log = zap.New(core)
						l := &s.Listeners[0]
						l.OnLimit = "reject"
						if process {
							s.Limits.MaxConnections, l.MaxConnections = l.MaxConnections, 0
							s.Limits.Rate, l.Rate = l.Rate, config.Rate{}
							s.Limits.SourceRate, l.SourceRate = l.SourceRate, config.SourceRate{}
						}
					}, 12)
					served := 0
					for _, c := range clients {
						_, err := c.Read(make([]byte, 1))
						switch {
						case err == nil:
							served++
						case !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF):
							t.Errorf("%v, want a reset", err) // EOF: writing was told of the reset
						}
					}
					if served < 4 || served > 5 { // one may be refilled
						t.Errorf("%d were served, want 4", served)
					}
					waitFor(t, fmt.Sprintf("%d are counted as rejected", 12-served), func() bool {
						return rejected(p, reason) == uint64(12-served)
					})
					lines := logs.FilterMessage(beyondLimit).All()
					if len(lines) == 0 {
						t.Fatal("the log does not tell")
					}
					setting, source := lines[0].ContextMap()["limit"], lines[0].ContextMap()["source"]
					if reason == "limit" && setting != "max_connections" || reason != "limit" && setting != reason ||
						(source == "127.0.0.0/24") != (reason == "source_rate") {
						t.Errorf("the log says %v", lines[0].ContextMap())
					}
				})
			})
		}
	}
}

// With on_limit: wait, connections beyond the rate are accepted when their time has come.
func TestRateWaits(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		began := time.Now()
		_, clients := limited(t, ring, func(s *fixture) {
			s.Listeners[0].Rate = config.Rate{Connections: 50, Burst: 2}
		}, 12)
		for _, c := range clients {
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d < 190*time.Millisecond {
			t.Errorf("12 connections were accepted in %v, want 200 ms", d)
		}
	})
}

// A turn of the loop accepts a few connections, however many are queued and however many timers there are.
func TestConnectionsOfATurn(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		f := setupOf(Backend{}, listen(t))
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		const clients = 50
		timers := make([]reactor.Timer, 1000)
		p.on(func(w *worker) {
			for i := range timers {
				timers[i].Init(&w.handshakeSteps)
				w.loop.SetTimer(&timers[i], w.loop.Now()+int64(time.Hour))
			}
			for range clients {
				c, err := net.Dial("tcp", p.Addrs()[0].String())
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { c.Close() })
			}
		})
		awaitOpen(t, p, clients)
		p.on(func(w *worker) {
			turns := map[int64]int{}
			for l := w.conns.First(); l != nil; l = l.Next() {
				turns[connOf(l).began]++
			}
			for _, n := range turns {
				if n > acceptBatch {
					t.Errorf("a turn accepted %d connections", n)
				}
			}
		})
	})
}
