package balance

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// The limit holds exactly, and a Take is refused only at the limit.
func TestLoadIsExact(t *testing.T) {
	const limit, goroutines, rounds = 5, 8, 2000
	var l Load
	l.SetLimit(limit)
	var open atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				if !l.Take() {
					runtime.Gosched()
					continue
				}
				if n := open.Add(1); n > limit {
					t.Errorf("%d connections, the limit is %d", n, limit)
				}
				runtime.Gosched()
				open.Add(-1)
				l.Give()
			}
		})
	}
	wg.Wait()
	if l.N() != 0 {
		t.Errorf("%d connections are left", l.N())
	}
}

// With as many goroutines as places, no Take is ever refused: others that come and go do not hide a free place.
func TestLoadDoesNotRefuseTooEarly(t *testing.T) {
	const limit, rounds = 4, 5000
	var l Load
	l.SetLimit(limit)
	var wg sync.WaitGroup
	for range limit {
		wg.Go(func() {
			for range rounds {
				if !l.Take() {
					t.Error("Take refused although a place is free")
					return
				}
				l.Give()
			}
		})
	}
	wg.Wait()
}

func TestLoadBeyondItsLimit(t *testing.T) {
	var l Load
	for range 3 {
		if !l.Take() {
			t.Fatal("Take refused without a limit")
		}
	}
	l.SetLimit(2)
	if l.Take() || !l.Full() {
		t.Error("Take beyond the limit")
	}
	l.Force()
	if l.N() != 4 {
		t.Errorf("N = %d after Force, want 4", l.N())
	}
	l.Give()
	l.Give()
	if l.Take() {
		t.Error("Take at the limit")
	}
	l.Give()
	if l.Full() || !l.Take() {
		t.Error("no Take below the limit")
	}
	l.SetLimit(-1)
	if l.Limit() != 0 || !l.Take() {
		t.Error("a negative limit is one")
	}
	defer func() {
		if recover() == nil {
			t.Error("Give without Take does not panic")
		}
	}()
	new(Load).Give()
}

// With -cpu 1,2: alone, and with another loop that does the same.
func BenchmarkLoad(b *testing.B) {
	for _, limit := range []int{0, 1000} {
		b.Run(fmt.Sprintf("limit %d", limit), func(b *testing.B) {
			var l Load
			l.SetLimit(limit)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					l.Take()
					l.Give()
				}
			})
		})
	}
}
