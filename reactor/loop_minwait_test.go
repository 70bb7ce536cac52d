//go:build linux

package reactor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// A minimum wait delays completions and posts, by no more than itself, and no timer.
func TestMinWait(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		const least = 100 * time.Millisecond
		r := run(t, reactor.LoopConfig{Ring: kind, MinWait: least})
		defer r.end()
		const nap = 5 * time.Millisecond
		late := make(chan time.Duration, 1)
		r.do(func() {
			start := r.Clock()
			op := new(reactor.SleepOp)
			r.SleepFor(nap).Connect(op, &sink[struct{}]{t: t, value: func(struct{}) {
				late <- time.Duration(r.Clock()-start) - nap
			}})
			op.Start()
		})
		if by := <-late; by >= least/2 {
			t.Errorf("a timer is late by %v", by)
		}
		for began := time.Now(); ; { // until a post finds the loop asleep
			start := time.Now()
			r.do(func() {})
			took := time.Since(start)
			if took >= least/2 {
				break
			}
			if time.Since(began) > patience {
				t.Fatalf("no post was delayed; the last one took %v", took)
			}
		}
	})
}

// plainRing is a ring without the optional methods.
type plainRing struct{ host.Ring }

func TestMinWaitNeedsTheRing(t *testing.T) {
	ring, err := uring.New(uring.Config{})
	testenv.NeedIOUring(t, err)
	defer ring.Close()
	cfg := reactor.LoopConfig{MinWait: time.Millisecond}
	if _, err := reactor.NewLoopOn(plainRing{ring}, nil, cfg); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestMinWaitIsBounded(t *testing.T) {
	for _, d := range []time.Duration{-1, 100 * time.Nanosecond, time.Hour} {
		l, err := reactor.NewLoop(reactor.LoopConfig{MinWait: d})
		if err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%v: %v", d, err)
			_ = l.Discard()
		}
	}
}
