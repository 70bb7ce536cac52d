package engine

// slot is the base of a session that opens and closes a connection for each piece of work.
type slot struct {
	base
	intended int64 // when opening was due
	sent     int64 // when the service time began; 0: not yet
	whole    int64 // when the connection had done its work; 0: not yet
}

// take begins a piece of work.
func (s *slot) take(intended, sent int64) {
	s.intended, s.sent, s.whole = intended, sent, 0
	s.c.open()
}

// done records when the connection has done its work.
func (s *slot) done() {
	s.whole = s.c.clock()
	s.c.since = 0
}

func (s *slot) closed() {
	g, now := s.c.group, s.c.clock()
	if s.whole != 0 && !s.c.failed {
		g.messageDone(s.intended, s.sent, s.whole)
		g.ready(s.c, now)
		return
	}
	g.done(1, now)
	s.c.restart()
}
