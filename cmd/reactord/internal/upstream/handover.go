package upstream

import (
	"encoding/json"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/health"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Handover is what a process knows of the health of its servers, for the one after it, which may be an older or a newer
// version. So fields are only added, and a word that is not known is as if nothing was said.
type Handover struct {
	Servers []ServerHealth `json:"servers,omitempty"`
}

// ServerHealth is what is known of a server.
type ServerHealth struct {
	Backend string          `json:"backend"`
	Server  serveraddr.Addr `json:"server"`

	Since       time.Time `json:"since,omitzero"` // of its state
	Check       string    `json:"check,omitempty"`
	CheckReason string    `json:"check_reason,omitempty"`

	Agent        string `json:"agent,omitempty"`
	AgentReason  string `json:"agent_reason,omitempty"`
	AgentPercent int    `json:"agent_percent,omitempty"` // of the weight

	EjectedUntil   time.Time `json:"ejected_until,omitzero"`
	EjectionReason string    `json:"ejection_reason,omitempty"`
	Ejections      int       `json:"ejections,omitempty"` // recent ones
	EjectedLast    time.Time `json:"ejected_last,omitzero"`

	SlowSince time.Time `json:"slow_since,omitzero"` // it starts slowly since then
}

// ReadHandover reads what a process has handed over. No text is nothing.
func ReadHandover(text []byte) (h Handover, err error) {
	if len(text) > 0 {
		err = json.Unmarshal(text, &h)
	}
	return h, err
}

// serverKey names a server across processes.
type serverKey struct {
	backend string
	server  serveraddr.Addr
}

// known returns the servers by their keys.
func (h *Handover) known() map[serverKey]*ServerHealth {
	all := make(map[serverKey]*ServerHealth, len(h.Servers))
	for i := range h.Servers {
		s := &h.Servers[i]
		all[serverKey{s.Backend, s.Server}] = s
	}
	return all
}

// Handover returns what is known of the servers in force. It is called on the control loop.
func (d *Directory) Handover() (h Handover) {
	for _, servers := range d.All() {
		for _, s := range servers {
			if r := s.health(); r != (ServerHealth{Backend: r.Backend, Server: r.Server, Since: r.Since}) {
				h.Servers = append(h.Servers, r)
			}
		}
	}
	return h
}

// health returns what is known of the server.
func (s *Server) health() ServerHealth {
	st, e := s.standing.Load(), &s.ejection
	zero := time.Now().Add(-time.Duration(s.Backend.now())) // of the loop's time
	at := func(t int64) time.Time { return zero.Add(time.Duration(t)) }
	r := ServerHealth{Backend: s.Backend.Name, Server: s.Address, Since: st.since}
	if s.isChecked() && st.says[voiceCheck] != Waiting {
		r.Check, r.CheckReason = st.says[voiceCheck].String(), st.reasons[voiceCheck]
	}
	if st.says[voiceAgent] != Up || st.agentPercent != 100 {
		r.Agent, r.AgentReason = st.says[voiceAgent].String(), st.reasons[voiceAgent]
		r.AgentPercent = st.agentPercent
	}
	if e.times > 0 {
		r.Ejections, r.EjectedLast = e.times, at(e.backAt)
	}
	if st.says[voiceEjection] == Ejected {
		r.EjectedUntil, r.EjectionReason = at(e.backAt), st.reasons[voiceEjection]
	}
	if st.permille < 1000 {
		r.SlowSince = at(s.began)
	}
	return r
}

// recall has a new server begin with what the process before has known of it. What the settings do not have any more is
// left out.
func (s *Server) recall(r *ServerHealth, settings *config.Backend, st *standing) {
	s.recalled = r
	st.since = r.Since
	if settings.Check.Interval > 0 {
		switch r.Check {
		case Up.String():
			st.says[voiceCheck], st.reasons[voiceCheck] = Up, ""
			s.checking.known = health.Up
		case Down.String():
			st.says[voiceCheck], st.reasons[voiceCheck] = Down, r.CheckReason
			s.checking.known = health.Down
		}
	}
	for _, state := range []State{Up, Down, Drain, Maintenance} {
		if settings.Agent.Port != 0 && r.Agent == state.String() {
			st.says[voiceAgent], st.reasons[voiceAgent], st.agentPercent = state, r.AgentReason, r.AgentPercent
		}
	}
	if settings.Ejection.Failures != 0 && time.Until(r.EjectedUntil) > 0 {
		st.says[voiceEjection], st.reasons[voiceEjection] = Ejected, r.EjectionReason
	}
	if over := settings.Balance.SlowStart; !r.SlowSince.IsZero() && time.Since(r.SlowSince) < over {
		st.permille = slowStartPermille
	}
	st.down = -st.downtime(time.Now()) // the process before has counted that
}

// resume sets the times of what the server has recalled, when it joins.
func (s *Server) resume() {
	r, e, now := s.recalled, &s.ejection, s.Backend.now()
	s.recalled = nil
	e.times = r.Ejections
	if !r.EjectedLast.IsZero() {
		e.backAt = now + int64(time.Until(r.EjectedLast))
	}
	st := s.standing.Load()
	if st.says[voiceEjection] == Ejected {
		e.began, e.backAt = now, now+int64(time.Until(r.EjectedUntil))
		s.Backend.directory.Loop.SetTimer(&e.back, e.backAt)
	}
	if st.permille < 1000 && !r.SlowSince.IsZero() {
		s.began = now - int64(time.Since(r.SlowSince))
	}
}
