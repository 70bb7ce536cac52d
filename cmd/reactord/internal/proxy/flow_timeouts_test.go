package proxy

import (
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// A connection on which nothing is sent ends when the first byte is overdue. A byte of either side prevents that.
func TestFirstByteTimeout(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		const limit = 300 * time.Millisecond
		p := start(t, ring, Backend{Set: func(s *config.Backend) { s.FirstByteTimeout = limit }}, ln)
		_, fromServer := pair(t, p, ln)
		_, _ = fromServer.Write([]byte{1})
		fromClient, _ := pair(t, p, ln)
		_, _ = fromClient.Write([]byte{1})
		began := time.Now()
		silent, silentServer := pair(t, p, ln)
		expectEOF(t, silent)
		expectEOF(t, silentServer)
		if took := time.Since(began); took < limit {
			t.Errorf("ended after %v", took)
		}
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonFirstByte) == 1 })
		if n := p.Stats().Listeners[0].Connections; n != 2 {
			t.Errorf("%d connections are left, want those with a byte", n)
		}
	})
}

// The random part of lifetimes spreads them evenly.
func TestLifetimesDiffer(t *testing.T) {
	const began, lifetime = int64(time.Hour), int64(time.Second)
	s := &config.Backend{Lifetime: time.Duration(lifetime), LifetimeJitter: 50}
	var tenths [10]int
	for id := range uint64(1000) {
		d := lifeEnds(began, id, s) - began
		if d <= lifetime/2 || d > lifetime {
			t.Fatalf("connection %d lives for %v", id, time.Duration(d))
		}
		tenths[(lifetime-d)*10/(lifetime/2)]++
	}
	for i, n := range tenths {
		if n < 50 || n > 150 {
			t.Errorf("%d of 1000 connections are in part %d of 10", n, i)
		}
	}
}

// Connections end when their lifetime has passed, although bytes flow.
func TestLifetime(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		const limit = 600 * time.Millisecond
		p := start(t, ring, Backend{Set: func(s *config.Backend) { s.Lifetime, s.LifetimeJitter = limit, 50 }}, ln)
		const n = 20
		began := time.Now()
		ends := make(chan time.Duration, n)
		for range n {
			c, s := pair(t, p, ln)
			go func() {
				for {
					if _, err := s.Write([]byte{1}); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond) // never idle for the timeout
				}
			}()
			go func() {
				for {
					if _, err := c.Read(make([]byte, 100)); err != nil {
						ends <- time.Since(began)
						return
					}
				}
			}()
		}
		for range n {
			if d := <-ends; d < limit/2 {
				t.Errorf("a connection ended after %v, want %v to %v", d, limit/2, limit)
			}
		}
		waitFor(t, "the ends are counted", func() bool { return endedBy(p, reasonLifetime) == n })
	})
}

// A timeout of 0 is none.
func TestNoTimeouts(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, Backend{Set: func(s *config.Backend) {
			s.IdleTimeout, s.HalfCloseTimeout, s.KeepAlive.Idle = 0, 0, 0
		}}, ln)
		c, s := pair(t, p, ln)
		swap(t, c, s, 10)
		_ = c.CloseWrite()
		expectEOF(t, s)
		p.on(func(w *worker) {
			if at := time.Duration(connOf(w.conns.First()).timer.Deadline() - w.loop.Now()); at < 24*time.Hour {
				t.Errorf("the timer expires after %v", at)
			}
		})
		pass(t, s, c)
	})
}
