//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// What arrived while the process was stopped is delivered before the timers that became due meanwhile are called.
func TestLateLoopTakesCompletionsFirst(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		s, peer := r.pair()
		order := newResult()
		var recv reactor.RecvOp
		var sleep reactor.SleepOp
		r.do(func() {
			s.Recv(make([]byte, 8)).Connect(&recv, sinkOf[int](t, order, nil))
			recv.Start()
			r.SleepFor(5*time.Second).Connect(&sleep, sinkOf[struct{}](t, order, nil))
			sleep.Start()
			v.pause = func() time.Duration {
				write(t, peer, []byte("arrived"))
				return 10 * time.Second
			}
		})
		order.expect(t, "7")
		order.expect(t, "{}")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// Timers are held back for a limited number of turns, however much arrives.
func TestLateLoopExpiresTimersEventually(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		var nop reactor.NopOp
		var sleep reactor.SleepOp
		over, done := newResult(), newResult()
		turns, slept := 0, false
		r.do(func() {
			nops := sinkOf[struct{}](t, over, nil)
			nops.value = func(struct{}) {
				if turns++; !slept {
					nop.Start()
				} else {
					over <- "over"
				}
			}
			r.Nop().Connect(&nop, nops)
			sleeps := sinkOf[struct{}](t, done, nil)
			sleeps.value = func(struct{}) {
				slept = true
				done <- "slept"
			}
			r.SleepFor(5*time.Second).Connect(&sleep, sleeps)
			sleep.Start()
			v.pause = func() time.Duration {
				nop.Start()
				return 10 * time.Second
			}
		})
		done.expect(t, "slept")
		over.expect(t, "over")
		r.do(func() {
			if turns < 10 || turns > 200 {
				t.Errorf("the timer was held back for %d turns", turns)
			}
		})
		r.end()
	})
}

// Stalled is the time in which the loop was kept from checking its ring. The time in which it slept as planned is not
// part of it.
func TestStalled(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		var sleep reactor.SleepOp
		done := newResult()
		for _, tc := range []struct {
			name                   string
			sleeps, pauses, blocks time.Duration
			least, most            time.Duration
		}{
			{"asleep", time.Hour, 0, 0, 0, 0},
			{"a little late", time.Second, 1200 * time.Millisecond, 0, 0, 0},
			{"stopped asleep", time.Second, 10 * time.Second, 0, 9 * time.Second, 10 * time.Second},
			{"blocked for a moment", time.Second, 0, 200 * time.Millisecond, 0, 0},
			{"blocked", 20 * time.Second, 0, 10 * time.Second, 10 * time.Second, 20 * time.Second},
		} {
			var before, after int64
			r.do(func() {
				before = r.Stalled()
				r.SleepFor(tc.sleeps).Connect(&sleep, sinkOf[struct{}](t, done, nil))
				sleep.Start()
				if tc.pauses != 0 {
					v.pause = func() time.Duration { return tc.pauses }
				}
				v.time.Add(int64(tc.blocks))
			})
			done.expect(t, "{}")
			r.do(func() { after = r.Stalled() })
			if stalled := time.Duration(after - before); stalled < tc.least || stalled > tc.most {
				t.Errorf("%s: stalled for %v, want %v to %v", tc.name, stalled, tc.least, tc.most)
			}
		}
		r.end()
	})
}
