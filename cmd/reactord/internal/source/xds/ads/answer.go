package ads

import (
	"errors"
	"maps"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// answer is a pending answer to a response.
type answer struct {
	nonce string
	text  string // of the NACK; empty for an ACK
	news  bool   // the response brought something new
}

// Refusal is a reason of a NACK.
type Refusal struct {
	Name string // of the resource; empty for the whole response
	Err  error
	New  bool // differs from the last refusal of the resource
}

// Answer records that an update was applied except for what is refused, by name. It is answered by an ACK, or by a
// NACK that names these and what the machine has refused itself. The name "" refuses the whole response, of which
// nothing is then held. The rest of the update is held from now on, or removed, as far as it is still wanted. A
// refused removal keeps what is held. Names that are not in the update only add to the text.
//
// It returns what was refused, sorted by name; reports should omit what is not new. An update that was answered
// before, and one of [Machine.Tick], is ignored.
func (m *Machine) Answer(u *Update, refused map[string]error) []Refusal {
	s := m.of(u.Type)
	if s == nil || s.out != u {
		return nil
	}
	s.out = nil
	all := maps.Clone(u.Refused)
	maps.Copy(all, refused)
	s.apply(u, all, u.stream < m.since)
	refusals := s.remember(u, all)
	text := nackText(refusals)
	if text == s.said {
		for i := range refusals {
			refusals[i].New = false
		}
	}
	s.said = text
	for _, r := range u.Set {
		s.tidy(r.Name)
	}
	if m.live && u.stream == m.stream {
		s.answers = append(s.answers, answer{u.nonce, text, u.news})
	}
	return refusals
}

// apply holds and removes what was not refused. other tells that the update comes from another control plane.
func (s *subscription) apply(u *Update, refused map[string]error, other bool) {
	if refused[""] != nil {
		return
	}
	for _, r := range u.Set {
		// It may have become unwanted meanwhile.
		if refused[r.Name] != nil || !s.wants(r.Name) {
			continue
		}
		n := s.get(r.Name)
		n.again = false
		n.held, n.known, n.other, n.stale, n.version = true, true, other, false, r.Version
		n.refused, n.refusedVersion = "", ""
		s.setExpiry(n, expiry(u.received, r.TTL))
	}
	for _, resource := range u.Removed {
		n := s.names[resource]
		if n == nil || refused[resource] != nil {
			continue
		}
		s.drop(n)
		n.known, n.again = true, false
		s.tidy(resource)
	}
}

// remember records and returns what was refused.
func (s *subscription) remember(u *Update, refused map[string]error) []Refusal {
	versions := make(map[string]string, len(u.Set))
	for _, r := range u.Set {
		versions[r.Name] = r.Version
	}
	refusals := make([]Refusal, 0, len(refused))
	for _, resource := range slices.Sorted(maps.Keys(refused)) {
		err := refused[resource]
		if err == nil {
			continue
		}
		text, news := cut(err.Error(), maxReason), true
		if n := s.names[resource]; n != nil {
			news = n.refused != text
			n.refused, n.refusedVersion, n.known = text, versions[resource], true
		}
		refusals = append(refusals, Refusal{resource, err, news})
	}
	return refusals
}

// fail records that the server cannot send a resource.
func (u *Update) fail(resource string, status *discoverypb.Status) {
	if u.Failed == nil {
		u.Failed = map[string]error{}
	}
	u.Failed[resource] = errors.New(cut(status.GetMessage(), maxReason))
}
