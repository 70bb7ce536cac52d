package health

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// Observer is told what a [Monitor] finds out, on its loop. It may call any method of the Monitor.
type Observer interface {
	// OnHealth tells that the server has gone up or down, and why it is down: the error of the last check.
	OnHealth(up bool, reason error)
	// OnAgent tells that the agent has said something new. The report is all that it has said so far.
	OnAgent(AgentReport)
}

// Config is what a Monitor monitors.
type Config struct {
	Loop     *reactor.Loop
	Address  serveraddr.Addr
	Check    *config.Check // without an interval, or nil: no checks
	Keys     *certs.Client // of checks with TLS; nil: they have the system's authorities
	Agent    *config.Agent // without a port, or nil: no agent
	Observer Observer
	// OnCheck is called after each check, before the Observer: with nil if the server is healthy, with an error that
	// matches ErrInconclusive, or with why it is not. It may be nil, and does not stop the Monitor.
	OnCheck func(err error, took time.Duration)
	Seed    uint64 // makes the jitter reproducible; 0: it is random
	// State is what is known of the server: Up, Down, or Falling, the zero value, if nothing is.
	State State
	// Report is what the agent has said before; nil: nothing.
	Report *AgentReport
	// Soon is the time within which the first check is made. 0: within the interval.
	Soon time.Duration
}

// Monitor checks a server again and again, and asks its agent. The zero Monitor is ready for Start. All methods are
// called on the loop. It must not be copied.
//
// States of a Monitor:
//
//	idle     → running    Start
//	running  → stopping   Stop, while a check is in flight
//	running  → idle       Stop
//	stopping → idle       the last check has ended
type Monitor struct {
	cfg    Config
	life   lifeState
	source stop.Source // of the checks in flight
	done   func()      // of Stop
	random rand.PCG
	health streak
	status Status
	check  job
	agent  job
}

type lifeState uint8

const (
	idle lifeState = iota
	running
	stopping
)

// Status is what a Monitor has found out.
type Status struct {
	State        State
	Since        int64         // of State, in nanoseconds as of Loop.Now
	Checked      int64         // when the last check ended; 0: never
	Took         time.Duration // how long it took
	Err          error         // its error
	Checks       uint64        // that have ended
	Failures     uint64        // of these
	Inconclusive uint64        // of these
	Agent        AgentReport
	AgentErr     error // of the last question
}

// Start begins to monitor a server. If nothing is known of it, it counts as up and is down after one failure. The first
// check is made after a random part of the interval, so that those of many servers are spread over it, or within
// Config.Soon.
func (m *Monitor) Start(cfg Config) {
	if m.life != idle {
		panic("health: Start of a Monitor that runs: call Stop first, and wait for its end")
	}
	m.life = running
	m.cfg = cfg
	m.source.Reset()
	m.random.Seed(cmp.Or(cfg.Seed, rand.Uint64()), 0)
	m.status = Status{Since: cfg.Loop.Now(), Agent: unreported}
	if cfg.Report != nil {
		m.status.Agent = *cfg.Report
	}
	m.check.init(m, (*checking)(m))
	m.agent.init(m, (*asking)(m))
	if m.health = newStreak(m.fall()); cfg.State != Falling {
		m.health = streak{state: cfg.State}
	}
	m.status.State = m.health.state
	m.first()
}

// first sets the timers of the first check and question.
func (m *Monitor) first() {
	for _, j := range []*job{&m.check, &m.agent} {
		d := j.task.period()
		if j == &m.check && m.status.Checks == 0 && m.cfg.Soon > 0 {
			d = min(d, m.cfg.Soon)
		}
		if d > 0 && !j.inFlight && !j.timer.Pending() {
			m.cfg.Loop.SetTimer(&j.timer, m.cfg.Loop.Clock()+m.below(int64(d)))
		}
	}
}

// Configure replaces the settings, from the next check on. What was found out stays. If there are no checks any more,
// the server is up.
func (m *Monitor) Configure(check *config.Check, keys *certs.Client, agent *config.Agent) {
	m.cfg.Check, m.cfg.Keys, m.cfg.Agent = check, keys, agent
	if m.life != running {
		return
	}
	for _, j := range []*job{&m.check, &m.agent} {
		m.cfg.Loop.StopTimer(&j.timer)
	}
	m.first()
	if m.check.task.period() == 0 {
		m.become(newStreak(m.fall()), nil)
	}
	if m.agent.task.period() == 0 {
		m.reported(unreported)
	}
}

// Suspect checks the server as soon as the interval of a changing state allows, and lets one failure take it down:
// others have found that it fails. A check that is in flight decides.
func (m *Monitor) Suspect() {
	j := &m.check
	if m.life != running || j.task.period() == 0 || !m.health.state.Healthy() {
		return
	}
	m.become(newStreak(m.fall()), nil)
	if at := j.began + int64(j.task.interval()); !j.inFlight && (!j.timer.Pending() || at < j.timer.Deadline()) {
		m.cfg.Loop.SetTimer(&j.timer, max(at, m.cfg.Loop.Now()))
	}
}

// Stop ends the monitoring. When nothing is in flight any more it calls done, possibly inside Stop. The Observer is
// not called any more.
func (m *Monitor) Stop(done func()) {
	if m.life != running {
		panic("health: Stop of a Monitor that does not run")
	}
	m.life, m.done = stopping, done
	for _, j := range []*job{&m.check, &m.agent} {
		m.cfg.Loop.StopTimer(&j.timer)
	}
	m.source.RequestStop()
	m.ended()
}

// ended ends Stop if nothing is in flight.
func (m *Monitor) ended() {
	if m.life != stopping || m.check.inFlight || m.agent.inFlight {
		return
	}
	m.life = idle
	done := m.done
	m.done = nil
	done()
}

