package upstream

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/health"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// checks are the settings of the checks of a backend. They do not change. They are a copy: the settings of a backend
// may be a part of a whole configuration, which a Monitor would keep.
type checks struct {
	check config.Check
	keys  *certs.Client // of its TLS; nil: there is no TLS with the servers
	agent config.Agent
}

func (c *checks) any() bool { return c.check.Interval > 0 || c.agent.Port != 0 }

// setChecks takes the settings and keys of a plan. If they are the same, the checks continue as they are.
func (b *Backend) setChecks(p *plan.Backend) {
	if next := (checks{p.Settings.Check, p.Keys, p.Settings.Agent}); b.checks == nil || *b.checks != next {
		plain := next
		plain.check.TLS = false
		b.checks, b.plainChecks = &next, &plain
	}
}

// preload reads the files that checks need, where that may block.
func (d *Directory) preload(b *config.Backend) {
	s := &b.Check
	if s.Interval == 0 || !s.TLS || b.TLS.CA != "" {
		return
	}
	if err := health.Preload(s); err != nil {
		d.Log.Sugar().Warnf("checks with TLS cannot read the system's certificates: %v", err)
	}
}

// checking is the checks of a server.
type checking struct {
	monitor *health.Monitor // nil: the server is not checked
	as      *checks         // what the monitor checks
	known   health.State    // what the process before this one has found out, until the checks begin
	last    atomic.Pointer[stats.Check]
	counts  [len(checkResults)]atomic.Uint64
}

const (
	checkSuccess = iota
	checkFailure
	checkInconclusive // the cause is on this machine
)

var checkResults = [...]string{"success", "failure", "inconclusive"}

// check begins checks of the server, changes their settings, or ends them, as the plan says. due is whether it is to be
// checked at all.
func (s *Server) check(due bool) {
	c, want := &s.checking, s.Backend.checks
	if s.Plain() {
		want = s.Backend.plainChecks
	}
	maintained := s.settings.Load().State == plan.Maintenance
	switch wanted := due && want.any() && !maintained; {
	case !wanted && c.monitor != nil:
		s.stopChecks()
		s.hearAgent(Up, "", 100)
		if maintained && waits(&want.check) { // what was known is of before
			s.hear(voiceCheck, Waiting, unchecked)
		} else {
			s.hear(voiceCheck, Up, "")
		}
	case !wanted && !waits(&want.check) && s.standing.Load().says[voiceCheck] == Waiting:
		s.hear(voiceCheck, Up, "")
	case !wanted:
	case c.monitor == nil:
		s.monitor(want)
	case c.as != want:
		c.as = want
		if want.agent.Port == 0 {
			s.hearAgent(Up, "", 100)
		}
		c.monitor.Configure(&want.check, want.keys, &want.agent)
	}
}

// monitor begins checks of the server.
func (s *Server) monitor(as *checks) {
	d := s.Backend.directory
	cfg := health.Config{
		Loop: d.Loop, Address: s.Address, Check: &as.check, Keys: as.keys, Agent: &as.agent,
		Observer: (*observer)(s), OnCheck: s.checked, Seed: d.seed(s),
	}
	cfg.State, s.checking.known = s.checking.known, health.Falling
	if as.agent.Port != 0 {
		cfg.Report = s.standing.Load().agentReport()
	}
	if s.standing.Load().says[voiceCheck] == Waiting {
		cfg.Soon = s.Backend.soon(&as.check)
		switch {
		case as.check.Interval == 0 || as.check.Initial == "up":
			s.hear(voiceCheck, Up, "")
		case as.check.Initial == "down":
			cfg.State = health.Down
			s.hear(voiceCheck, Down, unchecked)
		}
	}
	s.checking.as, s.checking.monitor = as, new(health.Monitor)
	s.checking.monitor.Start(cfg)
}

// unchecked is the reason of a state that no check has found out.
const unchecked = "its first check has not ended"

// waits reports whether servers have no connections before their first check has ended.
func waits(c *config.Check) bool { return c.Interval > 0 && c.Initial != "up" }

// soon returns the time over which the first checks of servers are spread that wait for them.
func (b *Backend) soon(c *config.Check) time.Duration {
	return max(1, min(time.Duration(len(b.member.servers))*soonEach, c.Timeout/2))
}

// soonEach is the time for each of these checks: 5 000 a second.
const soonEach = 200 * time.Microsecond

// isChecked reports whether checks of the server are made, and not only its agent is asked.
func (s *Server) isChecked() bool {
	return s.checking.monitor != nil && s.checking.as.check.Interval > 0
}

// stopChecks ends the checks. A check that is in flight ends later, and is not heard.
func (s *Server) stopChecks() {
	if m := s.checking.monitor; m != nil {
		m.Stop(func() {})
		s.checking.monitor, s.checking.as = nil, nil
	}
}

// checked counts a check.
func (s *Server) checked(err error, took time.Duration) {
	result := checkSuccess
	switch {
	case errors.Is(err, health.ErrInconclusive):
		result = checkInconclusive
	case err != nil:
		result = checkFailure
	}
	if result != checkInconclusive {
		s.ejection.checked(err == nil, s.Backend.now()-int64(took))
	}
	if result != checkFailure && s.standing.Load().says[voiceCheck] == Waiting {
		s.hear(voiceCheck, Up, "") // what is inconclusive tells nothing against it
	}
	s.checking.counts[result].Add(1)
	s.Backend.checkTime.Observe(int64(took))
	last := &stats.Check{Ended: time.Now().UTC(), Took: stats.Of(took), OK: err == nil}
	if err != nil {
		last.Error = err.Error()
	}
	s.checking.last.Store(last)
}

// observer is a server that is told what checks and its agent say.
type observer Server

// OnHealth takes what the checks say.
func (o *observer) OnHealth(up bool, reason error) {
	if up {
		(*Server)(o).hear(voiceCheck, Up, "")
		return
	}
	(*Server)(o).hear(voiceCheck, Down, fmt.Sprintf("the check has failed: %v", reason))
}

// OnAgent takes what the agent says.
func (o *observer) OnAgent(r health.AgentReport) {
	state, reason := Up, ""
	switch {
	case r.State == health.AgentMaintenance:
		state, reason = Maintenance, "the agent says maint"
	case r.State == health.AgentDrain:
		state, reason = Drain, "the agent says drain"
	case r.Down:
		state, reason = Down, agentDown+r.Reason
	}
	(*Server)(o).hearAgent(state, reason, r.Weight)
}

// agentDown is what the reason of an agent begins with in the reason of its server.
const agentDown = "the agent says it is down: "

// agentReport returns what the agent has said, as far as it is in force: the agent's next words change that.
func (s *standing) agentReport() *health.AgentReport {
	r := &health.AgentReport{Weight: s.agentPercent}
	switch s.says[voiceAgent] {
	case Drain:
		r.State = health.AgentDrain
	case Maintenance:
		r.State = health.AgentMaintenance
	case Down:
		r.Down, r.Reason = true, strings.TrimPrefix(s.reasons[voiceAgent], agentDown)
	}
	return r
}
