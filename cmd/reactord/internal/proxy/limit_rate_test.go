package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// However many loops take concurrently, no more is taken than the burst and what was refilled.
func TestBucketIsExact(t *testing.T) {
	r := newRate(config.Rate{Connections: 1000, Burst: 50})
	var b bucket
	var clock, taken atomic.Int64
	var wg sync.WaitGroup
	const second = int64(time.Second)
	for range 8 {
		wg.Go(func() {
			for {
				now := clock.Add(int64(10 * time.Microsecond))
				if now > second {
					return
				}
				if b.take(r, now) == 0 {
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n < 1000 || n > 1050 {
		t.Errorf("%d were taken in a second, want 1050 at most", n)
	}
}

func TestBucketTellsHowLongToWait(t *testing.T) {
	r := newRate(config.Rate{Connections: 10, Burst: 2})
	var b bucket
	for i, want := range []time.Duration{0, 0, 100 * time.Millisecond} {
		if got := b.take(r, 5); got != want {
			t.Errorf("take %d waits for %v, want %v", i, got, want)
		}
	}
	if got := b.take(r, 5+int64(100*time.Millisecond)); got != 0 {
		t.Errorf("take waits for %v after a refill", got)
	}
	if got := b.take(rate{}, 0); got != 0 {
		t.Errorf("take without a limit waits for %v", got)
	}
}

func sourceRate(connections, burst, n int) config.SourceRate {
	return config.SourceRate{Connections: connections, Burst: burst, IPv4Prefix: 24, IPv6Prefix: 64, Sources: n}
}

func TestSourcesHaveBucketsOfTheirOwn(t *testing.T) {
	s := newSourceBuckets(sourceRate(10, 3, 1000))
	taken := func(addr string, now int64) (n int) {
		for range 100 {
			if s.take(netip.MustParseAddr(addr), now) {
				n++
			}
		}
		return n
	}
	now := int64(time.Hour)
	for _, test := range []struct {
		addr string
		want int
	}{
		{"192.0.2.1", 3}, {"192.0.2.200", 0}, {"192.0.3.1", 3}, {"::ffff:192.0.3.2", 0},
		{"2001:db8::1", 3}, {"2001:db8::2", 0}, {"2001:db8:0:1::1", 3},
	} {
		if got := taken(test.addr, now); got != test.want {
			t.Errorf("%s: %d connections, want %d", test.addr, got, test.want)
		}
	}
	if got := taken("192.0.2.7", now+int64(time.Second/5)); got != 2 {
		t.Errorf("%d connections after a refill, want 2", got)
	}
	if got := taken("192.0.2.7", now+int64(1000*24*time.Hour)); got != 3 {
		t.Errorf("%d connections after years, want 3", got)
	}
}

// A prefix whose bucket is not full keeps its entry while others have a full one.
func TestSourcesEvictTheFullest(t *testing.T) {
	s := newSourceBuckets(sourceRate(1, 2, 1)) // one set
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i), 1}) }
	now := int64(time.Hour)
	for s.take(addr(0), now) {
	}
	for i := 1; i < 1000; i++ { // each begins with a full bucket, which has one less than before
		s.take(addr(i), now)
	}
	if s.take(addr(0), now) {
		t.Error("the prefix that has used its burst was forgotten")
	}
}

func TestSourcesAreExact(t *testing.T) {
	s := newSourceBuckets(sourceRate(1, 100, 64))
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if s.take(netip.MustParseAddr("10.0.0.1"), 1) {
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n != 100 {
		t.Errorf("%d were taken, want 100", n)
	}
}

func TestSourcesTakeNoMemory(t *testing.T) {
	s := newSourceBuckets(sourceRate(10, 3, 1000))
	client := netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() { s.take(client, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSources(b *testing.B) {
	s := newSourceBuckets(sourceRate(1<<20, 1<<20, 1<<16))
	client := netip.MustParseAddr("192.0.2.1")
	for i := 0; b.Loop(); i++ {
		s.take(client, int64(i)*1000)
	}
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
