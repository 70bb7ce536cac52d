package program

import (
	"fmt"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Timers has a loop with many sleeps, some of which another thread stops. Each must complete once: not
// before its time, or stopped.
func Timers(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	l := NewLoop(k)
	sleeps := make([]*sleep, 1+rng.IntN(50))
	left := len(sleeps)
	for i := range sleeps {
		d := time.Duration(rng.Int64N(1 << rng.IntN(34)))
		sleeps[i] = &sleep{k: k, left: &left, d: d, source: new(stop.Source)}
		l.SleepFor(d).Connect(&sleeps[i].op, sleeps[i])
	}
	up := false
	k.Go("loop", func(*simring.Thread) {
		Ended(k, l, l.Run(func() {
			for _, s := range sleeps {
				s.began = k.Now()
				s.op.Start()
			}
			up = true
		}))
	})
	for i := range rng.IntN(4) {
		k.Go(fmt.Sprintf("stopper%d", i), func(t *simring.Thread) {
			t.Until(func() bool { return up })
			for left != 0 && rng.IntN(10) != 0 {
				t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(32))))
				s := sleeps[rng.IntN(len(sleeps))]
				s.stopped = true
				s.source.RequestStop()
			}
		})
	}
	k.Go("end", func(t *simring.Thread) {
		t.Until(func() bool { return up && left == 0 })
		l.Stop()
	})
	return func() {
		for i, s := range sleeps {
			if s.completed != 1 {
				k.Errorf("sleep %d completed %d times", i, s.completed)
			}
		}
	}
}

// sleep is a sleep with its receiver.
type sleep struct {
	sender.EmptyEnv
	k         *simring.Kernel
	op        reactor.SleepOp
	left      *int
	d         time.Duration
	began     int64
	source    *stop.Source
	stopped   bool
	completed int
}

// Env has the sleep's stop token.
func (s *sleep) Env() sender.Env       { return s }
func (s *sleep) StopToken() stop.Token { return s.source.Token() }

func (s *sleep) SetValue(struct{}) {
	if took := time.Duration(s.k.Now() - s.began); took < s.d {
		s.k.Errorf("slept for %v instead of %v", took, s.d)
	}
	s.end()
}

func (s *sleep) SetError(err error) { s.k.Errorf("sleep: %v", err); s.end() }

func (s *sleep) SetStopped() {
	if !s.stopped {
		s.k.Errorf("a sleep was stopped, and nobody asked for it")
	}
	s.end()
}

func (s *sleep) end() {
	s.completed++
	*s.left--
}
