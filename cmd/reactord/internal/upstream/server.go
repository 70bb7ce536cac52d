package upstream

import (
	"cmp"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
)

// Server is a server of a backend.
type Server struct {
	Backend *Backend
	Address serveraddr.Addr // its key in the backend; immutable
	// Load counts the connections to the server over all loops, with its limit. A Picker takes it.
	Load balance.Load
	// TCP counts what the kernel has told of connections that have ended. Any thread may observe.
	TCP stats.TCPCounts

	key      *serveraddr.Addr // the address: what keeps it does not keep the server
	plan     atomic.Pointer[plan.Server]
	status   atomic.Pointer[status]
	counters counters

	// Owned by the control loop.
	life      life
	ejection  ejection
	checking  checking
	began     int64         // when its slow start began, on the loop's clock
	inherited *ServerHealth // from the previous process, until the server joins; may be nil
}

// life is the state of a server with regard to the plan:
//
//	new    → member  a plan with it is put in force
//	member → gone    a plan without it is put in force, or the directory stops
type life uint8

const (
	lifeNew life = iota
	lifeMember
	lifeGone
)

// newServer creates a server of a plan. With slowly, it starts at a tenth of its weight.
func newServer(b *Backend, settings *config.Backend, p *plan.Server, slowly bool) *Server {
	s := &Server{Backend: b, Address: p.Address, key: &serveraddr.Addr{}}
	*s.key = p.Address
	settings = p.WithChecks(settings)
	st := status{since: time.Now(), agentPercent: 100, permille: 1000}
	if slowly {
		st.permille = slowStartPermille
	}
	st.states[signalPlan], st.reasons[signalPlan] = planned(p), planReason(p)
	st.forced = forced{p.Health, p.HealthReason}
	if waits(&settings.Check) {
		st.states[signalCheck], st.reasons[signalCheck] = Waiting, reasonUnchecked
	}
	if r := b.directory.inheritedHealth(serverKey{b.Name, p.Address}); r != nil {
		s.inherit(r, settings, &st)
	}
	s.plan.Store(p)
	s.status.Store(&st)
	s.Load.SetLimit(p.MaxConnections)
	s.ejection.init(s)
	return s
}

// Key returns the server's address, in memory that is not the server's. It may be called from any thread.
func (s *Server) Key() *serveraddr.Addr { return s.key }

// Name returns the server's name for logs and metrics. It may be called from any thread.
func (s *Server) Name() string { return s.plan.Load().Name }

// Host returns the host name of the server's address, or else its IP address; empty for a unix socket. It may be called
// from any thread.
func (s *Server) Host() string {
	if host := s.plan.Load().Host; host != "" {
		return host
	}
	if s.Address.IsUnix() {
		return ""
	}
	return s.Address.IP().String()
}

// Plain reports whether the server has no TLS although its backend does. It may be called from any thread.
func (s *Server) Plain() bool { return s.plan.Load().Plain }

// State returns the server's state. It may be called from any thread.
func (s *Server) State() State { return s.status.Load().state() }

// Forced returns the health that an operator forces. It may be called from any thread.
func (s *Server) Forced() plan.Health { return s.status.Load().forced.health }

// ClosesConnections reports whether the server is down and its connections are closed then. It may be called from any
// goroutine.
func (s *Server) ClosesConnections() bool {
	return s.Backend.Settings().Check.CloseOnDown && s.State() == Down
}

// Connected records a successful connect that began at began, on the loop's clock. It may be called from any thread.
func (s *Server) Connected(began, now int64) {
	s.counters.Total.Add(1)
	s.Backend.time.Observe(now - began)
	if s.counters.inARow.Load() != 0 {
		s.counters.inARow.Store(0)
	}
}

// Failed records a failed connect. If the cause is on this machine, such as a lack of descriptors or ports, it is
// counted but not held against the server. It may be called from any thread.
func (s *Server) Failed(err error) {
	r := reasonOf(err)
	s.counters.failures[r].Add(1)
	if !r.local() {
		s.Blame()
	}
}

// Refused records that the server failed a connection perhaps because of the client's name, protocol or address. It
// is counted but not held against the server. It may be called from any thread.
func (s *Server) Refused() { s.counters.failures[reasonClient].Add(1) }

