package limit

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// However many loops take and give concurrently, no listener has more connections than its limit, all listeners
// together have no more than the budget, and everything is given back.
func TestAdmissionIsExact(t *testing.T) {
	const pairs = 20
	b, all := divided(pairs, 3, 12, 0, 0)
	common := b.common.Load()
	var taken atomic.Int64
	var wg sync.WaitGroup
	for n := range 8 {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		wg.Go(func() {
			var held []*Admission
			for range 20000 {
				if a := all[rng.IntN(len(all))]; rng.IntN(2) == 0 && a.Take() == Granted {
					if n := taken.Add(1); n > pairs {
						t.Errorf("%d taken of %d", n, pairs)
					}
					if n := a.Connections(); n > a.most() {
						t.Errorf("%d connections, at most %d", n, a.most())
					}
					held = append(held, a)
				} else if len(held) != 0 {
					taken.Add(-1)
					held[0].Give()
					held = held[1:]
				}
			}
			for _, a := range held {
				taken.Add(-1)
				a.Give()
			}
		})
	}
	wg.Wait()
	expectAllBack(t, b, all, common)
}

// divided divides pairs among listeners with these limits.
func divided(pairs int, limits ...int) (*Budget, []*Admission) {
	b := NewBudget()
	var all []*Admission
	for _, n := range limits {
		a := &Admission{}
		a.Init(b)
		a.SetLimit(n)
		all = append(all, a)
	}
	b.Divide(pairs, 0, all, nil)
	return b, all
}

func expectAllBack(t *testing.T, b *Budget, all []*Admission, common int64) {
	t.Helper()
	for i := range all {
		if n := all[i].Connections(); n != 0 {
			t.Errorf("listener %d has %d connections", i, n)
		}
	}
	if n := b.common.Load(); n != common {
		t.Errorf("%d common pairs are free, want %d", n, common)
	}
}

func TestDivide(t *testing.T) {
	for _, test := range []struct {
		pairs     int
		limits    []int
		own, most []int64
		common    int64
	}{
		{100, []int{0}, []int64{50}, []int64{100}, 50},
		{100, []int{7}, []int64{7}, []int64{7}, 93},
		{100, []int{0, 2, 30}, []int64{16, 2, 16}, []int64{82, 2, 30}, 66},
		{2, []int{0, 0, 0}, []int64{0, 0, 0}, []int64{2, 2, 2}, 2},
	} {
		b, all := divided(test.pairs, test.limits...)
		if n := b.common.Load(); n != test.common {
			t.Errorf("%v: %d are common, want %d", test, n, test.common)
		}
		for i := range all {
			_, own := split(all[i].word.Load())
			if most := int64(b.Most(all[i])); own != test.own[i] || most != test.most[i] {
				t.Errorf("%v: listener %d has %d of its own, %d at most", test, i, own, most)
			}
		}
	}
}

// However often the budget is divided anew while loops take and give, there are never more connections than pairs, and
// in the end all is given back.
func TestDivideIsExact(t *testing.T) {
	const pairs, listeners = 30, 6
	b, all := divided(pairs, make([]int, listeners)...)
	var taken atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			var held []*Admission
			for i := n; ; i++ {
				select {
				case <-stop:
					for _, a := range held {
						taken.Add(-1)
						a.Give()
					}
					return
				default:
				}
				if a := all[i*7%listeners]; i%3 != 0 && a.Take() == Granted {
					if n := taken.Add(1); n > pairs {
						t.Errorf("%d taken of %d", n, pairs)
					}
					held = append(held, a)
				} else if len(held) != 0 {
					taken.Add(-1)
					held[0].Give()
					held = held[1:]
				}
			}
		})
	}
	deadline := time.Now().Add(time.Second)
	for i := 0; time.Now().Before(deadline); i++ {
		n := 1 + i%listeners
		for j, a := range all {
			a.SetLimit((i + j) % 4 * 5)
		}
		b.Divide(pairs-i%5, 0, all[:n], all[n:])
	}
	b.Divide(pairs, 0, all, nil)
	close(stop)
	wg.Wait()
	if _, n := b.Pairs(); n != pairs {
		t.Errorf("%d pairs are free, want %d", n, pairs)
	}
	for i, a := range all {
		if n, own := split(a.word.Load()); n != 0 || own != a.part.Load() {
			t.Errorf("listener %d has %d connections and %d pairs of its own, want %d", i, n, own, a.part.Load())
		}
	}
}

// With -cpu 1,2: alone, and with another loop that does the same.
func BenchmarkAdmission(b *testing.B) {
	_, all := divided(100, 0, 0)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			all[0].Take()
			all[0].Give()
		}
	})
}
