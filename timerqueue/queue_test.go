package timerqueue

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// oracle is the obvious timer queue: a slice kept sorted.
type oracle struct {
	pending  []entry
	sequence uint64
}

func (o *oracle) find(t *Timer) int {
	return slices.IndexFunc(o.pending, func(e entry) bool { return e.timer == t })
}

func (o *oracle) push(t *Timer, deadline int64) {
	o.sequence++
	i, _ := slices.BinarySearchFunc(o.pending, deadline, func(e entry, d int64) int {
		if e.deadline <= d {
			return -1
		}
		return 1
	})
	o.pending = slices.Insert(o.pending, i, entry{deadline, o.sequence, t})
}

func (o *oracle) remove(t *Timer) bool {
	i := o.find(t)
	if i >= 0 {
		o.pending = slices.Delete(o.pending, i, i+1)
	}
	return i >= 0
}

func (o *oracle) pop(now int64) *Timer {
	if len(o.pending) == 0 || o.pending[0].deadline > now {
		return nil
	}
	t := o.pending[0].timer
	o.pending = slices.Delete(o.pending, 0, 1)
	return t
}

// pair drives a queue and the oracle with the same operations.
type pair struct {
	testing.TB
	q      Queue
	o      oracle
	timers []Timer
}

func (p *pair) push(t *Timer, deadline int64) {
	p.q.Push(t, deadline)
	p.o.push(t, deadline)
}

func (p *pair) update(t *Timer, deadline int64) {
	p.q.Update(t, deadline)
	p.o.remove(t)
	p.o.push(t, deadline)
}

func (p *pair) remove(t *Timer) {
	if got, want := p.q.Remove(t), p.o.remove(t); got != want {
		p.Fatalf("Remove = %v, want %v", got, want)
	}
}

func (p *pair) pop(now int64) *Timer {
	got, want := p.q.Pop(now), p.o.pop(now)
	if got != want {
		p.Fatalf("Pop(%d) = %p, want %p", now, got, want)
	}
	return got
}

// verify compares what can be seen from outside, and holds every invariant of the heap.
func (p *pair) verify() {
	p.Helper()
	if p.q.Len() != len(p.o.pending) {
		p.Fatalf("Len = %d, want %d", p.q.Len(), len(p.o.pending))
	}
	deadline, ok := p.q.Min()
	if ok != (len(p.o.pending) > 0) || ok && deadline != p.o.pending[0].deadline {
		p.Fatalf("Min = %d, %v with %d pending", deadline, ok, len(p.o.pending))
	}
	for i := range p.timers {
		t := &p.timers[i]
		if j := p.o.find(t); t.Pending() != (j >= 0) || j >= 0 && t.Deadline() != p.o.pending[j].deadline {
			p.Fatalf("timer %d: Pending = %v, Deadline = %d", i, t.Pending(), t.Deadline())
		}
	}
	for i := range p.q.heap {
		e := &p.q.heap[i]
		if e.timer.index != i+1 || i > 0 && e.before(&p.q.heap[(i-1)/arity]) {
			p.Fatalf("the heap is broken at %d of %d", i, len(p.q.heap))
		}
	}
	for _, e := range p.q.heap[len(p.q.heap):cap(p.q.heap)] {
		if e.timer != nil {
			p.Fatal("an unused entry keeps a timer alive")
		}
	}
	if p.q.lowSince != 0 && !p.q.low() {
		p.Fatal("a slice that is in use counts as unused")
	}
}

// TestAgainstOracle runs phases of growth and decay, with many equal deadlines.
func TestAgainstOracle(t *testing.T) {
	steps := 60_000
	if testing.Short() {
		steps /= 10
	}
	for _, spread := range []int64{1, 16, 1 << 40} {
		r := rand.New(rand.NewPCG(1, uint64(spread)))
		p := &pair{TB: t, timers: make([]Timer, 600)}
		for i := range steps {
			timer, deadline := &p.timers[r.IntN(len(p.timers))], r.Int64N(spread)-spread/2
			growing := i/3000%2 == 0
			switch n := r.IntN(10); {
			case n < 4 && growing, n < 1:
				if !timer.Pending() {
					p.push(timer, deadline)
				}
			case n < 6:
				if timer.Pending() || growing {
					p.update(timer, deadline)
				}
			case n < 8:
				p.remove(timer)
			default:
				p.pop(deadline)
			}
			if i%16 == 0 {
				p.verify()
			}
		}
		for p.pop(math.MaxInt64) != nil {
		}
		p.verify()
	}
}

func FuzzAgainstOracle(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 2, 0, 3, 0, 0, 1, 1, 255, 2, 1, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		p := &pair{TB: t, timers: make([]Timer, 64)}
		for ; len(program) >= 4; program = program[4:] {
			timer := &p.timers[program[1]%64]
			deadline := int64(int16(binary.LittleEndian.Uint16(program[2:])))
			switch program[0] % 4 {
			case 0:
				if !timer.Pending() {
					p.push(timer, deadline)
				}
			case 1:
				p.update(timer, deadline)
			case 2:
				p.remove(timer)
			case 3:
				p.pop(deadline)
			}
			p.verify()
		}
	})
}

func TestEqualDeadlinesAreFirstInFirstOut(t *testing.T) {
	var q Queue
	timers := make([]Timer, 100)
	for i := range timers {
		q.Push(&timers[i], 7)
	}
	q.Update(&timers[0], 7) // to the end of the line
	order := append(seq(1, 100), 0)
	for _, i := range order {
		if got := q.Pop(7); got != &timers[i] {
			t.Fatalf("popped another timer than %d", i)
		}
	}
}

