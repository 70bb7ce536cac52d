package simring

import "time"

// event is something that happens at a time.
type event struct {
	at  int64
	seq uint64 // of two events at the same time the first that was made comes first
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

// soon calls f after a random delay.
func (k *Kernel) soon(f func()) { k.coming(k.now+int64(k.delay()), f) }

func (k *Kernel) delay() time.Duration {
	d := k.upTo(k.Odds.Latency)
	if k.chance(k.Odds.SlowEvent) {
		d *= 1000
	}
	return d
}
