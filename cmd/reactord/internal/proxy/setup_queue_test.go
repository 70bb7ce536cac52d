package proxy

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// dialAs connects to the proxy, and says who it is.
func dialAs(t *testing.T, p *Proxy, name byte) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = c.Write([]byte{name}) // it may be reset already
	return c.(*net.TCPConn)
}

// expectName reads who is connected.
func expectName(t *testing.T, ln net.Listener, want byte) net.Conn {
	t.Helper()
	_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	_ = s.SetDeadline(time.Now().Add(20 * time.Second))
	got := make([]byte, 1)
	if _, err := io.ReadFull(s, got); err != nil || got[0] != want {
		t.Errorf("client %d is connected, %v; want %d", got[0], err, want)
	}
	return s
}

// waitFor waits until something holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// queued is how many connections wait in the queue of the backend.
func queued(p *Proxy) int64 {
	b := p.table.Load().backends["b"]
	return p.sharedBackend(b).queued.Load()
}

// endedBy is how many connections have ended in a way.
func endedBy(p *Proxy, e closeReason) uint64 { return p.Stats().Listeners[0].Ended[e].Count }

// Connections that find no room at the backend, or at its server, wait in order.
func TestQueueIsInOrder(t *testing.T) {
	for name, limit := range map[string]func(b *Backend){
		"backend": func(b *Backend) { b.Set = func(s *config.Backend) { s.MaxConnections = 1 } },
		"server":  func(b *Backend) { b.MaxConnections = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				ln := listen(t)
				var b Backend
				limit(&b)
				p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, b, ln)
				const clients = 8
				var all []*net.TCPConn
				for i := range clients {
					all = append(all, dialAs(t, p, byte(i)))
					waitFor(t, "the connection is in the queue", func() bool { return queued(p) == int64(i) })
				}
				for i, c := range all {
					s := expectName(t, ln, byte(i))
					pass(t, s.(*net.TCPConn), c)
					c.Close()
					s.Close()
				}
				waitFor(t, "all have ended", func() bool { return endedBy(p, reasonNormal) == clients })
			})
		})
	}
}

// The limits of a backend and its servers are exact for all loops together, and all connections are served.
func TestLimitsAreExact(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const atBackend, atServer, clients = 5, 3, 60
		var all, most atomic.Int64
		var lns []net.Listener
		for range 2 {
			ln := listen(t)
			lns = append(lns, ln)
			var here atomic.Int64
			go func() {
				for {
					s, err := ln.Accept()
					if err != nil {
						return
					}
					if n := here.Add(1); n > atServer {
						t.Errorf("a server has %d connections", n)
					}
					n := all.Add(1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					go func() {
						_, _ = io.ReadFull(s, make([]byte, 1))
						time.Sleep(time.Millisecond) // others wait meanwhile
						here.Add(-1)
						all.Add(-1)
						_, _ = s.Write([]byte{1})
						s.Close()
					}()
				}
			}()
		}
		p := start(t, ring, Backend{MaxConnections: atServer, Set: func(s *config.Backend) {
			s.MaxConnections, s.Queue.Timeout = atBackend, time.Minute
		}}, lns...)
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				c := dialAs(t, p, 1)
				if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
					t.Error(err)
				}
				c.Close()
			})
		}
		wg.Wait()
		if n := most.Load(); n > atBackend {
			t.Errorf("the backend had %d connections, want %d at most", n, atBackend)
		}
		waitFor(t, "no load is left", func() bool { return p.table.Load().backends["b"].Load.N() == 0 })
		if n := queued(p); n != 0 {
			t.Errorf("%d connections are left in the queue", n)
		}
	})
}

// A connection beyond the queue is reset immediately, and one that waits for too long when that time has passed.
func TestQueueIsBounded(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		const limit = 300 * time.Millisecond
		p := start(t, ring, Backend{Set: func(s *config.Backend) {
			s.MaxConnections, s.Queue.Size, s.Queue.Timeout = 1, 1, limit
		}}, ln)
		dialAs(t, p, 0)
		expectName(t, ln, 0)
		began := time.Now()
		waits := dialAs(t, p, 1)
		waitFor(t, "the connection is in the queue", func() bool { return queued(p) == 1 })
		expectRefusal(t, p)
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonQueueFull) == 1 })
		expectReset(t, waits)
		if took := time.Since(began); took < limit {
			t.Errorf("reset after %v", took)
		}
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonQueueTimeout) == 1 })
	})
}

// A client that resets its connection gives its place in the queue to others. One that has sent EOF still waits for its
// answer.
func TestClientLeavesTheQueue(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{Set: func(s *config.Backend) {
			s.MaxConnections, s.Queue.Size, s.Queue.Timeout = 1, 2, time.Minute
		}}, ln)
		first, served := dialAs(t, p, 0), expectName(t, ln, 0)
		leaves := dialAs(t, p, 1)
		waitFor(t, "the connection is in the queue", func() bool { return queued(p) == 1 })
		half := dialAs(t, p, 2)
		waitFor(t, "the connection is in the queue", func() bool { return queued(p) == 2 })
		_ = half.CloseWrite()
		_ = leaves.SetLinger(0)
		leaves.Close()
		waitFor(t, "the place is free", func() bool { return queued(p) == 1 })
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonQueueClientReset) == 1 })
		first.Close()
		served.Close()
		s := expectName(t, ln, 2)
		expectEOF(t, s.(*net.TCPConn))
		pass(t, s.(*net.TCPConn), half)
	})
}

// Connections that wait when the proxy is closed are reset, and those that wait when it drains are served.
func TestQueueEndsWithTheProxy(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, drain := range []bool{false, true} {
			ln := listen(t)
			p := start(t, ring, Backend{Set: func(s *config.Backend) { s.MaxConnections = 1 }}, ln)
			first, served := dialAs(t, p, 0), expectName(t, ln, 0)
			second := dialAs(t, p, 1)
			waitFor(t, "the connection is in the queue", func() bool { return queued(p) == 1 })
			if !drain {
				_ = p.Close()
				expectReset(t, second)
				continue
			}
			p.each((*worker).drain)
			first.Close()
			served.Close()
			pass(t, expectName(t, ln, 1).(*net.TCPConn), second)
			second.Close()
		}
	})
}

// A scrape reads the queues without the lock that a loop may wait for.
func TestStatsTakeNoLockOfQueues(t *testing.T) {
	p := startOn(t, newRing(t, reactor.Epoll), reactor.BufferConfig{}, Backend{}, listen(t))
	p.backends.mu.Lock()
	defer p.backends.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Stats()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the stats wait for the lock")
	}
}