func seq(from, to int) (s []int) {
	for i := from; i < to; i++ {
		s = append(s, i)
	}
	return s
}

func TestDueAtItsDeadlineAndNotBefore(t *testing.T) {
	var q Queue
	var timer Timer
	for _, deadline := range []int64{math.MinInt64 + 1, -1, 0, 1, math.MaxInt64} {
		q.Push(&timer, deadline)
		if q.Pop(deadline-1) != nil {
			t.Errorf("deadline %d: due a nanosecond early", deadline)
		}
		if q.Pop(deadline) != &timer {
			t.Errorf("deadline %d: not due at it", deadline)
		}
		if timer.Pending() || timer.Deadline() != deadline {
			t.Errorf("deadline %d: Pending = %v, Deadline = %d after Pop", deadline, timer.Pending(), timer.Deadline())
		}
	}
	if q.Pop(math.MaxInt64) != nil || q.Remove(&timer) {
		t.Error("an empty queue gave a timer")
	}
}

// periodic pushes itself again from inside its handler, as an interval does.
type periodic struct {
	Timer
	q     *Queue
	fired []int64
}

func (p *periodic) OnTimer(now int64) {
	p.fired = append(p.fired, now)
	p.q.Push(&p.Timer, p.Deadline()+10)
}

func TestPushFromItsOwnHandler(t *testing.T) {
	var q Queue
	p := &periodic{q: &q}
	p.Init(p)
	q.Push(&p.Timer, 10)
	for now := range int64(45) {
		for due := q.Pop(now); due != nil; due = q.Pop(now) {
			due.Handler.OnTimer(now)
		}
	}
	if want := []int64{10, 20, 30, 40}; !slices.Equal(p.fired, want) {
		t.Errorf("fired at %v, want %v", p.fired, want)
	}
}

func TestPushOfAPendingTimerPanics(t *testing.T) {
	var q, other Queue
	var timer Timer
	q.Push(&timer, 1)
	defer func() {
		if recover() == nil || q.Len() != 1 || other.Len() != 0 {
			t.Error("a pending timer was pushed again")
		}
	}()
	other.Push(&timer, 2)
}

func TestMemoryAfterABurst(t *testing.T) {
	const burst, rest = 100_000, 10
	var q Queue
	timers := make([]Timer, burst)
	for i := range timers {
		q.Push(&timers[i], int64(i))
	}
	for q.Len() > rest {
		q.Pop(burst)
	}
	if cap(q.heap) < burst {
		t.Error("memory was released immediately, and the next wave has to allocate it")
	}
	q.Pop(burst + shrinkAfter - 1) // it was seen to be unused at the time burst
	if cap(q.heap) < burst {
		t.Error("memory was given back too soon")
	}
	for n := rest - 1; n > 0; n-- {
		if q.Pop(burst+shrinkAfter) == nil {
			t.Fatal("giving memory back lost a timer")
		}
	}
	if n := cap(q.heap); n > minCapacity {
		t.Errorf("room for %d timers is kept by an empty queue", n)
	}
}

// Timers that come in waves allocate in the first only, unless the lull between two is long.
func TestWavesDoNotAllocate(t *testing.T) {
	for _, n := range []int{100, 1000, 5000} {
		var q Queue
		timers := make([]Timer, n)
		now := int64(1)
		wave := func() {
			for i := range timers {
				q.Push(&timers[i], now+int64(i))
			}
			for range 2 * n {
				now++
				q.Pop(now)
			}
			now += shrinkAfter / 2
			q.Pop(now)
		}
		wave()
		if allocs := testing.AllocsPerRun(10, wave); allocs != 0 {
			t.Errorf("a wave of %d timers makes %v allocations", n, allocs)
		}
	}
}

func TestNoAllocationInSteadyState(t *testing.T) {
	for pending := range 350 { // past every size at which the slice grows or shrinks
		q, timers := filled(pending)
		var timer Timer
		r := rand.New(rand.NewPCG(1, 2))
		q.Push(&timer, 0) // room for one more
		q.Remove(&timer)
		allocs := testing.AllocsPerRun(20, func() {
			q.Push(&timer, r.Int64N(horizon))
			q.Update(&timer, r.Int64N(horizon))
			q.Remove(&timer)
			q.Update(&timer, -1)
			q.Pop(0)
		})
		if allocs != 0 {
			t.Errorf("%d pending: %v allocations", pending, allocs)
		}
		runtime.KeepAlive(timers)
	}
}

func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(Timer{}); n > 32 {
		t.Errorf("a Timer is %d bytes", n)
	}
	if n := unsafe.Sizeof(entry{}); n != 24 {
		t.Errorf("an entry is %d bytes", n)
	}
}

func TestOrderIsTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	entries := make([]entry, 500)
	for i := range entries {
		entries[i] = entry{deadline: r.Int64N(8), sequence: uint64(i)}
	}
	for i := range entries {
		for j := range entries {
			want := cmp.Or(cmp.Compare(entries[i].deadline, entries[j].deadline), cmp.Compare(i, j)) < 0
			if entries[i].before(&entries[j]) != want {
				t.Fatalf("%v before %v is %v", entries[i], entries[j], !want)
			}
		}
	}
}
