package proxy

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
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
