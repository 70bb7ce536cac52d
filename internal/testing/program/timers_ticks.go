package program

import (
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// ticks is a ticker with its receiver, which stops it after a number of ticks.
type ticks struct {
	sender.EmptyEnv
	*timers
	op      reactor.EveryOp
	pause   reactor.SleepOp // until there is credit again
	source  *stop.Source
	period  int64
	first   int64 // 0: a period after the start
	next    int64 // the next intended time
	spread  int64 // by how much later it may be: until the first tick
	since   int64 // when the schedule was set, or there was credit again
	credit  int
	wanted  int // ticks
	stopped bool
	ended   bool
}

func newTicks(s *timers) *ticks {
	rng := s.k.Rand()
	t := &ticks{timers: s, source: new(stop.Source), credit: 1 + rng.IntN(4), wanted: 1 + rng.IntN(20)}
	t.period = t.somePeriod()
	if rng.IntN(2) == 0 {
		t.first = t.sometime()
	}
	return t
}

func (t *ticks) somePeriod() int64 { return 1 + t.k.Rand().Int64N(1<<t.k.Rand().IntN(30)) }

func (t *ticks) start() {
	every := t.loop.Every(time.Duration(t.period), t.credit)
	t.since, t.next = t.k.Now(), t.k.Now()+t.period
	if t.first != 0 {
		every, t.next = every.From(t.first), t.first
	}
	every.Connect(&t.op, t)
	t.loop.SleepFor(time.Duration(t.somePeriod())).Connect(&t.pause, (*pause)(t))
	if t.op.Start(); t.first == 0 {
		t.spread = t.k.Now() - t.since
	}
}

func (t *ticks) stop() {
	t.stopped = true
	t.source.RequestStop()
}

// Env returns the stop token.
func (t *ticks) Env() sender.Env       { return t }
func (t *ticks) StopToken() stop.Token { return t.source.Token() }

func (t *ticks) SetNext(tick reactor.Tick) {
	if first := tick.At - int64(tick.Missed)*t.period; first > t.next && first <= t.next+t.spread {
		t.next = first
	}
	t.spread = 0
	t.judge(tick)
	t.next, t.credit = tick.At+t.period, t.credit-1
	if t.wanted--; t.wanted <= 0 {
		t.stop()
		return
	}
	if t.k.Rand().IntN(6) == 0 {
		t.reset()
	}
	switch {
	case t.credit == 0:
		t.pause.Start()
	case t.k.Rand().IntN(2) == 0:
		t.credit++
		t.op.Grant(1)
	}
	if t.k.Rand().IntN(4) == 0 {
		t.sleeps[t.k.Rand().IntN(len(t.sleeps))].reset()
	}
}

// judge asserts that a tick is on the schedule, the last that is due, and neither too early nor too late.
func (t *ticks) judge(tick reactor.Tick) {
	now := t.k.Now()
	switch {
	case t.wanted <= 0 || t.ended:
		t.k.Errorf("a tick after the end")
	case t.credit <= 0:
		t.k.Errorf("a tick without credit")
	case tick.At != t.next+int64(tick.Missed)*t.period:
		t.k.Errorf("a tick %+v instead of one at %d, or a multiple of %d later", tick, t.next, t.period)
	case tick.At > now || tick.At+t.period <= t.loop.Now():
		t.k.Errorf("a tick %+v is not the last that was due at %d, with a period of %d", tick, t.loop.Now(), t.period)
	case now > max(t.next, t.since)+late:
		t.k.Errorf("a tick that was due at %d came at %d", max(t.next, t.since), now)
	}
}

// reset sets another schedule.
func (t *ticks) reset() {
	t.next, t.period, t.since, t.spread = t.sometime(), t.somePeriod(), t.k.Now(), 0
	t.op.Reset(t.next, time.Duration(t.period))
}

func (t *ticks) SetValue(struct{})  { t.k.Errorf("ticks completed with a value") }
func (t *ticks) SetError(err error) { t.k.Errorf("ticks: %v", err) }
func (t *ticks) SetStopped() {
	if t.left--; t.ended || !t.stopped {
		t.k.Errorf("ticks were stopped without a stop request, or twice")
	}
	t.ended = true
}

// pause is ticks as the receiver of the sleep after which there is credit again.
type pause ticks

func (p *pause) SetValue(struct{}) {
	t := (*ticks)(p)
	if t.ended {
		return
	}
	n := 1 + t.k.Rand().IntN(3)
	t.credit, t.since = t.credit+n, t.k.Now()
	t.op.Grant(n)
}

func (p *pause) SetError(err error) { p.k.Errorf("sleep: %v", err) }
func (p *pause) SetStopped()        {}
func (p *pause) Env() sender.Env    { return sender.EmptyEnv{} }
