package simring

import "time"

// event is something that happens at a time.
type event struct {
	at  int64
	seq uint64 // of two events at the same time the first that was made comes first
	f   func()
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// events is a heap.
type events struct {
	heap []event
	seq  uint64
}

// push adds an event.
func (e *events) push(at int64, f func()) {
	e.seq++
	e.heap = append(e.heap, event{at, e.seq, f})
	for i := len(e.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !e.heap[i].before(&e.heap[parent]) {
			return
		}
		e.heap[i], e.heap[parent] = e.heap[parent], e.heap[i]
		i = parent
	}
}

// pop removes the next event, and returns what it does.
func (e *events) pop() func() {
	first, last := e.heap[0].f, len(e.heap)-1
	e.heap[0], e.heap[last] = e.heap[last], event{}
	e.heap = e.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if e.heap[child].before(&e.heap[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		e.heap[i], e.heap[least] = e.heap[least], e.heap[i]
		i = least
	}
}

// After calls f, which must not wait, after a time. It is called as an event, not on a thread.
func (w *world) After(d time.Duration, f func()) { w.at(w.now+int64(d), f) }

// soon calls f after a random delay.
func (k *Kernel) soon(f func()) { k.coming(k.now+int64(k.delay()), f) }

func (k *Kernel) delay() time.Duration {
	d := k.upTo(k.Odds.Latency)
	if k.chance(k.Odds.SlowEvent) {
		d *= 1000
	}
	return d
}
