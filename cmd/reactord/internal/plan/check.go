package plan

import "github.com/reactord/reactord/cmd/reactord/internal/config"

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
