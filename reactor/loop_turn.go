//go:build linux

package reactor

import (
	"sync/atomic"
	"time"
)

// A turn is the time in which a loop does not sleep: from when it has entered the ring to when it enters it again. In
// that time it runs callbacks. A callback that blocks uses no CPU time, but the loop serves nothing else meanwhile: so
// a loop is busy while its thread uses CPU time, in the kernel too, and also while a callback blocks it.

// turnClock measures turns. The loop's thread writes it, any thread reads it.
type turnClock struct {
	began   atomic.Int64 // when the turn began, on the loop's clock; 0 while the loop sleeps
	longest atomic.Int64 // ns
	blocked atomic.Int64 // for how long turns lasted beyond their CPU time, ns
	sampled atomic.Int64 // CPU time of the thread at some time in the last cpuSampleEvery before the turn
	version atomic.Uint32
	sample  int64 // when sampled was read
	slow    distribution
}

const (
	// longTurn is the length from which on a turn's CPU time is looked at, which takes a system call, and the turn is
	// counted as slow. A shorter one delays what else there is to do by no more than a busy machine does.
	longTurn = time.Millisecond
	// cpuSampleEvery is the shortest time between two readings of the thread's CPU time, between long turns.
	cpuSampleEvery = 10 * time.Millisecond
)

// beginTurn begins a turn.
func (l *Loop) beginTurn() {
	t := &l.turns
	t.began.Store(l.now)
	l.slots.time = uint32(l.now >> slotTime)
	if l.now-t.sample >= int64(cpuSampleEvery) {
		t.sample = l.now
		t.sampled.Store(l.sys.ThreadTime(int(l.tid.Load())))
	}
}

// endTurn ends the turn.
func (l *Loop) endTurn(now int64) {
	t := &l.turns
	lasted := now - l.now
	if lasted > t.longest.Load() || lasted >= int64(longTurn) {
		l.endLongTurn(now, lasted)
	}
}

// endLongTurn ends a turn that was longer than those before it, or long.
func (l *Loop) endLongTurn(now, lasted int64) {
	t := &l.turns
	if l.hosted && lasted >= int64(lateAfter) {
		lasted -= turnWatch.frozen(l.now, now)
	}
	if lasted > t.longest.Load() {
		t.longest.Store(lasted)
	}
	if lasted < int64(longTurn) {
		return
	}
	t.slow.add(lasted)
	used := l.sys.ThreadTime(int(l.tid.Load()))
	t.version.Add(1)
	if beyond := lasted - (used - t.sampled.Load()); beyond > 0 {
		t.blocked.Add(beyond)
	}
	t.began.Store(0)
	t.sample = now
	t.sampled.Store(used)
	t.version.Add(1)
}

// beyond returns for how long turns have lasted beyond their CPU time, with the turn in progress. used is the CPU time
// of the thread so far. ok is false if the loop changes the figures at this moment. From any thread.
func (t *turnClock) beyond(now, used int64) (ns int64, ok bool) {
	version := t.version.Load()
	ns = t.blocked.Load()
	if began := t.began.Load(); began != 0 && now-began >= int64(longTurn) {
		ns += max(0, now-began-(used-t.sampled.Load()))
	}
	return ns, version&1 == 0 && t.version.Load() == version
}
