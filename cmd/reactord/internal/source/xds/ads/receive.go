package ads

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// Errors of a response as a whole.
var (
	// ErrNoStream means that no stream is open.
	ErrNoStream = errors.New("response without a stream")

	// ErrUnanswered means that an earlier response of the same type has not been answered, or that too many answers
	// are unsent. The response was not read: keep it, read nothing more from the stream, and pass it again after
	// Answer and Next.
	ErrUnanswered = errors.New("an earlier response of this type is unanswered")

	// ErrNonce means that a response cannot be answered. The stream is useless: end it.
	ErrNonce = fmt.Errorf("response without a nonce, or with one longer than %d bytes", MaxNonce)

	// ErrType means that the type was not requested on this stream. The response is ignored and not answered, because
	// an answer would request the type.
	ErrType = errors.New("response of a type that was not requested")
)

// Receive judges a response, and returns an update to apply and to answer with [Machine.Answer], even if it is empty.
// Errors wrap those above; except after [ErrNonce], the stream continues.
func (m *Machine) Receive(now time.Time, r *Response) (*Update, error) {
	if !m.live {
		return nil, ErrNoStream
	}
	s := m.of(Type(r.GetTypeUrl()))
	if s == nil || !s.opened {
		m.received = true
		return nil, fmt.Errorf("%w: %.256q", ErrType, r.GetTypeUrl())
	}
	if s.out != nil || len(s.answers) >= maxWaiting {
		return nil, ErrUnanswered
	}
	if r.GetNonce() == "" || len(r.GetNonce()) > MaxNonce {
		return nil, ErrNonce
	}
	m.received = true
	s.startSettling(now, m.config.Settle)
	if n := s.names[Wildcard]; n != nil {
		n.known = true
	}
	u := &Update{
		Type: s.kind, Version: r.GetSystemVersionInfo(), Refused: map[string]error{},
		received: now, stream: m.stream, nonce: r.GetNonce(),
	}
	j := judge{s, u, occurrences(r), m.config.MaxResources - len(s.names)}
	for _, resource := range r.GetResources() {
		j.resource(resource)
	}
	for _, resource := range removals(r) {
		j.removal(resource)
	}
	for _, e := range r.GetResourceErrors() {
		j.failure(e)
	}
	s.out = u
	return u, nil
}

// removals returns the names of removed resources.
func removals(r *Response) []string {
	names := r.GetRemovedResources()
	for _, n := range r.GetRemovedResourceNames() {
		names = append(slices.Clip(names), n.GetName())
	}
	return names
}

// occurrences counts how often each name is set or removed.
func occurrences(r *Response) map[string]int {
	counts := make(map[string]int, len(r.GetResources()))
	for _, resource := range r.GetResources() {
		counts[resource.GetName()]++
	}
	for _, resource := range removals(r) {
		counts[resource]++
	}
	return counts
}

// judge sorts the contents of a response into an update.
type judge struct {
	s     *subscription
	u     *Update
	times map[string]int
	room  int // for names that are new
}

// refuse records what is wrong with a resource. Overlong names are shortened.
func (j *judge) refuse(resource string, format string, args ...any) {
	if len(resource) > MaxName {
		resource = strings.ToValidUTF8(resource[:maxReason/4], "") + "…"
	}
	j.u.Refused[resource] = fmt.Errorf(format, args...)
	if n := j.s.names[resource]; n != nil {
		n.known = true
	}
}

// name reports whether a name can be set or removed, and refuses it otherwise.
func (j *judge) name(resource string) bool {
	switch {
	case resource == "":
		j.refuse(resource, "resource without a name")
	case resource == Wildcard:
		j.refuse(resource, "this name is reserved for the wildcard")
	case len(resource) > MaxName:
		j.refuse(resource, "name longer than %d bytes", MaxName)
	case j.times[resource] > 1:
		j.refuse(resource, "contained %d times in the response", j.times[resource])
	default:
		return true
	}
	return false
}

func (j *judge) resource(r *discoverypb.Resource) {
	resource, version := r.GetName(), r.GetVersion()
	if !j.name(resource) {
		return
	}
	if !j.s.wants(resource) {
		j.u.Ignored++
		return
	}
	n := j.s.names[resource]
	if n == nil {
		if j.room <= 0 {
			j.refuse(resource, "more resources of this type than reactord accepts")
			return
		}
		j.room--
		n = j.s.get(resource)
	}
	n.known = true
	j.s.mention(n, r.GetResource() != nil, version)
	if !(n.held && version == n.version) && !(n.refused != "" && version == n.refusedVersion) {
		j.u.news = true
	}
	ttl, err := lifetime(r)
	switch {
	case err != nil:
		j.refuse(resource, "%w", err)
	case len(version) > MaxVersion:
		j.refuse(resource, "version longer than %d bytes", MaxVersion)
	case r.GetResource() == nil && n.held && version == n.version:
		// A heartbeat extends its lifetime.
		j.s.setExpiry(n, expiry(j.u.received, ttl))
	case r.GetResource() == nil:
		j.refuse(resource, "no content, and version %.64q is not the one that is held", version)
	case !sameType(r.GetResource().GetTypeUrl(), j.u.Type):
		j.refuse(resource, "type %.256q in a response of another type", r.GetResource().GetTypeUrl())
	default:
		j.u.Set = append(j.u.Set, Resource{resource, version, r.GetResource().GetValue(), ttl})
	}
}

func (j *judge) removal(resource string) {
	if !j.name(resource) {
		return
	}
	if !j.s.wants(resource) {
		j.u.Ignored++
		return
	}
	if n := j.s.names[resource]; n != nil {
		j.s.mention(n, false, "")
		j.u.news = j.u.news || n.held || n.refused != "" || !n.known
	}
	j.u.Removed = append(j.u.Removed, resource)
}

// failure records that the server cannot send a resource. Nothing changes, but it is not waited for.
func (j *judge) failure(e *discoverypb.ResourceError) {
	resource := e.GetResourceName().GetName()
	if n := j.s.names[resource]; n != nil && j.s.wants(resource) {
		n.known = true
		j.u.fail(resource, e.GetErrorDetail())
	}
}

// lifetime returns how long a resource is valid, or 0 for no limit.
func lifetime(r *discoverypb.Resource) (time.Duration, error) {
	if r.GetTtl() == nil {
		return 0, nil
	}
	if err := r.GetTtl().CheckValid(); err != nil || r.GetTtl().AsDuration() <= 0 {
		return 0, fmt.Errorf("ttl %v is not a positive duration", r.GetTtl().AsDuration())
	}
	return r.GetTtl().AsDuration(), nil
}

// expiry returns when a resource expires, or zero for never.
func expiry(received time.Time, ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	return received.Add(ttl)
}

// sameType compares type URLs by the name of the message: the part before it only locates the definition.
func sameType(url string, t Type) bool {
	return url[strings.LastIndexByte(url, '/')+1:] == string(t)[strings.LastIndexByte(string(t), '/')+1:]
}
