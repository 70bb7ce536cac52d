package ads

import (
	"maps"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// invalidArgument is the code of a NACK, from google.rpc.Code.
const invalidArgument = 3

// perName is the approximate overhead of a name in a request, in bytes.
const perName = 8

// Next returns the next request to send on the stream, or nil if there is none now. It counts as sent. A NACK that is
// held back comes later, see [Machine.Wake].
func (m *Machine) Next(now time.Time) *Request {
	if !m.live {
		return nil
	}
	for _, s := range m.types {
		request := s.next(now)
		if request == nil {
			continue
		}
		if !m.greeted {
			m.greeted = true
			request.Node = m.config.Node
		}
		request.TypeUrl = string(s.kind)
		return request
	}
	return nil
}

// next returns the next request of the type, without the parts common to all.
func (s *subscription) next(now time.Time) *Request {
	if a, ok := s.take(now); ok {
		request := &Request{ResponseNonce: a.nonce}
		if a.text != "" {
			request.ErrorDetail = &discoverypb.Status{Code: invalidArgument, Message: a.text}
		}
		return request
	}
	switch {
	case !s.changed, !s.opened && s.out != nil:
		// The pending update may change what is held, and so the versions of the first request.
		return nil
	case s.opened:
		return s.differ()
	case s.everything():
		return s.openWhole()
	default:
		return s.openNamed()
	}
}

// tellable reports whether to tell the server of a new stream the version that is held. With a later refusal it is
// not told: the server may have reverted to what is held, and the caller may have accepted the later one after all,
// so the server has to send which one it is.
func (n *name) tellable() bool { return n.held && !n.other && n.refused == "" }

// openWhole returns the first request of a wildcard subscription. It has no names, which every server takes for a
// wildcard, and no versions if they would make it too large.
func (s *subscription) openWhole() *Request {
	s.opened, s.changed = true, false
	s.names[Wildcard].told = true
	versions := map[string]string{}
	size := 0
	for resource, n := range s.names {
		if n.tellable() {
			versions[resource] = n.version
			size += len(resource) + len(n.version) + perName
		}
	}
	if size > maxRequest {
		versions = nil
	}
	for resource, n := range s.names {
		_, told := versions[resource]
		n.stale = n.held || n.refused != ""
		n.untold = n.stale && !told
	}
	return &Request{InitialResourceVersions: versions}
}

// openNamed returns the first request of a subscription by names, or nil without any. It has no versions of names
// that it does not subscribe, which servers would take for removed.
func (s *subscription) openNamed() *Request {
	request := &Request{InitialResourceVersions: map[string]string{}}
	size := 0
	s.changed = false
	for _, resource := range slices.Sorted(maps.Keys(s.names)) {
		n := s.names[resource]
		if !n.wanted {
			continue
		}
		if size += 2*len(resource) + len(n.version) + 2*perName; size > maxRequest {
			s.changed = true
			break
		}
		n.told = true
		request.ResourceNamesSubscribe = append(request.ResourceNamesSubscribe, resource)
		if n.tellable() {
			request.InitialResourceVersions[resource] = n.version
		}
	}
	if len(request.ResourceNamesSubscribe) == 0 {
		return nil
	}
	s.opened = true
	return request
}

// differ returns a request that brings subscriptions closer to what is wanted, or nil if they agree. What is
// requested again is unsubscribed by this request and subscribed by the next.
func (s *subscription) differ() *Request {
	request := &Request{}
	size := 0
	s.changed = false
	for _, resource := range slices.Sorted(maps.Keys(s.names)) {
		n := s.names[resource]
		leave, enter := n.told && (!n.wanted || n.again), n.wanted && !n.told
		if !leave && !enter {
			continue
		}
		if size += len(resource) + perName; size > maxRequest {
			s.changed = true
			break
		}
		n.told, n.again = enter, false
		if enter {
			request.ResourceNamesSubscribe = append(request.ResourceNamesSubscribe, resource)
			continue
		}
		request.ResourceNamesUnsubscribe = append(request.ResourceNamesUnsubscribe, resource)
		s.changed = s.changed || n.wanted
		s.tidy(resource)
	}
	if size == 0 {
		return nil
	}
	return request
}