// Blame holds a failure counted by [Server.Refused] against the server after all. It may be called from any thread.
func (s *Server) Blame() {
	if n := s.counters.inARow.Add(1); s.Backend.shouldEject(n) {
		s.ejection.suggest()
	}
}

// Retried records that a connection which could not reach this server tries another one. It may be called from any
// thread.
func (s *Server) Retried() { s.counters.Retries.Add(1) }

// join puts the server's settings of a plan in force.
func (s *Server) join(p *plan.Server) {
	s.plan.Store(p)
	if s.life == lifeNew {
		s.life = lifeMember
		s.began = s.Backend.now()
		if s.inherited != nil {
			s.resume()
		}
	}
	s.adopt(planned(p), planReason(p), forced{p.Health, p.HealthReason})
	s.setLimit()
}

// adopt handles the state and the forced health of a plan.
func (s *Server) adopt(state State, reason string, f forced) {
	before := s.status.Load()
	if before.states[signalPlan] == state && before.reasons[signalPlan] == reason && before.forced == f {
		return
	}
	after := *before
	after.states[signalPlan], after.reasons[signalPlan], after.forced = state, reason, f
	s.change(signalPlan, before, &after)
}

// planReason returns why a server is not up in a plan.
func planReason(p *plan.Server) string {
	if p.State == plan.Up {
		return ""
	}
	return cmp.Or(p.Reason, "set by the configuration")
}

// leave ends what runs for a server that has left the plan.
func (s *Server) leave() {
	s.life = lifeGone
	s.ejection.stop()
	s.stopChecks()
}

// report handles a state that a signal reports.
func (s *Server) report(v signal, state State, reason string) {
	s.reportWeighted(v, state, reason, s.status.Load().agentPercent)
}

// reportAgent handles a state and a weight in per cent that the agent reports.
func (s *Server) reportAgent(state State, reason string, percent int) {
	s.reportWeighted(signalAgent, state, reason, percent)
}

func (s *Server) reportWeighted(v signal, state State, reason string, percent int) {
	before := s.status.Load()
	if before.states[v] == state && before.reasons[v] == reason && before.agentPercent == percent {
		return
	}
	after := *before
	after.states[v], after.reasons[v], after.agentPercent = state, reason, percent
	s.change(v, before, &after)
}

// change replaces the status after a signal has changed.
func (s *Server) change(v signal, before, after *status) {
	from, to := before.state(), after.state()
	if from != to {
		after.since = time.Now()
		after.down = before.downtime(after.since)
		// A server that has waited since the process started does not start slowly.
		if to == Up && s.Backend.slowStart() != 0 && (from != Waiting || before.permille != 1000) {
			after.permille, s.began = slowStartPermille, s.Backend.now()
		}
		s.counters.Transitions.Add(1)
		s.log(from, to, after.reason())
	}
	s.status.Store(after)
	if after.permille != before.permille {
		s.setLimit()
	}
	if v != signalPlan || after.permille != before.permille {
		s.Backend.surprises.Add(1)
		s.Backend.publishSoon()
	}
	if enteredDown(before, after) && s.Backend.Settings().Check.CloseOnDown && s.Backend.directory.OnDown != nil {
		s.Backend.directory.OnDown(s)
	}
}

// enteredDown reports whether a server has newly gone down: a check or the agent says so, and the server is not forced
// up; or it is forced down, or no longer forced up.
func enteredDown(before, after *status) bool {
	if before.forced.health != after.forced.health {
		return before.state() != Down && after.state() == Down
	}
	for _, v := range []signal{signalCheck, signalAgent} {
		if before.states[v] != Down && after.forced.visible(after.states[v]) == Down {
			return true
		}
	}
	return false
}

func (s *Server) log(from, to State, reason string) {
	log := s.Backend.directory.Log.Info
	switch {
	case to == Down || to == Ejected:
		log = s.Backend.directory.Log.Warn
	case to == Waiting || from == Waiting && to == Up: // as expected
		log = s.Backend.directory.Log.Debug
	}
	log(logged[to], zap.String("backend", s.Backend.Name), zap.String("server", s.Name()),
		zap.Stringer("address", s.Address), zap.Stringer("before", from), zap.String("reason", reason))
}
