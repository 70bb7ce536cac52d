package proxy

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

var (
	drainConns  = flag.Int("drain.conns", 300, "connections of TestDrainSpreads")
	drainSpread = flag.Duration("drain.spread", time.Second, "the time over which they are ended")
)

// greet sends a byte to every connection. Unlike echo it takes no descriptors for pipes.
func greet(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte{1})
		go func() {
			_, _ = c.Read(make([]byte, 2))
			_, _ = c.Read(make([]byte, 2))
			c.Close()
		}()
	}
}

// Idle connections are ended by EOF, evenly over the time.
func TestDrainSpreads(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go greet(ln)
		p := start(t, ring, Backend{}, ln)
		n, over := *drainConns, *drainSpread
		var mu sync.Mutex
		var ends []time.Time
		var wg sync.WaitGroup
		for i := range n {
			c := caller(t, p, 0)
			if expectServed(t, c); t.Failed() {
				return
			}
			_ = c.SetDeadline(time.Now().Add(over + time.Minute))
			wg.Go(func() {
				if _, err := c.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("connection %d: %v, want EOF", i, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, time.Now())
			})
		}
		time.Sleep(quietFor + 50*time.Millisecond) // now they are idle
		began := time.Now()
		if err := p.Drain(t.Context(), config.Drain{Spread: over, Timeout: over + time.Minute}); err != nil {
			t.Error(err)
		}
		wg.Wait()
		took := time.Since(began)
		t.Logf("%d connections ended in %v", n, took)
		if took < over*9/10 || took > over*11/10+500*time.Millisecond {
			t.Errorf("the drain took %v, want %v", took, over)
		}
		slices.SortFunc(ends, time.Time.Compare)
		for tenth := range 10 { // the rate is even
			at := ends[n*tenth/10].Sub(began)
			if want := over * time.Duration(tenth) / 10; at < want-over/10 || at > want+over/10+250*time.Millisecond {
				t.Errorf("connection %d ended after %v, want %v", n*tenth/10, at, want)
			}
		}
		if phase := p.DrainPhase(); phase != DrainEnded {
			t.Errorf("the drain is in phase %v", phase)
		}
	})
}

// A connection with bytes in flight is not ended before they have arrived.
func TestDrainDeliversFirst(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it waits
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s := pair(t, p, ln)
		_ = s.SetReadBuffer(16 << 10)
		const size = 1 << 20 // more than the server's side holds
		_ = c.SetWriteBuffer(size)
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		drained := make(chan error, 1)
		go func() {
			drained <- p.Drain(context.Background(), config.Drain{Spread: 10 * time.Millisecond, Timeout: time.Minute})
		}()
		time.Sleep(50 * time.Millisecond) // the spread has ended; nothing tells that a connection was left
		if n, err := io.ReadFull(s, make([]byte, size)); err != nil {
			t.Fatalf("%d bytes and %v", n, err)
		}
		expectEOF(t, s)
		expectEOF(t, c)
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// New connections are accepted for the delay; those that have not ended by the timeout are reset.
func TestDrainPhases(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		p := start(t, ring, Backend{}, ln)
		drained := make(chan error, 1)
		began := time.Now()
		d := config.Drain{Delay: 200 * time.Millisecond, Timeout: 200 * time.Millisecond}
		go func() { drained <- p.Drain(context.Background(), d) }()
		waitFor(t, "the delay begins", func() bool { return p.DrainPhase() == DrainDelay })
		c := caller(t, p, 0)
		expectServed(t, c)
		if n := p.Open(); n != 1 {
			t.Errorf("%d connections are open, want 1", n)
		}
		expectReset(t, c)
		if err := <-drained; !errors.Is(err, ErrDrainTimeout) {
			t.Errorf("%v, want %v", err, ErrDrainTimeout)
		}
		if d := time.Since(began); d < 400*time.Millisecond {
			t.Errorf("the drain took %v, want 400 ms", d)
		}
		if _, err := net.Dial("tcp", p.Addrs()[0].String()); err == nil {
			t.Error("still accepting")
		}
		if _, err := p.prepareChange(p.Plan()); !errors.Is(err, ErrStopped) {
			t.Errorf("a plan after the drain: %v", err)
		}
	})
}

// UDP sessions, which end by themselves, do not hurry the connections on.
func TestDrainSpreadsBesideSessions(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it waits
		const conns, sessions, over = 10, 200, 2 * time.Second
		ln, packets := listen(t), listenUDP(t, "127.0.0.1:0", "")
		go greet(ln)
		f := udpFixture(Backend{}, config.UDP{IdleTimeout: over}, packets.addr()).on(ring)
		f.Loops = 1
		f.addOther(ln)
		tcp := Listener{Name: "tcp", Address: netip.MustParseAddrPort("127.0.0.1:0"), Backend: "other"}
		f.Listeners = append(f.Listeners, tcp)
		p := f.run(t)
		for range sessions {
			ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))
		}
		var all []net.Conn
		for range conns {
			c, err := net.Dial("tcp", p.Addrs()[1].String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			_ = c.SetDeadline(time.Now().Add(over + time.Minute))
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		time.Sleep(quietFor + 50*time.Millisecond) // now they are idle
		began := time.Now()
		go func() { _ = p.Drain(context.Background(), config.Drain{Spread: over, Timeout: over + time.Minute}) }()
		for i, c := range all {
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
		}
		if took := time.Since(began); took < over/2 {
			t.Errorf("all connections ended within %v of a spread of %v", took, over)
		}
	})
}

func TestScale(t *testing.T) {
	day := int64(24 * time.Hour)
	for _, c := range []struct{ x, a, b, want int64 }{
		{day, 1, 1, day}, {day, 3, 4, day / 4 * 3}, {day, 1 << 20, 1 << 20, day}, {1 << 20, day, day, 1 << 20},
		{1 << 20, day / 2, day, 1 << 19}, {5, 0, 7, 0},
	} {
		if got := mulDiv(c.x, c.a, c.b); got != c.want {
			t.Errorf("%d·%d/%d = %d, want %d", c.x, c.a, c.b, got, c.want)
		}
	}
}
