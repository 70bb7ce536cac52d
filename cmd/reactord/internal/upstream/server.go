package upstream

import (
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Server is a server of a backend.
type Server struct {
	Backend *Backend
	Address serveraddr.Addr // its key in the backend; it does not change
	// Load is how many connections there are to the server, of all loops, with its limit. A Picker takes it.
	Load balance.Load

	settings atomic.Pointer[plan.Server]
	standing atomic.Pointer[standing]
	counters counters

	// What the control loop has.
	life     life
	ejection ejection
	checking checking
	began    int64         // when a slow start began, as Loop.Now
	recalled *ServerHealth // of the process before this one, until the server joins; nil: nothing
}

// life is whether a server is in the plan:
//
//	new    → member  a plan with it is put in force
//	member → gone    a plan without it is put in force, or the directory stops
type life uint8

const (
	lifeNew life = iota
	lifeMember
	lifeGone
)

// newServer makes a server of a plan. If it starts slowly, its weight is a tenth at first.
func newServer(b *Backend, settings *config.Backend, p *plan.Server, slowly bool) *Server {
	s := &Server{Backend: b, Address: p.Address}
	st := standing{since: time.Now(), agentPercent: 100, permille: 1000}
	if slowly {
		st.permille = slowStartPermille
	}
	st.says[voicePlan], st.reasons[voicePlan] = planned(p), planReason(p)
	if waits(&settings.Check) {
		st.says[voiceCheck], st.reasons[voiceCheck] = Waiting, unchecked
	}
	if r := b.directory.handedOver(serverKey{b.Name, p.Address}); r != nil {
		s.recall(r, settings, &st)
	}
	s.settings.Store(p)
	s.standing.Store(&st)
	s.Load.SetLimit(p.MaxConnections)
	s.ejection.init(s)
	return s
}

// Name is the server's name, for logs and metrics. It may be called from any thread.
func (s *Server) Name() string { return s.settings.Load().Name }

// Host is the host name of the server's address, or its IP address if it has none. It may be called from any thread.
func (s *Server) Host() string {
	if host := s.settings.Load().Host; host != "" {
		return host
	}
	return s.Address.IP().String()
}

// Plain reports whether there is no TLS with the server, although the backend has it. It may be called from any thread.
func (s *Server) Plain() bool { return s.settings.Load().Plain }

// State is the server's state. It may be called from any thread.
func (s *Server) State() State { return s.standing.Load().state() }

// Connected says that a connect which began at a time has succeeded. Both are times of the loop. It may be called from
// any thread.
func (s *Server) Connected(began, now int64) {
	s.counters.connections.Add(1)
	s.Backend.time.Observe(now - began)
	if s.counters.inARow.Load() != 0 {
		s.counters.inARow.Store(0)
	}
}

// Failed says that a connect has failed. If the cause is on this machine, as the lack of a descriptor or a port, it is
// counted and does not tell against the server. It may be called from any thread.
func (s *Server) Failed(err error) {
	r := reasonOf(err)
	s.counters.failures[r].Add(1)
	if !r.local() {
		s.Blame()
	}
}

// Refused says that the server has failed a connection, perhaps because of what it was told of the client: his name,
// protocol or address. It is counted, and does not tell against the server. It may be called from any thread.
func (s *Server) Refused() { s.counters.failures[reasonClient].Add(1) }

// Blame says that a failure which [Server.Refused] has counted tells against the server nevertheless. It may be called
// from any thread.
func (s *Server) Blame() {
	if n := s.counters.inARow.Add(1); s.Backend.tooMany(n) {
		s.ejection.suggest()
	}
}

// Retried says that a connection which could not be made to this server tries another one. It may be called from any
// thread.
func (s *Server) Retried() { s.counters.retries.Add(1) }

// join puts the settings of a plan in force.
func (s *Server) join(p *plan.Server) {
	s.settings.Store(p)
	s.Load.SetLimit(p.MaxConnections)
	if s.life == lifeNew {
		s.life = lifeMember
		s.began = s.Backend.now()
		if s.recalled != nil {
			s.resume()
		}
	}
	s.hear(voicePlan, planned(p), planReason(p))
}

// planReason is why a server is not up in a plan.
func planReason(p *plan.Server) string {
	if p.State == plan.Up {
		return ""
	}
	if strings.HasPrefix(p.Origin, plan.Overridden) {
		return "an operator says so"
	}
	return "the plan says so"
}

// leave ends what runs for a server that has left.
func (s *Server) leave() {
	s.life = lifeGone
	s.ejection.stop()
	s.stopChecks()
}

// hear takes what a voice says of the server.
func (s *Server) hear(v voice, state State, reason string) {
	s.hearWeight(v, state, reason, s.standing.Load().agentPercent)
}

// hearAgent takes what the agent says, with its weight in per cent.
func (s *Server) hearAgent(state State, reason string, percent int) {
	s.hearWeight(voiceAgent, state, reason, percent)
}

func (s *Server) hearWeight(v voice, state State, reason string, percent int) {
	before := s.standing.Load()
	if before.says[v] == state && before.reasons[v] == reason && before.agentPercent == percent {
		return
	}
	after := *before
	after.says[v], after.reasons[v], after.agentPercent = state, reason, percent
	s.change(v, before, &after)
}

// change replaces the standing, as a voice says.
func (s *Server) change(v voice, before, after *standing) {
	from, to := before.state(), after.state()
	if from != to {
		after.since = time.Now()
		after.down = before.downtime(after.since)
		// One that has waited since the process has started does not start slowly.
		if to == Up && s.Backend.slowStart() != 0 && (from != Waiting || before.permille != 1000) {
			after.permille, s.began = slowStartPermille, s.Backend.now()
		}
		s.counters.transitions.Add(1)
		s.log(from, to, after.reason())
	}
	s.standing.Store(after)
	if v != voicePlan || after.permille != before.permille {
		s.Backend.surprises.Add(1)
		s.Backend.publishSoon()
	}
	if went(before, after, Down) && s.Backend.Settings().Check.CloseOnDown && s.Backend.directory.OnDown != nil {
		s.Backend.directory.OnDown(s)
	}
}

// went reports whether a check or the agent has begun to say a state.
func went(before, after *standing, state State) bool {
	for _, v := range []voice{voiceCheck, voiceAgent} {
		if before.says[v] != state && after.says[v] == state {
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
