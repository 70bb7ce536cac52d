package upstream

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/health"
)

// checks holds a backend's check settings. It is immutable, and a copy: the settings of a backend may be part of a
// whole configuration, which a Monitor would keep alive.
type checks struct {
	check config.Check
	keys  *certs.Client // of its TLS; nil without TLS
	agent config.Agent
}

// same reports whether both are the same settings with the same keys.
func (c *checks) same(other *checks) bool {
	return c.keys == other.keys && c.agent == other.agent && reflect.DeepEqual(c.check, other.check)
}

func (c *checks) any() bool { return c.check.Interval > 0 || c.agent.Port != 0 }

// setChecks adopts the settings and keys of a plan. If they are unchanged, the checks continue.
func (b *Backend) setChecks(p *plan.Backend) {
	if next := (checks{p.Settings.Check, p.Keys, p.Settings.Agent}); b.checks == nil || !b.checks.same(&next) {
		plain := next
		plain.check.TLS = false
		b.checks, b.plainChecks = &next, &plain
	}
}

// preload reads the files that checks need, on a goroutine that may block.
func (d *Directory) preload(b *config.Backend) {
	s := &b.Check
	if s.Interval == 0 || !s.TLS || b.TLS.CA != "" {
		return
	}
	if err := health.Preload(s); err != nil {
		d.Log.Sugar().Warnf("cannot read the system's certificates for health checks: %v", err)
	}
}

// checking holds the checks of a server.
type checking struct {
	monitor   *health.Monitor // nil while the server is not checked
	as        *checks         // the monitor's settings
	own       *checks         // the backend's with those of the server; nil if it has none
	inherited health.State    // handed over by the previous process, until the checks begin
	last      atomic.Pointer[stats.Check]
	counts    [len(checkResults)]atomic.Uint64
}

const (
	checkSuccess = iota
	checkFailure
	checkInconclusive // caused by this machine
)

var checkResults = [...]string{"success", "failure", "inconclusive"}

// check starts, reconfigures or stops the checks of the server, as its plan says. due tells whether it should be
// checked at all.
func (s *Server) check(due bool) {
	c, want := &s.checking, s.wantedChecks()
	maintained := s.plan.Load().State == plan.Maintenance
	switch wanted := due && want.any() && !maintained; {
	case !wanted && c.monitor != nil:
		s.stopChecks()
		s.reportAgent(Up, "", 100)
		if maintained && waits(&want.check) { // what was known is stale
			s.report(signalCheck, Waiting, reasonUnchecked)
		} else {
			s.report(signalCheck, Up, "")
		}
	case !wanted && !waits(&want.check) && s.status.Load().states[signalCheck] == Waiting:
		s.report(signalCheck, Up, "")
	case !wanted:
	case c.monitor == nil:
		s.monitor(want)
	case c.as != want:
		c.as = want
		if want.agent.Port == 0 {
			s.reportAgent(Up, "", 100)
		}
		c.monitor.Configure(&want.check, want.keys, s.agent(want))
	}
}

// wantedChecks returns the settings of the server's checks: those of the backend, or with what it has of its own.
func (s *Server) wantedChecks() *checks {
	p, base := s.plan.Load(), s.Backend.checks
	if p.Plain {
		base = s.Backend.plainChecks
	}
	if p.Check == nil && p.Agent == nil {
		s.checking.own = nil
		return base
	}
	own := p.WithChecks(&config.Backend{Check: base.check, Agent: base.agent})
	next := checks{own.Check, base.keys, own.Agent}
	if s.checking.own == nil || !s.checking.own.same(&next) {
		s.checking.own = &next
	}
	return s.checking.own
}

// agent returns the settings of the server's agent; nil for a unix socket, where no agent can be.
func (s *Server) agent(as *checks) *config.Agent {
	if s.Address.IsUnix() {
		return nil
	}
	return &as.agent
}