// Status is what has been found out.
func (m *Monitor) Status() Status { return m.status }

// below draws a number from 0 to n-1.
func (m *Monitor) below(n int64) int64 {
	return int64(m.random.Uint64() % uint64(n))
}

func (m *Monitor) fall() int {
	if m.cfg.Check == nil {
		return 1
	}
	return max(1, m.cfg.Check.Fall)
}

// become changes the state of the server.
func (m *Monitor) become(next streak, reason error) {
	before := m.health.state
	m.health = next
	if next.state == before {
		return
	}
	m.status.State, m.status.Since = next.state, m.cfg.Loop.Now()
	if up := next.state.Healthy(); up != before.Healthy() {
		m.cfg.Observer.OnHealth(up, reason)
	}
}

// reported takes what the agent has said.
func (m *Monitor) reported(r AgentReport) {
	if r != m.status.Agent {
		m.status.Agent = r
		m.cfg.Observer.OnAgent(r)
	}
}

// checking is a Monitor that checks.
type checking Monitor

func (c *checking) period() time.Duration {
	if c.cfg.Check == nil {
		return 0
	}
	return max(c.cfg.Check.Interval, 0)
}

func (c *checking) interval() time.Duration {
	if c.period() == 0 {
		return 0
	}
	s := c.cfg.Check
	switch c.health.state {
	case Falling, Rising:
		return cmp.Or(s.FastInterval, max(s.Interval/5, 1))
	case Down:
		return cmp.Or(s.DownInterval, s.Interval)
	}
	return s.Interval
}

func (c *checking) do(t *task.T) error {
	if c.period() == 0 { // since a moment ago
		return ErrInconclusive
	}
	return Check(t, c.cfg.Address, c.cfg.Check, c.cfg.Keys)
}

func (c *checking) outcome(err error, took time.Duration) {
	m := (*Monitor)(c)
	m.status.Checks++
	m.status.Checked, m.status.Took, m.status.Err = m.cfg.Loop.Now(), took, err
	if m.cfg.OnCheck != nil {
		m.cfg.OnCheck(err, took)
	}
	switch {
	case errors.Is(err, ErrInconclusive):
		m.status.Inconclusive++
		return
	case err != nil:
		m.status.Failures++
	}
	if c.period() == 0 { // there are no checks any more
		return
	}
	m.become(m.health.next(err == nil, max(1, m.cfg.Check.Rise), m.fall()), err)
}

// asking is a Monitor that asks the agent.
type asking Monitor

func (a *asking) interval() time.Duration { return a.period() }

func (a *asking) period() time.Duration {
	s := a.cfg.Agent
	if s == nil || s.Port == 0 {
		return 0
	}
	return cmp.Or(s.Interval, 2*time.Second)
}

func (a *asking) do(t *task.T) (err error) {
	if a.period() == 0 {
		return ErrInconclusive
	}
	a.agent.report, err = AskAgent(t, a.cfg.Address, a.cfg.Agent, a.status.Agent)
	return err
}

func (a *asking) outcome(err error, _ time.Duration) {
	m := (*Monitor)(a)
	if m.status.AgentErr = err; err == nil {
		m.reported(m.agent.report)
	}
}

// recurring is what a job does again and again.
type recurring interface {
	period() time.Duration   // usually between two times; 0: it is not done
	interval() time.Duration // to the next time, as things are; 0 if period is
	do(t *task.T) error
	outcome(err error, took time.Duration) // of what was not stopped
}

// minInterval bounds what bad settings can do.
const minInterval = time.Millisecond

// job is something that a Monitor does after each interval, in a task of its own, so that a server that is not being
// asked has no coroutine. It is the receiver of the task, and the environment of that.
type job struct {
	sender.EmptyEnv
	m        *Monitor
	task     recurring
	timer    reactor.Timer
	op       task.Op
	began    int64
	inFlight bool
	report   AgentReport // of asking
}

func (j *job) init(m *Monitor, what recurring) {
	j.m, j.task = m, what
	j.timer.Init(j)
}

// OnTimer begins.
func (j *job) OnTimer(now int64) {
	j.began, j.inFlight = now, true
	task.New(j.task.do).Connect(&j.op, j).Start()
}

// ended is called when the task has ended.
func (j *job) ended(err error) {
	j.inFlight = false
	m := j.m
	if m.life != running {
		m.ended()
		return
	}
	if errors.Is(err, sender.ErrStopped) || !j.op.Began() {
		return // the loop drains
	}
	now := m.cfg.Loop.Now()
	j.task.outcome(err, time.Duration(now-j.began))
	if m.life != running || j.task.period() == 0 || j.inFlight || j.timer.Pending() {
		return // the observer has changed that
	}
	d := int64(max(j.task.interval(), minInterval))
	d += m.below(d/5+1) - d/10
	m.cfg.Loop.SetTimer(&j.timer, max(j.began+d, now))
}

// SetValue says that the server is healthy, or that the agent has answered.
func (j *job) SetValue(struct{}) { j.ended(nil) }

// SetError says why not.
func (j *job) SetError(err error) {
	if fault, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(fault)
	}
	j.ended(err)
}

// SetStopped is called after Stop, or when the loop drains.
func (j *job) SetStopped() { j.ended(sender.ErrStopped) }

// Env is the environment of the task.
func (j *job) Env() sender.Env { return j }

// Scheduler is the loop.
func (j *job) Scheduler() sender.Scheduler { return j.m.cfg.Loop }

// StopToken is Stop's.
func (j *job) StopToken() stop.Token { return j.m.source.Token() }
