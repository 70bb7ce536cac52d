package upstream

import (
	"encoding/json"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/health"
)

// Handover is what a process knows of its servers' health, for its successor, which may be an older or a newer
// version. So fields are only ever added, and an unknown word is ignored.
type Handover struct {
	Servers []ServerHealth `json:"servers,omitempty"`
	Paused  []BackendPause `json:"paused,omitempty"`
}

// BackendPause is a pause of a backend that an operator has begun.
type BackendPause struct {
	Backend string    `json:"backend"`
	Ends    time.Time `json:"ends"`
}

// ServerHealth is the known health of a server.
type ServerHealth struct {
	Backend string          `json:"backend"`
	Server  serveraddr.Addr `json:"server"`

	Since       time.Time `json:"since,omitzero"` // when it entered its state
	Check       string    `json:"check,omitempty"`
	CheckReason string    `json:"check_reason,omitempty"`

	Agent        string `json:"agent,omitempty"`
	AgentReason  string `json:"agent_reason,omitempty"`
	AgentPercent int    `json:"agent_percent,omitempty"` // percentage of the weight

	EjectedUntil   time.Time `json:"ejected_until,omitzero"`
	EjectionReason string    `json:"ejection_reason,omitempty"`
	Ejections      int       `json:"ejections,omitempty"` // recent ejections
	EjectedLast    time.Time `json:"ejected_last,omitzero"`

	SlowSince time.Time `json:"slow_since,omitzero"` // start of its slow start
}

// ReadHandover decodes a handover. Empty text is an empty handover.
func ReadHandover(text []byte) (h Handover, err error) {
	if len(text) > 0 {
		err = json.Unmarshal(text, &h)
	}
	return h, err
}

// serverKey identifies a server across processes.
type serverKey struct {
	backend string
	server  serveraddr.Addr
}

// byKey returns the servers by key.
func (h *Handover) byKey() map[serverKey]*ServerHealth {
	all := make(map[serverKey]*ServerHealth, len(h.Servers))
	for i := range h.Servers {
		s := &h.Servers[i]
		all[serverKey{s.Backend, s.Server}] = s
	}
	return all
}

// pauses returns the pauses by backend.
func (h *Handover) pauses() map[string]*inheritedPause {
	all := make(map[string]*inheritedPause, len(h.Paused))
	for _, p := range h.Paused {
		all[p.Backend] = &inheritedPause{ends: p.Ends}
	}
	return all
}

// Handover returns the health of the servers in force, and the pauses of backends. It is called on the control loop.
func (d *Directory) Handover() (h Handover) {
	for b, servers := range d.All() {
		if p := b.paused.Load(); p != nil {
			h.Paused = append(h.Paused, BackendPause{b.Name, p.ends})
		}
		for _, s := range servers {
			if r := s.health(); r != (ServerHealth{Backend: r.Backend, Server: r.Server, Since: r.Since}) {
				h.Servers = append(h.Servers, r)
			}
		}
	}
	return h
}

// health returns the known health of the server.
func (s *Server) health() ServerHealth {
	st, e := s.status.Load(), &s.ejection
	zero := time.Now().Add(-time.Duration(s.Backend.now())) // of the loop's time
	at := func(t int64) time.Time { return zero.Add(time.Duration(t)) }
	r := ServerHealth{Backend: s.Backend.Name, Server: s.Address, Since: st.since}
	if s.isChecked() && st.states[signalCheck] != Waiting {
		r.Check, r.CheckReason = st.states[signalCheck].String(), st.reasons[signalCheck]
	}
	if st.states[signalAgent] != Up || st.agentPercent != 100 {
		r.Agent, r.AgentReason = st.states[signalAgent].String(), st.reasons[signalAgent]
		r.AgentPercent = st.agentPercent
	}
	if e.times > 0 {
		r.Ejections, r.EjectedLast = e.times, at(e.backAt)
	}
	if st.states[signalEjection] == Ejected {
		r.EjectedUntil, r.EjectionReason = at(e.backAt), st.reasons[signalEjection]
	}
	if st.permille < 1000 {
		r.SlowSince = at(s.began)
	}
	return r
}

// inherit initializes a new server with what the previous process knew of it. What its settings no longer enable is
// left out.
func (s *Server) inherit(r *ServerHealth, settings *config.Backend, st *status) {
	s.inherited = r
	st.since = r.Since
	if settings.Check.Interval > 0 {
		switch r.Check {
		case Up.String():
			st.states[signalCheck], st.reasons[signalCheck] = Up, ""
			s.checking.inherited = health.Up
		case Down.String():
			st.states[signalCheck], st.reasons[signalCheck] = Down, r.CheckReason
			s.checking.inherited = health.Down
		}
	}
	for _, state := range []State{Up, Down, Drain, Maintenance} {
		if settings.Agent.Port != 0 && r.Agent == state.String() {
			st.states[signalAgent], st.reasons[signalAgent], st.agentPercent = state, r.AgentReason, r.AgentPercent
		}
	}
	if settings.Ejection.Failures != 0 && time.Until(r.EjectedUntil) > 0 {
		st.states[signalEjection], st.reasons[signalEjection] = Ejected, r.EjectionReason
	}
	if over := settings.Balance.SlowStart; !r.SlowSince.IsZero() && time.Since(r.SlowSince) < over {
		st.permille = slowStartPermille
	}
	st.down = -st.downtime(time.Now()) // already counted by the previous process
}

// resume restores the times of what was inherited, when the server joins.
func (s *Server) resume() {
	r, e, now := s.inherited, &s.ejection, s.Backend.now()
	s.inherited = nil
	e.times = r.Ejections
	if !r.EjectedLast.IsZero() {
		e.backAt = now + int64(time.Until(r.EjectedLast))
	}
	st := s.status.Load()
	if st.states[signalEjection] == Ejected {
		e.began, e.backAt = now, now+int64(time.Until(r.EjectedUntil))
		s.Backend.directory.Loop.SetTimer(&e.back, e.backAt)
	}
	if st.permille < 1000 && !r.SlowSince.IsZero() {
		s.began = now - int64(time.Since(r.SlowSince))
	}
}