// monitor starts checks of the server.
func (s *Server) monitor(as *checks) {
	d := s.Backend.directory
	cfg := health.Config{
		Loop: d.Loop, Address: s.Address, Check: &as.check, Keys: as.keys, Agent: s.agent(as),
		Observer: (*observer)(s), OnCheck: s.checked, Seed: d.seed(s),
	}
	cfg.State, s.checking.inherited = s.checking.inherited, health.Falling
	if as.agent.Port != 0 {
		cfg.Report = s.status.Load().agentReport()
	}
	if s.status.Load().states[signalCheck] == Waiting {
		cfg.Soon = s.Backend.firstCheckSpread(&as.check)
		switch {
		case as.check.Interval == 0 || as.check.Initial == config.InitiallyUp:
			s.report(signalCheck, Up, "")
		case as.check.Initial == config.InitiallyDown:
			cfg.State = health.Down
			s.report(signalCheck, Down, reasonUnchecked)
		}
	}
	s.checking.as, s.checking.monitor = as, new(health.Monitor)
	s.checking.monitor.Start(cfg)
}

// reasonUnchecked is the reason of a state before its first check.
const reasonUnchecked = "first check pending"

// waits reports whether servers get no connections before their first check.
func waits(c *config.Check) bool { return c.Interval > 0 && c.Initial != config.InitiallyUp }

// firstCheckSpread returns the time over which to spread the first checks of waiting servers.
func (b *Backend) firstCheckSpread(c *config.Check) time.Duration {
	return max(1, min(time.Duration(len(b.member.servers))*firstCheckSpacing, c.Timeout/2))
}

// firstCheckSpacing is the time per first check: 5 000 a second.
const firstCheckSpacing = 200 * time.Microsecond

// isChecked reports whether the server is checked, not merely asked by its agent.
func (s *Server) isChecked() bool {
	return s.checking.monitor != nil && s.checking.as.check.Interval > 0
}

// stopChecks ends the checks. The result of a check in flight is ignored.
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
	if result != checkFailure && s.status.Load().states[signalCheck] == Waiting {
		s.report(signalCheck, Up, "") // an inconclusive check does not count against it
	}
	s.checking.counts[result].Add(1)
	s.Backend.checkTime.Observe(int64(took))
	s.Backend.directory.CheckTime.Observe(int64(took))
	last := &stats.Check{Ended: time.Now().UTC(), Took: stats.Of(took), OK: err == nil}
	if err != nil {
		last.Error = err.Error()
	}
	s.checking.last.Store(last)
}

// observer lets a server receive the results of its checks and its agent.
type observer Server

// OnHealth handles a result of the checks.
func (o *observer) OnHealth(up bool, reason error) {
	if up {
		(*Server)(o).report(signalCheck, Up, "")
		return
	}
	(*Server)(o).report(signalCheck, Down, fmt.Sprintf("check failed: %v", reason))
}

// OnAgent handles a report of the agent.
func (o *observer) OnAgent(r health.AgentReport) {
	state, reason := Up, ""
	switch {
	case r.State == health.AgentMaintenance:
		state, reason = Maintenance, "agent reported maint"
	case r.State == health.AgentDrain:
		state, reason = Drain, "agent reported drain"
	case r.Down:
		state, reason = Down, agentDown+r.Reason
	}
	(*Server)(o).reportAgent(state, reason, r.Weight)
}

// agentDown starts the reason of a server that its agent reports as down.
const agentDown = "agent reported down: "

// agentReport returns what the agent has reported so far, which its next report amends.
func (s *status) agentReport() *health.AgentReport {
	r := &health.AgentReport{Weight: s.agentPercent}
	switch s.states[signalAgent] {
	case Drain:
		r.State = health.AgentDrain
	case Maintenance:
		r.State = health.AgentMaintenance
	case Down:
		r.Down, r.Reason = true, strings.TrimPrefix(s.reasons[signalAgent], agentDown)
	}
	return r
}
