package upstream

// A slow start begins at a tenth of the weight, which grows in steps.
const (
	slowStartPermille = 100
	slowStartSteps    = 10
)

// slowStart returns the duration of a slow start in ns, or 0 for none.
func (b *Backend) slowStart() int64 { return int64(b.Settings().Balance.SlowStart) }

// grow updates the current share of the weight, and reports whether it will grow further.
func (s *Server) grow(now, over int64) bool {
	before := s.status.Load()
	if before.permille == 1000 {
		return false
	}
	after := *before
	after.permille = 1000
	if elapsed := now - s.began; elapsed < over {
		after.permille = slowStartPermille + int((1000-slowStartPermille)*elapsed/over)
	}
	s.status.Store(&after)
	s.setLimit()
	s.Backend.surprises.Add(1)
	return after.permille < 1000
}
