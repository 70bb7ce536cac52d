package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// However many loops take concurrently, no more is taken than the burst and what was refilled.
func TestBucketIsExact(t *testing.T) {
	r := NewRate(config.Rate{Connections: 1000, Burst: 50})
	var b Bucket
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
				if b.Take(r, now) == 0 {
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
	r := NewRate(config.Rate{Connections: 10, Burst: 2})
	var b Bucket
	for i, want := range []time.Duration{0, 0, 100 * time.Millisecond} {
		if got := b.Take(r, 5); got != want {
			t.Errorf("take %d waits for %v, want %v", i, got, want)
		}
	}
	if got := b.Take(r, 5+int64(100*time.Millisecond)); got != 0 {
		t.Errorf("take waits for %v after a refill", got)
	}
	if got := b.Take(Rate{}, 0); got != 0 {
		t.Errorf("take without a limit waits for %v", got)
	}
}
