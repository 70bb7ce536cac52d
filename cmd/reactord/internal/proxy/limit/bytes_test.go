package limit

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A limit holds on a machine that has been up for years, however much is reserved in advance.
func TestByteBucketOfAnOldMachine(t *testing.T) {
	r := NewByteRate(1000, 0)
	const day = 24 * time.Hour
	for _, uptime := range []time.Duration{0, 418 * day, 3650 * day, 36500 * day} {
		var b ByteBucket
		for k := range 100 {
			want := int64(uptime) + int64(k)*int64(time.Second) - r.burst
			if from := b.Reserve(r, 1000, int64(uptime)); from != want {
				t.Fatalf("up for %v: the %dth 1000 bytes come %v after now, want %v",
					uptime, k, time.Duration(from-int64(uptime)), time.Duration(want-int64(uptime)))
			}
		}
		if from := b.Reserve(r, math.MaxInt, int64(uptime)); from < int64(uptime) {
			t.Errorf("up for %v: bytes come %v before now", uptime, time.Duration(int64(uptime)-from))
		}
		if from := b.Reserve(r, math.MaxInt, int64(uptime)); from < int64(uptime) {
			t.Errorf("up for %v: more bytes come %v before now", uptime, time.Duration(int64(uptime)-from))
		}
	}
}

// However many loops reserve concurrently, the times that they are given are those of one queue.
func TestByteBucketIsExact(t *testing.T) {
	r := NewByteRate(1000, 100)
	var b ByteBucket
	var last atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				from := b.Reserve(r, 10, 0)
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
	r := NewByteRate(1000, 0) // the burst is 250 bytes
	var b ByteBucket
	const second = int64(time.Second)
	for _, c := range []struct{ now, n, from int64 }{ // from: ms
		{0, 200, -250}, {0, 51, -50}, {0, 1, 1}, {0, 1, 2}, {1000, 1, 750}, {10_000, 300, 9750}, {10_000, 1, 10_050},
	} {
		if got := b.Reserve(r, int(c.n), c.now*second/1000); got != c.from*second/1000 {
			t.Errorf("%d bytes at %d ms may come at %v, want %d ms", c.n, c.now, time.Duration(got), c.from)
		}
	}
	b.GiveBack(r, 1000)
	if from := b.Reserve(r, 1, 10*second); from > 10*second {
		t.Errorf("bytes that were given back are missing: wait until %v", time.Duration(from))
	}
	for _, n := range []int{0, 1, math.MaxInt / 4, math.MaxInt} { // no sum of them overflows
		for range 1000 {
			if from := b.Reserve(NewByteRate(1, 0), n, second); from < 0 {
				t.Fatalf("%d bytes may come at %d", n, from)
			}
		}
	}
}
