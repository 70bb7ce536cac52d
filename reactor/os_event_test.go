//go:build linux

package reactor_test

import (
	"errors"
	"io/fs"
	"sync"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

func (r *running) event() *reactor.Event {
	r.t.Helper()
	e := new(reactor.Event)
	var err error
	r.do(func() { err = e.Open(r.Loop) })
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func TestEvent(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		e, op := r.event(), new(reactor.EventWaitOp)
		wait := begin[uint64](r, e.Wait(), op, nil)
		wait.none(t)
		if err := e.Signal(3); err != nil {
			t.Error(err)
		}
		wait.expect(t, "3")
		if err := errors.Join(e.Signal(1), e.Signal(41)); err != nil {
			t.Error(err)
		}
		if n := must[uint64](r, e.Wait(), op); n != 42 {
			t.Errorf("the count was %d", n)
		}
		source := new(stop.Source)
		wait = begin[uint64](r, e.Wait(), op, source)
		source.RequestStop()
		wait.expect(t, "stopped")
		wait = begin[uint64](r, e.Wait(), op, nil)
		must[struct{}](r, e.Close(), new(reactor.CloseOp))
		wait.expect(t, "error: use of a closed descriptor")
		if err := e.Signal(1); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a signal after the close: %v", err)
		}
	})
}

// No signal is lost, from whichever thread it comes, with all the credit or a little.
func TestEventMany(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		for _, credit := range []int{1, reactor.Unlimited} {
			e, op, res, source := r.event(), new(reactor.EventManyOp), newResult(), new(stop.Source)
			const senders, each = 4, 1000
			sum, all := uint64(0), make(chan bool, 1)
			r.do(func() {
				e.Many(credit).Connect(op, seqSinkOf(t, res, source, func(n uint64) {
					if sum += n; sum == senders*each {
						all <- true
					}
					// Later, so that it waits in between.
					w := newWork(func() { op.Grant(1) }, func() {})
					r.Enqueue(&w.Work)
				}))
				op.Start()
			})
			var wg sync.WaitGroup
			for range senders {
				wg.Go(func() {
					for range each {
						if err := e.Signal(1); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			<-all
			r.settle()
			source.RequestStop()
			res.expect(t, "stopped")
			if sum != senders*each {
				t.Errorf("%d signals have come", sum)
			}
			must[struct{}](r, e.Close(), new(reactor.CloseOp))
		}
	})
}

// An Event that was never opened is as one that is closed.
func TestSignalOfNoEvent(t *testing.T) {
	if err := new(reactor.Event).Signal(1); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Signal: %v", err)
	}
}
