package timerqueue

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// horizon is how far ahead the timers of the benchmarks lie, in nanoseconds: ten minutes, so that
// none of the time package's fires meanwhile.
const horizon = int64(10 * time.Minute)

var pendings = []int{10, 1_000, 1_000_000}

func filled(n int) (*Queue, []Timer) {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	q, timers := new(Queue), make([]Timer, n)
	for i := range timers {
		q.Push(&timers[i], horizon+r.Int64N(horizon))
	}
	return q, timers
}

// deadlines are random distances, drawn beforehand so that drawing is not measured.
func deadlines() *[4096]int64 {
	r := rand.New(rand.NewPCG(5, 6))
	d := new([4096]int64)
	for i := range d {
		d[i] = horizon + r.Int64N(horizon)
	}
	return d
}

func eachPending(b *testing.B, f func(b *testing.B, pending int)) {
	for _, n := range pendings {
		b.Run(fmt.Sprintf("pending=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, n)
		})
	}
}

// BenchmarkPushRemove is the life of a timeout that never fires.
func BenchmarkPushRemove(b *testing.B) {
	b.Run("queue", func(b *testing.B) {
		eachPending(b, func(b *testing.B, pending int) {
			q, _ := filled(pending)
			d, i := deadlines(), 0
			var t Timer
			for b.Loop() {
				q.Push(&t, d[i%len(d)])
				q.Remove(&t)
				i++
			}
		})
	})
	b.Run("containerheap", func(b *testing.B) {
		eachPending(b, func(b *testing.B, pending int) {
			h, d, i := new(stdHeap), deadlines(), 0
			for j := range pending {
				heap.Push(h, &stdTimer{deadline: d[j%len(d)] + int64(j), age: uint64(j)})
			}
			t := new(stdTimer)
			for b.Loop() {
				t.deadline, t.age = d[i%len(d)], uint64(pending+i)
				heap.Push(h, t)
				heap.Remove(h, t.index)
				i++
			}
		})
	})
	b.Run("time", func(b *testing.B) {
		eachPending(b, func(b *testing.B, pending int) {
			stop := pendingTimers(pending)
			defer stop()
			d, i := deadlines(), 0
			for b.Loop() {
				time.AfterFunc(time.Duration(d[i%len(d)]), func() {}).Stop()
				i++
			}
		})
	})
}

// BenchmarkUpdate is the life of an idle timeout: moved on with every message.
func BenchmarkUpdate(b *testing.B) {
	b.Run("queue", func(b *testing.B) {
		eachPending(b, func(b *testing.B, pending int) {
			q, timers := filled(pending)
			i := 0
			for b.Loop() {
				q.Update(&timers[i*7919%len(timers)], 2*horizon+int64(i))
				i++
			}
		})
	})
	b.Run("time", func(b *testing.B) {
		eachPending(b, func(b *testing.B, pending int) {
			timers, i := make([]*time.Timer, pending), 0
			for j := range timers {
				timers[j] = time.AfterFunc(time.Duration(horizon), func() {})
			}
			for b.Loop() {
				timers[i*7919%len(timers)].Reset(time.Duration(horizon + int64(i)))
				i++
			}
			for _, t := range timers {
				t.Stop()
			}
		})
	})
}

// BenchmarkPopPush is the life of an interval: the first is due and goes to the end.
func BenchmarkPopPush(b *testing.B) {
	eachPending(b, func(b *testing.B, pending int) {
		q, _ := filled(pending)
		d, i := deadlines(), 0
		for b.Loop() {
			now, _ := q.Min()
			q.Push(q.Pop(now), now+d[i%len(d)])
			i++
		}
	})
}

// BenchmarkDue is what a loop asks on every turn while nothing is due.
func BenchmarkDue(b *testing.B) {
	q, _ := filled(1000)
	for b.Loop() {
		if q.Pop(0) != nil {
			b.Fatal("popped a timer early")
		}
	}
}

func pendingTimers(n int) (stop func()) {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(time.Duration(horizon+r.Int64N(horizon)), func() {})
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
	}
}

// stdTimer and stdHeap are the same queue as container/heap has one write it.
type stdTimer struct {
	deadline int64
	age      uint64
	index    int
}

type stdHeap []*stdTimer

func (h stdHeap) Len() int { return len(h) }
func (h stdHeap) Less(i, j int) bool {
	return h[i].deadline < h[j].deadline || h[i].deadline == h[j].deadline && h[i].age < h[j].age
}
func (h stdHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *stdHeap) Push(x any) {
	t := x.(*stdTimer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *stdHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
