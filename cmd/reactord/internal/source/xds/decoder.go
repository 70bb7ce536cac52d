package xds

import (
	"fmt"
	"runtime/debug"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/translate"
)

// kind is a type of resource. Kinds are ordered by dependency: a kind depends only on those before it.
type kind uint8

const (
	secrets kind = iota
	endpoints
	clusters
	listeners
	kinds
)

var (
	types     = [kinds]ads.Type{ads.Secret, ads.Endpoints, ads.Cluster, ads.Listener}
	kindNames = [kinds]string{"secret", "endpoints", "cluster", "listener"}
)

// String returns the name of the kind.
func (k kind) String() string { return kindNames[k] }

// kindOf returns the kind of a type, or false for an unknown one.
func kindOf(t ads.Type) (kind, bool) {
	for k, known := range types {
		if known == t {
			return kind(k), true //nolint:gosec // there are four
		}
	}
	return 0, false
}

// value is a decoded resource. It is immutable.
type value interface {
	same(other value) bool
	needs(k kind) []string // names of the resources that it needs to be warm
	size() int             // number of servers
	remarks() []string     // warnings about an honoured resource
}

// set is the resources of which a part of the plan is built.
type set struct {
	of    [kinds]map[string]value // by name
	claim map[string]claim        // by listener
}

// claim is the strength of a listener's claim to its address: the lowest one wins.
type claim = translate.Claim

// fault is a resource's conflict with others.
type fault struct {
	kind kind
	name string
	err  error
}

// decoder decodes resources and builds parts of the plan.
type decoder interface {
	decode(k kind, name string, body []byte) (value, error)
	build(s *set) (*plan.Control, []fault)
}

// panicked is the error of a panic, which is a bug of this program. It is logged with the stack.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("internal error of reactord: %v", p.value) }

// guarded turns panics of a decoder into errors.
type guarded struct{ decoder }

func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &panicked{v, debug.Stack()}
	}
}

func (c guarded) decode(k kind, name string, body []byte) (v value, err error) {
	defer recovered(&err)
	return c.decoder.decode(k, name, body)
}

// tryBuild calls build, and returns a panic as an error.
func (c guarded) tryBuild(s *set) (made *plan.Control, faults []fault, err error) {
	defer recovered(&err)
	made, faults = c.build(s)
	return made, faults, nil
}

// envoyDecoder decodes the resources of Envoy with package translate.
type envoyDecoder struct{}

type (
	listener struct{ *translate.Listener }
	cluster  struct{ *translate.Cluster }
	loads    struct{ *translate.Endpoints }
	secret   struct{ *translate.Secret }
)

func (envoyDecoder) decode(k kind, name string, body []byte) (value, error) {
	switch k {
	case listeners:
		l, err := translate.DecodeListener(name, body)
		return listener{l}, err
	case clusters:
		c, err := translate.DecodeCluster(name, body)
		return cluster{c}, err
	case endpoints:
		e, err := translate.DecodeEndpoints(name, body)
		return loads{e}, err
	default:
		s, err := translate.DecodeSecret(name, body)
		return secret{s}, err
	}
}

var kindOfFault = map[translate.Type]kind{
	translate.TypeListener: listeners, translate.TypeCluster: clusters, translate.TypeEndpoints: endpoints,
	translate.TypeSecret: secrets,
}

func (envoyDecoder) build(s *set) (*plan.Control, []fault) {
	t := translate.Set{
		Listeners: map[string]*translate.Listener{}, Clusters: map[string]*translate.Cluster{},
		Endpoints: map[string]*translate.Endpoints{}, Secrets: map[string]*translate.Secret{}, Claims: s.claim,
	}
	for name, v := range s.of[listeners] {
		t.Listeners[name] = v.(listener).Listener
	}
	for name, v := range s.of[clusters] {
		t.Clusters[name] = v.(cluster).Cluster
	}
	for name, v := range s.of[endpoints] {
		t.Endpoints[name] = v.(loads).Endpoints
	}
	for name, v := range s.of[secrets] {
		t.Secrets[name] = v.(secret).Secret
	}
	made, found := translate.Build(&t)
	faults := make([]fault, len(found))
	for i, f := range found {
		faults[i] = fault{kindOfFault[f.Type], f.Name, f.Err}
	}
	return made, faults
}

func (l listener) same(other value) bool { return l.Same(other.(listener).Listener) }
func (l listener) size() int             { return 0 }
func (l listener) remarks() []string     { return l.Remarks() }

func (l listener) ready() (r ReadyListener, ok bool) {
	r.Address, r.Path, ok = l.Ready()
	return r, ok
}

func (l listener) needs(k kind) []string {
	switch k {
	case clusters:
		return l.Clusters()
	case secrets:
		return l.Secrets()
	default:
		return nil
	}
}

func (c cluster) same(other value) bool { return c.Same(other.(cluster).Cluster) }
func (c cluster) size() int             { return 0 }
func (c cluster) remarks() []string     { return c.Remarks() }
func (c cluster) needs(k kind) []string {
	switch k {
	case endpoints:
		if name := c.Endpoints(); name != "" {
			return []string{name}
		}
	case secrets:
		return c.Secrets()
	default:
	}
	return nil
}

func (e loads) same(other value) bool { return e.Same(other.(loads).Endpoints) }
func (e loads) needs(kind) []string   { return nil }
func (e loads) size() int             { return e.Len() }
func (e loads) remarks() []string     { return nil }

func (s secret) same(other value) bool { return s.Same(other.(secret).Secret) }
func (s secret) needs(kind) []string   { return nil }
func (s secret) size() int             { return 0 }
func (s secret) remarks() []string     { return s.Remarks() }
