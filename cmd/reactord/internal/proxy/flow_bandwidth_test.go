package proxy

import (
	"io"
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// A limit holds on a machine that has been up for years, however much is reserved in advance.
func TestByteBucketOfAnOldMachine(t *testing.T) {
	r := newByteRate(1000, 0)
	const day = 24 * time.Hour
	for _, uptime := range []time.Duration{0, 418 * day, 3650 * day, 36500 * day} {
		var b byteBucket
		for k := range 100 {
			want := int64(uptime) + int64(k)*int64(time.Second) - r.burst
			if from := b.reserve(r, 1000, int64(uptime)); from != want {
				t.Fatalf("up for %v: the %dth 1000 bytes come %v after now, want %v",
					uptime, k, time.Duration(from-int64(uptime)), time.Duration(want-int64(uptime)))
			}
		}
		if from := b.reserve(r, math.MaxInt, int64(uptime)); from < int64(uptime) {
			t.Errorf("up for %v: bytes come %v before now", uptime, time.Duration(int64(uptime)-from))
		}
		if from := b.reserve(r, math.MaxInt, int64(uptime)); from < int64(uptime) {
			t.Errorf("up for %v: more bytes come %v before now", uptime, time.Duration(int64(uptime)-from))
		}
	}
}

// However many loops reserve concurrently, the times that they are given are those of one queue.
func TestByteBucketIsExact(t *testing.T) {
	r := newByteRate(1000, 100)
	var b byteBucket
	var last atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				from := b.reserve(r, 10, 0)
				for {
					seen := last.Load()
					if from <= seen || last.CompareAndSwap(seen, from) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	if want := int64(8*1000-1)*int64(10*time.Millisecond) - int64(100*time.Millisecond); last.Load() != want {
		t.Errorf("the last 10 bytes may come at %v, want %v", time.Duration(last.Load()), time.Duration(want))
	}
}

func TestByteBucket(t *testing.T) {
	r := newByteRate(1000, 0) // the burst is 250 bytes
	var b byteBucket
	const second = int64(time.Second)
	for _, c := range []struct{ now, n, from int64 }{ // from: ms
		{0, 200, -250}, {0, 51, -50}, {0, 1, 1}, {0, 1, 2}, {1000, 1, 750}, {10_000, 300, 9750}, {10_000, 1, 10_050},
	} {
		if got := b.reserve(r, int(c.n), c.now*second/1000); got != c.from*second/1000 {
			t.Errorf("%d bytes at %d ms may come at %v, want %d ms", c.n, c.now, time.Duration(got), c.from)
		}
	}
	b.giveBack(r, 1000)
	if from := b.reserve(r, 1, 10*second); from > 10*second {
		t.Errorf("bytes that were given back are missing: wait until %v", time.Duration(from))
	}
	for _, n := range []int{0, 1, math.MaxInt / 4, math.MaxInt} { // no sum of them overflows
		for range 1000 {
			if from := b.reserve(newByteRate(1, 0), n, second); from < 0 {
				t.Fatalf("%d bytes may come at %d", n, from)
			}
		}
	}
}

// An address has its own buckets while it has connections, whatever others come and go; and as many addresses as like
// to come do not make the table larger.
func TestByteSources(t *testing.T) {
	s := newByteSources()
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	mine := s.acquire(address(0), 0)
	for i := 1; i < 1<<18; i++ {
		s.acquire(address(i), 0).release()
	}
	if again := s.acquire(address(0), 0); again != mine {
		t.Error("an address has two entries")
	}
	prefix := netip.MustParseAddr("2001:db8::1")
	if s.acquire(prefix, 0) != s.acquire(prefix.Next(), 0) {
		t.Error("addresses of one /64 have two entries")
	}
	_ = s.acquire(netip.Addr{}, 0) // a unix socket
}

// Bytes come at the rate of the limit, in both directions; and a plan that lifts it lets those go that wait.
func TestBandwidth(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for from, way := range []string{"from the client", "from the server"} {
			t.Run(way, func(t *testing.T) {
				ln := listen(t)
				f := setupOf(Backend{}, ln)
				f.Ring, f.Loops, f.Listeners[0].Address = ring, 1, freePort(t)
				const rate, burst = 2 << 20, 64 << 10
				f.Listeners[0].Bandwidth.Listener = config.ByteRate{FromClient: rate, FromServer: rate, Burst: burst}
				p := f.run(t)
				c, s := pair(t, p, ln)
				ends := []net.Conn{c, s}
				total := 3 << 20
				go func() { _, _ = ends[from].Write(make([]byte, 2*total)) }()
				began := time.Now()
				if _, err := io.ReadFull(ends[1-from], make([]byte, total)); err != nil {
					t.Fatal(err)
				}
				if took, want := time.Since(began), 1400*time.Millisecond; took < want || took > 10*want {
					t.Errorf("%d bytes took %v", total, took)
				}
				f.Listeners[0].Bandwidth.Listener.FromClient, f.Listeners[0].Bandwidth.Listener.FromServer = 1, 1
				p.change(t, f)
				held := func() bool { return p.Stats().Listeners[0].ThrottledSeconds > 1000 }
				waitFor(t, "it is held back for long", held)
				f.Listeners[0].Bandwidth = config.Bandwidth{}
				p.change(t, f)
				if _, err := io.ReadFull(ends[1-from], make([]byte, total)); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

func BenchmarkByteSources(b *testing.B) {
	s := newByteSources()
	for i := 0; b.Loop(); i++ {
		s.acquire(netip.AddrFrom4([4]byte{1, 2, byte(i >> 8), byte(i)}), 0).release()
	}
}
