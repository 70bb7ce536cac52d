package program

import (
	"fmt"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Timers runs a loop with many sleeps, tickers and deadlines. Other threads stop some of them. Sleeps and tickers are
// reset. Each sleep must complete once: in time, or stopped. Each tick must be on its schedule. A read with a deadline
// must not lose bytes.
func Timers(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	s := &timers{k: k, loop: NewLoop(k)}
	for range 1 + rng.IntN(50) {
		s.sleeps = append(s.sleeps, newSleep(s))
	}
	for range rng.IntN(4) {
		s.ticks = append(s.ticks, newTicks(s))
	}
	s.left = len(s.sleeps) + len(s.ticks)
	all := runLoops(k, []*reactor.Loop{s.loop}, func(l *reactor.Loop) {
		for _, p := range s.sleeps {
			p.start()
		}
		for _, p := range s.ticks {
			p.start()
		}
		for range rng.IntN(3) {
			s.left++
			launch(k, l, s.read, func(*taskRun) { s.left-- })
		}
	})
	for i := range rng.IntN(4) {
		k.Go(fmt.Sprintf("stopper%d", i), func(t *simring.Thread) {
			t.Until(all.Up)
			for s.left != 0 && rng.IntN(10) != 0 {
				if t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(32)))); rng.IntN(2) == 0 {
					left := s.left // when something ends the loop is at work
					t.Until(func() bool { return s.left != left || s.left == 0 })
				}
				s.stopOne()
			}
		})
	}
	k.Go("end", func(t *simring.Thread) {
		t.Until(func() bool { return all.Up() && s.left == 0 })
		all.Stop()
	})
	return func() {
		for i, p := range s.sleeps {
			if p.completed != 1 {
				k.Errorf("sleep %d completed %d times", i, p.completed)
			}
		}
	}
}

type timers struct {
	k      *simring.Kernel
	loop   *reactor.Loop
	sleeps []*sleep
	ticks  []*ticks
	left   int // that have not completed
}

// late is how much later than due a timer may fire: far more than the loop's TimerSlack and its other work.
const late = int64(time.Millisecond)

// stopOne stops a sleep or, sometimes, a ticker. It is called on another thread.
func (s *timers) stopOne() {
	if n := len(s.ticks); n != 0 && s.k.Rand().IntN(4) == 0 {
		s.ticks[s.k.Rand().IntN(n)].stop()
		return
	}
	p := s.sleeps[s.k.Rand().IntN(len(s.sleeps))]
	if !p.stopped {
		p.stopped, p.asked = true, s.k.Now()
	}
	p.source.RequestStop()
}

// sometime draws a time, which may be in the past.
func (s *timers) sometime() int64 {
	d := s.k.Rand().Int64N(1 << s.k.Rand().IntN(34))
	return max(s.k.Now()+d-d/8, 1)
}

// sleep is a sleep with its receiver.
type sleep struct {
	sender.EmptyEnv
	*timers
	op        reactor.SleepOp
	d         time.Duration
	until     bool  // it was given the time, not how long
	since     int64 // when it was started or moved
	due       int64
	source    *stop.Source
	stopped   bool
	asked     int64 // when it was
	completed int
}

func newSleep(s *timers) *sleep {
	p := &sleep{timers: s, d: time.Duration(s.k.Rand().Int64N(1 << s.k.Rand().IntN(34))), source: new(stop.Source)}
	p.until = s.k.Rand().IntN(4) == 0
	return p
}

func (s *sleep) start() {
	s.since = s.k.Now()
	if s.until {
		s.due = s.sometime()
		s.loop.SleepUntil(s.due).Connect(&s.op, s)
	} else {
		s.due = s.since + int64(s.d)
		s.loop.SleepFor(s.d).Connect(&s.op, s)
	}
	s.op.Start()
}

// reset changes when the sleep ends.
func (s *sleep) reset() {
	at := s.sometime()
	switch did := s.op.Reset(at); {
	case did && s.completed != 0:
		s.k.Errorf("a sleep that had completed was reset")
	case did:
		s.since, s.due = s.k.Now(), at
	case s.completed == 0 && !s.stopped:
		s.k.Errorf("a sleep could not be reset")
	}
}

// Env returns the sleep's stop token.
func (s *sleep) Env() sender.Env       { return s }
func (s *sleep) StopToken() stop.Token { return s.source.Token() }

func (s *sleep) SetValue(struct{}) {
	now := s.k.Now()
	if now < s.due || now > max(s.due, s.since)+late {
		s.k.Errorf("a sleep from %d until %d ended at %d", s.since, s.due, now)
	}
	s.end()
	if s.k.Rand().IntN(4) == 0 {
		s.sleeps[s.k.Rand().IntN(len(s.sleeps))].reset()
	}
}

func (s *sleep) SetError(err error) { s.k.Errorf("sleep: %v", err); s.end() }

func (s *sleep) SetStopped() {
	if !s.stopped {
		s.k.Errorf("a sleep was stopped without a stop request")
	}
	s.end()
}

func (s *sleep) end() {
	if now := s.k.Now(); s.stopped && now > s.asked+late {
		s.k.Errorf("a sleep that was stopped at %d ended at %d", s.asked, now)
	}
	s.completed++
	s.left--
}
