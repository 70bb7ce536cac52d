package upstream

// A server that starts slowly has a tenth of its weight at first. It grows in steps.
const (
	slowStartPermille = 100
	slowStartSteps    = 10
)

// slowStart is how long a server's weight grows, in ns; 0: not at all.
func (b *Backend) slowStart() int64 { return int64(b.Settings().Balance.SlowStart) }

// grow sets the part of the weight that a server has now, and reports whether it will grow further.
func (s *Server) grow(now, over int64) bool {
	before := s.standing.Load()
	if before.permille == 1000 {
		return false
	}
	after := *before
	after.permille = 1000
	if elapsed := now - s.began; elapsed < over {
		after.permille = slowStartPermille + int((1000-slowStartPermille)*elapsed/over)
	}
	s.standing.Store(&after)
	s.Backend.surprises.Add(1)
	return after.permille < 1000
}
