//go:build linux

package reactor_test

import (
	"errors"
	"io"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

func TestOffload(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		op := new(reactor.OffloadOp[string])
		if got := must[string](r, reactor.Offload(r.Loop, func() (string, error) { return "done", nil }), op); got != "done" {
			t.Errorf("got %q", got)
		}
		fail := reactor.Offload(r.Loop, func() (string, error) { return "", io.ErrNoProgress })
		if o := finish[string](r, fail, op); !errors.Is(o.err, io.ErrNoProgress) {
			t.Errorf("completed with %v", o)
		}
	})
}

// No more run at a time than may, in order, and those that have not begun can be stopped.
func TestOffloadIsBounded(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, MaxOffloads: 2})
		const n = 20
		var ops [n]reactor.OffloadOp[int]
		var running, most atomic.Int32
		begun, gate := make(chan bool, n), make(chan bool)
		res := make([]result, n)
		source := new(stop.Source)
		r.do(func() {
			for i := range ops {
				res[i] = newResult()
				f := func() (int, error) {
					now := running.Add(1)
					for old := most.Load(); old < now && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					begun <- true
					<-gate
					running.Add(-1)
					return i, nil
				}
				token := source
				if i != 1 && i != 7 {
					token = nil
				}
				reactor.Offload(r.Loop, f).Connect(&ops[i], sinkOf[int](t, res[i], token))
				ops[i].Start()
			}
		})
		<-begun
		<-begun
		r.settle()
		source.RequestStop() // 1 has begun and 7 has not
		res[7].expect(t, "stopped")
		close(gate)
		for i := range ops {
			if i != 7 {
				res[i].expect(t, strconv.Itoa(i))
			}
		}
		if most.Load() != 2 {
			t.Errorf("%d ran at a time", most.Load())
		}
		r.end()
	})
}

// A loop that is stopped waits for what has begun, and lets nothing else begin.
func TestOffloadDrains(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, MaxOffloads: 1})
		var ops [2]reactor.OffloadOp[int]
		begun, gate := make(chan bool, 2), make(chan bool)
		first, second := newResult(), newResult()
		r.do(func() {
			for i, res := range []result{first, second} {
				wait := func() (int, error) { begun <- true; <-gate; return i, nil }
				reactor.Offload(r.Loop, wait).Connect(&ops[i], sinkOf[int](t, res, nil))
				ops[i].Start()
			}
		})
		<-begun
		r.Stop()
		second.expect(t, "stopped")
		if len(r.ended) != 0 {
			t.Error("Run returned before the func")
		}
		close(gate)
		first.expect(t, "0")
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if len(begun) != 0 {
			t.Error("a func began after the stop")
		}
	})
}

// What is stopped before its turn leaves its place in the queue, wherever that is, and the others keep theirs.
func TestOffloadLeavesTheQueue(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, MaxOffloads: 1})
		var ops [6]reactor.OffloadOp[int]
		var sources [6]stop.Source
		begun, gate, done := make(chan bool, len(ops)), make(chan bool), newResult()
		r.do(func() {
			for i := range ops {
				s := reactor.Offload(r.Loop, func() (int, error) { begun <- true; <-gate; return i, nil })
				s.Connect(&ops[i], sinkOf[int](t, done, &sources[i]))
				ops[i].Start()
			}
		})
		<-begun
		for left, i := range []int{1, 3, 5} { // the first of the queue, one in the middle, the last
			r.do(func() { sources[i].RequestStop() })
			done.expect(t, "stopped")
			r.do(func() {
				if n := r.JobsQueued(); n != 4-left {
					t.Errorf("%d are queued, want %d", n, 4-left)
				}
			})
		}
		close(gate)
		for _, want := range []string{"0", "2", "4"} {
			done.expect(t, want)
		}
		r.end()
	})
}

// A func that ends its goroutine, as a test's FailNow does, ends the operation.
func TestOffloadOfGoexit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, MaxOffloads: 1})
		op := new(reactor.OffloadOp[int])
		for range 2 {
			o := finish[int](r, reactor.Offload(r.Loop, func() (int, error) {
				runtime.Goexit()
				return 7, nil
			}), op)
			if !errors.Is(o.err, sender.ErrGoexit) {
				t.Errorf("completed with %v", o)
			}
		}
		if v := must[int](r, reactor.Offload(r.Loop, func() (int, error) { return 7, nil }), op); v != 7 {
			t.Errorf("then with %d", v)
		}
		r.end()
	})
}
