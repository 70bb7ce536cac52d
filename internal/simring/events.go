package simring

import (
	"container/heap"
	"time"
)

// event is something that happens by itself.
type event struct {
	at  int64
	seq uint64 // of two at the same time the earlier made comes first
	f   func()
}

type events struct {
	heap []event
	seq  uint64
}

func (e *events) Len() int { return len(e.heap) }
func (e *events) Less(i, j int) bool {
	a, b := &e.heap[i], &e.heap[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (e *events) Swap(i, j int) { e.heap[i], e.heap[j] = e.heap[j], e.heap[i] }
func (e *events) Push(x any)    { e.heap = append(e.heap, x.(event)) }
func (e *events) Pop() any {
	last := len(e.heap) - 1
	x := e.heap[last]
	e.heap[last], e.heap = event{}, e.heap[:last]
	return x
}

// at makes f happen at a time.
func (k *Kernel) at(at int64, f func()) {
	k.events.seq++
	heap.Push(&k.events, event{at, k.events.seq, f})
}

// soon makes f happen when the wire, or whatever it is, has taken its time.
func (k *Kernel) soon(f func()) { k.coming(k.now+int64(k.delay()), f) }

// coming makes f happen at a time, and counts it as under way until then.
func (k *Kernel) coming(at int64, f func()) {
	k.underWay++
	k.at(at, func() {
		k.underWay--
		f()
	})
}

func (k *Kernel) delay() time.Duration {
	d := k.upTo(k.Odds.Latency)
	if k.chance(k.Odds.SlowEvent) {
		d *= 1000
	}
	return d
}

// happen lets everything happen that is due.
func (k *Kernel) happen() {
	for k.events.Len() != 0 && k.events.heap[0].at <= k.now {
		heap.Pop(&k.events).(event).f()
	}
}
