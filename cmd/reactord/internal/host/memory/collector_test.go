package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	const mb = 1 << 20
	for _, test := range []struct {
		floor uint64
		heap  heap
		want  int
	}{
		{32 * mb, heap{}, 800}, {32 * mb, heap{mb, 0}, 800},
		{32 * mb, heap{8 * mb, 0}, 300}, {32 * mb, heap{8 * mb, 4 * mb}, 200}, {32 * mb, heap{20 * mb, 0}, 60},
		{32 * mb, heap{30 * mb, 2 * mb}, 50}, {32 * mb, heap{1000 * mb, mb}, 50},
		{1 * mb, heap{}, 50},
	} {
		if got := growth(test.floor, test.heap); got != test.want {
			t.Errorf("floor %d, %+v: growth %d %%, want %d", test.floor, test.heap, got, test.want)
		}
	}
}

func cycles() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func setPercent() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

var (
	garbage []byte
	kept    [][]byte
)

// goal returns the bytes to which the heap may grow.
func goal() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// expectGoal waits until a small heap may grow to the floor, and not beyond.
func expectGoal(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		n := goal()
		if n > heapFloor*9/10 && n < heapFloor*11/10 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the heap may grow to %d bytes, want %d", n, heapFloor)
		}
	}
}

// A small heap is collected seldom, and a large one when it has grown by half.
func TestPaceCollector(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(100)
	kept = nil
	PaceCollector(0)
	runtime.GC()
	expectGoal(t)
	before := cycles()
	const made = 512 << 20
	for range made / (64 << 10) {
		garbage = make([]byte, 64<<10)
	}
	if n := cycles() - before; n > 2*made/heapFloor {
		t.Errorf("%d collections for %d MB of garbage, want about %d", n, made>>20, made/heapFloor)
	}
	for range 100 {
		kept = append(kept, make([]byte, 1<<20))
	}
	// A collection that ends before the pace was set after the one before is not looked at: the next one is.
	for deadline := time.Now().Add(10 * time.Second); setPercent() != leastGrowth; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatalf("100 MB are live, and may grow by %d %%", setPercent())
		}
	}
}

// A postponed collector lets the heap grow further, until the time is over or the pace is set again.
func TestPostponeCollector(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(100)
	kept = nil
	runtime.GC()
	PostponeCollector(0, time.Hour)
	if n := goal(); n < 3*heapFloor {
		t.Errorf("the heap may grow to %d bytes, want about %d", n, 4*heapFloor)
	}
	PostponeCollector(0, time.Millisecond)
	expectGoal(t)
}

func TestLittleMemory(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(100)
	PaceCollector(64 << 20)
	if got, want := setPercent(), uint64(100*8/4); got > want {
		t.Errorf("a process with 64 MB: the heap may grow by %d %%, want at most %d", got, want)
	}
}

func TestEnvironmentOverridesThePace(t *testing.T) {
	t.Setenv("GOGC", "75")
	defer debug.SetGCPercent(debug.SetGCPercent(75))
	PaceCollector(0)
	if got := setPercent(); got != 75 {
		t.Errorf("%d %%, want 75", got)
	}
}
