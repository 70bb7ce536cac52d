package ads

import "time"

// fresh is the time after a type's first response on a stream, in which the server sends what has changed meanwhile.
type fresh struct {
	until time.Time // zero before the first response, and after the end
	over  bool
	whole bool // the server sends everything, and does not name what is gone
}

// begin starts a stream.
func (s *subscription) begin(same bool) {
	s.opened, s.changed, s.answers, s.space, s.fresh = false, true, nil, space{}, fresh{}
	for resource, n := range s.names {
		n.told, n.again, n.stale, n.untold = false, false, false, false
		n.other = n.held && (n.other || !same)
		if s.out == nil { // names are kept until the pending update is answered
			s.tidy(resource)
		}
	}
}

// startSettling starts the time after the first response. It is called for each response.
func (s *subscription) startSettling(now time.Time, settle time.Duration) {
	if s.fresh.until.IsZero() && !s.fresh.over {
		s.fresh.until = now.Add(settle)
	}
}

// mention records that this stream knows a resource, and what its first mention says about the server.
func (s *subscription) mention(n *name, content bool, version string) {
	if n.stale && n.held && !n.untold && content && version == n.version {
		s.fresh.whole = true
	}
	n.stale = false
}

// settle ends the time after the first response, and returns what is gone.
func (s *subscription) settle() (removed []string) {
	for resource, n := range s.names {
		switch {
		case !n.stale:
		case !n.untold && !s.fresh.whole:
			n.stale = false // the server still has exactly what is held
		default:
			removed = append(removed, resource)
			s.drop(n)
			s.tidy(resource)
		}
	}
	s.fresh = fresh{over: true}
	return removed
}

// expired removes and returns what has expired.
func (s *subscription) expired(now time.Time) (removed []string) {
	if s.expire == 0 {
		return nil
	}
	for resource, n := range s.names {
		if n.expires.IsZero() || now.Before(n.expires) {
			continue
		}
		removed = append(removed, resource)
		s.drop(n)
		s.tidy(resource)
	}
	return removed
}

// Tick returns what time removes: expired resources, and those that a new stream has not mentioned although its
// server sends everything. These updates need no answer. A type with an unanswered response is left out.
func (m *Machine) Tick(now time.Time) []*Update {
	m.ticked = now
	var updates []*Update
	for _, s := range m.types {
		if s.out != nil {
			continue
		}
		removed := s.expired(now)
		if m.live && !s.fresh.until.IsZero() && !now.Before(s.fresh.until) {
			removed = append(removed, s.settle()...)
		}
		if removed != nil {
			updates = append(updates, &Update{Type: s.kind, Removed: removed, received: now})
		}
	}
	return updates
}

// Wake returns when to call [Machine.Tick] and then [Machine.Next], or zero if nothing is due. Requests that could be
// sent already are not considered.
func (m *Machine) Wake() time.Time {
	var wake time.Time
	sooner := func(t time.Time) {
		if wake.IsZero() || t.Before(wake) {
			wake = t
		}
	}
	for _, s := range m.types {
		if m.live && len(s.answers) > 0 && s.space.until.After(m.ticked) {
			sooner(s.space.until)
		}
		if s.out != nil {
			continue
		}
		if m.live && !s.fresh.until.IsZero() {
			sooner(s.fresh.until)
		}
		if s.expire == 0 {
			continue
		}
		for _, n := range s.names {
			if !n.expires.IsZero() {
				sooner(n.expires)
			}
		}
	}
	return wake
}
