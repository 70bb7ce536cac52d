//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// Busy is the CPU time of the loop's thread, in the kernel as well. Sleeping does not count.
func TestBusyIsCPUTime(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		if st := l.Stats(); st.Busy != 0 || st.Waiting != 0 {
			t.Errorf("before Run: %v busy, %v waiting", st.Busy, st.Waiting)
		}
		began := time.Now()
		r := runLoop(t, l)
		s, peer := r.pair()
		defer unix.Close(peer)

		// The kernel copies a large send while it is submitted, in an Enter that may then wait.
		const size, times = 1 << 20, 64
		go func() {
			buf := make([]byte, size)
			for n := 1; n > 0; {
				n, _ = unix.Read(peer, buf)
			}
		}()
		var used int64
		buf, done := make([]byte, size), newResult()
		op := new(reactor.SendOp)
		r.do(func() { used = cpuOfThread(t) })
		before := r.Stats()
		for range times {
			r.do(func() {
				s.SendAll(buf).Connect(op, sinkOf[int](t, done, nil))
				op.Start()
			})
			done.expect(t, "1048576")
		}
		r.do(func() { used = cpuOfThread(t) - used })
		after := r.Stats()
		// It may be more: what long turns take beyond their CPU time, because the thread has to wait for a CPU.
		if busy := after.Busy - before.Busy; int64(busy) < used/2 || busy > time.Since(began) {
			t.Errorf("busy for %v, while the thread used %v", busy, time.Duration(used))
		}

		// An idle loop waits, and is hardly busy.
		idle := r.Stats()
		for deadline := time.Now().Add(patience); idle.Waiting-after.Waiting < 25*time.Millisecond; idle = r.Stats() {
			if time.Now().After(deadline) {
				t.Fatalf("waited for %v without work", idle.Waiting-after.Waiting)
			}
			time.Sleep(time.Millisecond)
		}
		if busy := idle.Busy - after.Busy; busy > 10*time.Millisecond {
			t.Errorf("busy for %v without work", busy)
		}
		r.close(s)
		r.end()
		last := r.Stats()
		if last.Busy < idle.Busy || last.Waiting < idle.Waiting ||
			last.Busy+last.Waiting > time.Since(began)+time.Millisecond {
			t.Errorf("after Run: %v busy, %v waiting; before %v, %v", last.Busy, last.Waiting, idle.Busy, idle.Waiting)
		}
		if again := r.Stats(); again.Busy != last.Busy || again.Waiting != last.Waiting {
			t.Errorf("the clocks run after Run: %v busy, %v waiting", again.Busy, again.Waiting)
		}
	})
}

// cpuOfThread is the CPU time of the calling thread.
func cpuOfThread(t *testing.T) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Error(err)
	}
	return ts.Nano()
}
