package upstream

import "slices"

// uncheck lets all servers of a backend that holds connections count as healthy, if none is up and none is checked any
// longer: the connections that wait find out by connecting.
func (b *Backend) uncheck() {
	m := b.member
	if m.plan.Settings.Hold == 0 && !b.Paused() {
		return
	}
	if slices.ContainsFunc(m.servers, func(s *Server) bool { return s.State() == Up }) {
		return
	}
	unchecked := *m
	unchecked.unchecked = true
	b.group.Store(newGroup(&unchecked, b.group.Load()))
	b.changed()
}

// setLimit puts the limit on the connections of the server in force. While it starts slowly and its backend holds
// connections, the limit grows with its weight: else those that wait would come at once.
func (s *Server) setLimit() {
	limit := s.plan.Load().MaxConnections
	if s.Backend.Settings().Hold > 0 {
		limit = (limit*s.status.Load().permille + 999) / 1000
	}
	s.Load.SetLimit(limit)
}
