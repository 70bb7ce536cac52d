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

// Observer receives the results of a [Monitor] on its loop. It may call any method of the Monitor.
type Observer interface {
	// OnHealth is called when the server goes up or down, with the error of the last check.
	OnHealth(up bool, reason error)
	// OnAgent is called when the agent's report changes. The report is complete.
	OnAgent(AgentReport)
}

// Config configures a Monitor.
type Config struct {
	Loop     *reactor.Loop
	Address  serveraddr.Addr
	Check    *config.Check // nil or without an interval: no checks
	Keys     *certs.Client // for checks with TLS; nil means the system's authorities
	Agent    *config.Agent // nil or without a port: no agent
	Observer Observer
	// OnCheck is called after each check, before the Observer, with the error of [Check]. It may be nil, and must not
	// stop the Monitor.
	OnCheck func(err error, took time.Duration)
	Seed    uint64 // makes the jitter reproducible; 0 means random
	// State is the known state of the server: Up, Down, or else Falling, the zero value.
	State State
	// Report is the agent's last report. It may be nil.
	Report *AgentReport
	// Soon is the time within which the first check is made. 0 means the interval.
	Soon time.Duration
}

// Monitor checks a server and asks its agent repeatedly. The zero Monitor is ready for Start. All methods are called
// on the loop. It must not be copied.
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
	stop   stop.Source // of the checks in flight
	done   func()      // called by Stop
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

// Status is the status of a Monitor's server.
type Status struct {
	State        State
	Since        int64         // when State began, on the loop's clock
	Checked      int64         // when the last check ended; 0 if none has
	Took         time.Duration // duration of the last check
	Err          error         // error of the last check
	Checks       uint64        // completed checks
	Failures     uint64        // failed checks
	Inconclusive uint64        // inconclusive checks
	Agent        AgentReport
	AgentErr     error // error of the last question
}

// Start starts monitoring a server. An unknown server counts as up, and goes down on its first failure. The first
// check is made after a random part of the interval, to spread the checks of many servers, or within Config.Soon.
func (m *Monitor) Start(cfg Config) {
	if m.life != idle {
		panic("health: Start of a Monitor that runs: call Stop first, and wait for its end")
	}
	m.life = running
	m.cfg = cfg
	m.stop.Reset()
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

// first sets the timers of the first check and the first question.
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

// Configure replaces the settings, from the next check on, and keeps the state. Without checks, the server is up.
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

// Suspect reacts to failures that others have seen: it checks the server as soon as the interval of a changing state
// allows, and lets one failure take it down. If a check is in flight, that one decides.
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

// Stop ends the monitoring. Once nothing is in flight it calls done, possibly inside Stop. The Observer is not called
// again.
func (m *Monitor) Stop(done func()) {
	if m.life != running {
		panic("health: Stop of a Monitor that does not run")
	}
	m.life, m.done = stopping, done
	for _, j := range []*job{&m.check, &m.agent} {
		m.cfg.Loop.StopTimer(&j.timer)
	}
	m.stop.RequestStop()
	m.ended()
}

// ended completes Stop once nothing is in flight.
func (m *Monitor) ended() {
	if m.life != stopping || m.check.inFlight || m.agent.inFlight {
		return
	}
	m.life = idle
	done := m.done
	m.done = nil
	done()
}

// Status returns what the Monitor knows of the server.
func (m *Monitor) Status() Status { return m.status }

// below returns a random number from 0 to n-1.
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

// reported handles a report of the agent.
func (m *Monitor) reported(r AgentReport) {
	if r != m.status.Agent {
		m.status.Agent = r
		m.cfg.Observer.OnAgent(r)
	}
}

// checking is the Monitor's job of checking.
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
	if c.period() == 0 { // reconfigured a moment ago
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
	if c.period() == 0 { // checks were disabled meanwhile
		return
	}
	m.become(m.health.next(err == nil, max(1, m.cfg.Check.Rise), m.fall()), err)
}

// asking is the Monitor's job of asking the agent.
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

// recurring is the task that a job repeats.
type recurring interface {
	period() time.Duration   // usual time between two runs; 0 if disabled
	interval() time.Duration // time to the next run, in the current state; 0 if period is
	do(t *task.T) error
	outcome(err error, took time.Duration) // handles the result, unless it was stopped
}

// minInterval limits what bad settings can do.
const minInterval = time.Millisecond

// job runs a task of a Monitor after each interval, so that a server has no coroutine between runs. It is the
// receiver of the task and its environment.
type job struct {
	sender.EmptyEnv
	m        *Monitor
	task     recurring
	timer    reactor.Timer
	op       task.Op
	began    int64
	inFlight bool
	report   AgentReport // result of asking
}

func (j *job) init(m *Monitor, what recurring) {
	j.m, j.task = m, what
	j.timer.Init(j)
}

// OnTimer starts a run.
func (j *job) OnTimer(now int64) {
	j.began, j.inFlight = now, true
	task.New(j.task.do).Connect(&j.op, j).Start()
}

// ended handles the end of the task.
func (j *job) ended(err error) {
	j.inFlight = false
	m := j.m
	if m.life != running {
		m.ended()
		return
	}
	if errors.Is(err, sender.ErrStopped) || !j.op.Began() {
		return // the loop is draining
	}
	now := m.cfg.Loop.Now()
	j.task.outcome(err, time.Duration(now-j.began))
	if m.life != running || j.task.period() == 0 || j.inFlight || j.timer.Pending() {
		return // changed by the observer
	}
	d := int64(max(j.task.interval(), minInterval))
	d += m.below(d/5+1) - d/10
	m.cfg.Loop.SetTimer(&j.timer, max(j.began+d, now))
}

// SetValue handles a healthy server, or an answer of the agent.
func (j *job) SetValue(struct{}) { j.ended(nil) }

// SetError handles a failure.
func (j *job) SetError(err error) {
	if fault, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(fault)
	}
	j.ended(err)
}

// SetStopped handles Stop, or a loop that drains.
func (j *job) SetStopped() { j.ended(sender.ErrStopped) }

// Env returns the environment of the task.
func (j *job) Env() sender.Env { return j }

// Scheduler returns the loop.
func (j *job) Scheduler() sender.Scheduler { return j.m.cfg.Loop }

// StopToken returns the token of Stop.
func (j *job) StopToken() stop.Token { return j.m.stop.Token() }
