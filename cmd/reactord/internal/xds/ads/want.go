package ads

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// subscription is the state of one type.
type subscription struct {
	kind  Type
	names map[string]*name // Wildcard is one of them

	opened  bool     // this stream has had a request of this type
	changed bool     // what the server was told may differ from what is wanted
	out     *Update  // what the caller has to answer
	answers []answer // what is to be sent, in the order of the responses
	space   space    // between NACKs
	said    string   // in the last answer
	fresh   fresh    // the beginning of the stream
	expire  int      // how many names expire
	round   uint64   // of Want
}

// name is what is known about one name of a type.
type name struct {
	wanted bool
	round  uint64 // when it was wanted last
	told   bool   // the server of this stream knows that it is wanted
	again  bool   // the caller has it no longer, so that the server must send it again
	known  bool   // since it is wanted, the server has sent it or said that it does not exist
	held   bool   // the caller has accepted it
	other  bool   // and it is from another control plane, to which its version means something
	stale  bool   // held or refused since before this stream, which has not mentioned it
	untold bool   // stale, and this stream's server has not been told of it

	version string    // of what is held
	since   time.Time // when it was wanted
	expires time.Time // zero: never

	// What was refused last, and why; forgotten when it is accepted or removed.
	refused        string
	refusedVersion string
}

// everything says whether all that the server has is wanted.
func (s *subscription) everything() bool {
	n := s.names[Wildcard]
	return n != nil && n.wanted
}

// wants says whether a resource is wanted by its name, or since everything is.
func (s *subscription) wants(resource string) bool {
	if resource == Wildcard {
		return false
	}
	n := s.names[resource]
	return n != nil && n.wanted || s.everything()
}

// get returns what is known about a name, from now on if nothing was.
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

// tidy forgets a name that nothing is known about.
func (s *subscription) tidy(resource string) {
	if n := s.names[resource]; n != nil && !n.wanted && !n.told && !n.held && n.refused == "" {
		delete(s.names, resource)
	}
}

// setExpiry sets when a resource expires; zero: never.
func (s *subscription) setExpiry(n *name, at time.Time) {
	if !n.expires.IsZero() {
		s.expire--
	}
	n.expires = at
	if !at.IsZero() {
		s.expire++
	}
}

// Want sets which resources of a type are wanted from now on: all of the given names, or everything with [Wildcard],
// beside which other names have no meaning. What is not wanted any more is forgotten: if it is wanted again, the server
// is asked to send it again. The names are valid UTF-8; the slice is not kept. An unknown type is ignored.
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
		// A name that comes with a wildcard or is restored is known already.
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

// Refresh asks for wanted resources as if they had never been received, for a caller that has them no longer. They are
// missing until the server has sent them or said that they do not exist. It is not needed after the update of a cluster
// whose endpoints are held: servers that honour the protocol send them again with or without a request (Istio), or see
// no reason to (go-control-plane), so that they must not be waited for.
//
// They are unsubscribed by one request and subscribed by another, since to subscribe a second time is not answered by
// go-control-plane and not by Istio. In between, the server may say that they do not exist. For a type that is wanted
// as a whole, nothing is done.
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

// Restore says that the caller holds resources which were received by another process, in the given versions by name,
// as if they had just been accepted. It is called before the first stream.
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

// Missing is a name that is wanted, and that the server has neither sent nor declared not to exist.
type Missing struct {
	Name  string
	Since time.Time // when it was wanted first
}

// Missing returns what is missing of a type, sorted by name. For a type that is wanted as a whole this is [Wildcard],
// until the first response. A resource that was refused is not missing. How long to wait is the caller's decision
// (Envoy's initial_fetch_timeout runs from the time when a name is wanted).
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

// State is what is known about a resource.
type State uint8

// The states of a resource.
const (
	Requested   State = iota // wanted, and nothing has come
	Held                     // accepted
	Refused                  // refused, and nothing is held
	HeldRefused              // refused, and what was held before still is
	Absent                   // the server says that it does not exist
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
