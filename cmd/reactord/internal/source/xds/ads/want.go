package ads

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// subscription is the state of a type.
type subscription struct {
	kind  Type
	names map[string]*name // may include Wildcard

	opened  bool     // this stream has sent a request of this type
	changed bool     // subscriptions may differ from what is wanted
	out     *Update  // update that the caller has to answer
	answers []answer // unsent answers, in the order of the responses
	space   space    // between NACKs
	said    string   // text of the last answer
	fresh   fresh    // start of the stream
	expire  int      // number of names that expire
	round   uint64   // of Want
}

// name is the state of a name of a type.
type name struct {
	wanted bool
	round  uint64 // when it was last wanted
	told   bool   // subscribed on this stream
	again  bool   // the caller lost it, so the server must send it again
	known  bool   // since it is wanted, the server has sent it or reported that it does not exist
	held   bool   // accepted by the caller
	other  bool   // held, but from another control plane, so its version means nothing here
	stale  bool   // held or refused before this stream, which has not mentioned it yet
	untold bool   // stale, and its version was not sent on this stream

	version string    // version held
	since   time.Time // when it was wanted
	expires time.Time // zero for never

	// The last refusal, forgotten when the resource is accepted or removed.
	refused        string
	refusedVersion string
}

// everything reports whether all resources are wanted.
func (s *subscription) everything() bool {
	n := s.names[Wildcard]
	return n != nil && n.wanted
}

// wants reports whether a resource is wanted, by name or by wildcard.
func (s *subscription) wants(resource string) bool {
	if resource == Wildcard {
		return false
	}
	n := s.names[resource]
	return n != nil && n.wanted || s.everything()
}

// get returns the state of a name, and creates it if needed.
func (s *subscription) get(resource string) *name {
	n := s.names[resource]
	if n == nil {
		n = &name{}
		s.names[resource] = n
	}
	return n
}

// drop forgets that a resource is held or was refused.
func (s *subscription) drop(n *name) {
	s.setExpiry(n, time.Time{})
	n.held, n.other, n.stale, n.untold, n.version, n.refused, n.refusedVersion = false, false, false, false, "", "", ""
}

// tidy deletes a name without any state.
func (s *subscription) tidy(resource string) {
	if n := s.names[resource]; n != nil && !n.wanted && !n.told && !n.held && n.refused == "" {
		delete(s.names, resource)
	}
}

// setExpiry sets when a resource expires, or zero for never.
func (s *subscription) setExpiry(n *name, at time.Time) {
	if !n.expires.IsZero() {
		s.expire--
	}
	n.expires = at
	if !at.IsZero() {
		s.expire++
	}
}

// Want sets which resources of a type are wanted: the given names, or everything with [Wildcard], which makes other
// names meaningless. Unwanted resources are forgotten, and requested again when they are wanted again. Names must be
// valid UTF-8; the slice is not kept. An unknown type is ignored.
func (m *Machine) Want(now time.Time, t Type, names []string) {
	s := m.of(t)
	if s == nil {
		return
	}
	everything := slices.Contains(names, Wildcard)
	if everything {
		names = []string{Wildcard}
	}
	s.round++
	for _, resource := range names {
		n := s.get(resource)
		n.round = s.round
		if n.wanted {
			continue
		}
		// A name that comes with a wildcard or is restored is already known.
		n.wanted, n.since, n.known = true, now, n.held
		n.again = n.told && !n.held
		s.changed = true
	}
	for resource, n := range s.names {
		if n.round == s.round || everything && !n.wanted {
			continue
		}
		if n.wanted {
			n.wanted = false
			s.changed = true
		}
		if !everything {
			s.drop(n)
			s.tidy(resource)
		}
	}
}

// Refresh requests wanted resources as if they had never been received, for a caller that has lost them. They are
// missing until the server has sent them or reported that they do not exist. It is not needed after an update of a
// cluster whose endpoints are held: servers either send them again unasked (Istio), or see no reason to
// (go-control-plane), so they must not be waited for.
//
// They are unsubscribed by one request and subscribed by another, since go-control-plane and Istio do not answer a
// second subscription. In between, the server may report that they do not exist. It does nothing for wildcard
// subscriptions.
func (m *Machine) Refresh(now time.Time, t Type, names []string) {
	s := m.of(t)
	if s == nil || s.everything() {
		return
	}
	for _, resource := range names {
		n := s.names[resource]
		if n == nil || !n.wanted {
			continue
		}
		s.drop(n)
		n.known, n.since, n.again = false, now, n.told
		s.changed = true
	}
}

// Restore records that the caller holds resources received by another process, as if they had just been accepted. It
// takes their versions by name, and is called before the first stream.
func (m *Machine) Restore(t Type, versions map[string]string) {
	s := m.of(t)
	if s == nil {
		return
	}
	for resource, version := range versions {
		if resource == "" || resource == Wildcard || s.names[resource] == nil && len(s.names) >= m.config.MaxResources {
			continue
		}
		n := s.get(resource)
		n.held, n.known, n.version = true, true, version
	}
}

// Missing is a wanted name that the server has neither sent nor reported as absent.
type Missing struct {
	Name  string
	Since time.Time // when it was first wanted
}

// Missing returns what is missing of a type, sorted by name. For a wildcard subscription this is [Wildcard], until
// the first response. A refused resource is not missing. The caller decides how long to wait (Envoy's
// initial_fetch_timeout runs from the time when a name is wanted).
func (m *Machine) Missing(t Type) []Missing {
	s := m.of(t)
	if s == nil {
		return nil
	}
	var missing []Missing
	for _, resource := range slices.Sorted(maps.Keys(s.names)) {
		if n := s.names[resource]; n.wanted && !n.known {
			missing = append(missing, Missing{resource, n.since})
		}
	}
	return missing
}

// State is the state of a resource.
type State uint8

// States of a resource.
const (
	Requested   State = iota // wanted, not received yet
	Held                     // accepted
	Refused                  // refused, and nothing is held
	HeldRefused              // refused, and the previous version is held
	Absent                   // does not exist, according to the server
)

func (s State) String() string {
	return [...]string{"requested", "held", "refused", "held, and a later one refused", "absent"}[s]
}

// All iterates over the names of a type that are wanted, held, or refused, in any order, without [Wildcard]. The
// machine must not be changed meanwhile.
func (m *Machine) All(t Type) iter.Seq2[string, State] {
	return func(yield func(string, State) bool) {
		s := m.of(t)
		if s == nil {
			return
		}
		for resource, n := range s.names {
			if resource == Wildcard || !n.wanted && !n.held && n.refused == "" {
				continue
			}
			if !yield(resource, n.state()) {
				return
			}
		}
	}
}

func (n *name) state() State {
	switch {
	case n.held && n.refused != "":
		return HeldRefused
	case n.held:
		return Held
	case n.refused != "":
		return Refused
	case n.known:
		return Absent
	}
	return Requested
}
