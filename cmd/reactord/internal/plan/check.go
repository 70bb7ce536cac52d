package plan

import (
	"fmt"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// WithChecks returns the settings of the server's backend with the check and the agent of the server. It returns b
// itself if the server has none of its own.
func (s *Server) WithChecks(b *config.Backend) *config.Backend {
	if s.Check == nil && s.Agent == nil {
		return b
	}
	own := *b
	if s.Check != nil {
		s.Check.Apply(&own.Check)
	}
	if s.Agent != nil {
		s.Agent.Apply(&own.Agent)
	}
	return &own
}

// OwnChecks describes the check and the agent of the server that are its own, for people, without what they send. It
// returns "" if the server has none.
func (s *Server) OwnChecks() string {
	var parts []string
	add := func(what string, disabled bool, port int) {
		switch {
		case disabled:
			parts = append(parts, what+" off")
		case port != 0:
			parts = append(parts, fmt.Sprintf("%s port %d", what, port))
		}
	}
	if c := s.Check; c != nil {
		add("check", c.Disabled, c.Port)
		if exchange := *c; !c.Disabled {
			if exchange.Port = 0; !exchange.IsZero() {
				parts = append(parts, "check exchange")
			}
		}
	}
	if a := s.Agent; a != nil {
		add("agent", a.Disabled, a.Port)
	}
	return strings.Join(parts, ", ")
}
