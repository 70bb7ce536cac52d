package xds

import (
	"fmt"
	"runtime/debug"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/translate"
)

// kind is a type of resource, in the order in which resources need each other: those before need none of those after.
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

// String is the kind for people.
func (k kind) String() string { return kindNames[k] }

// kindOf is the kind of a type; false: it is none.
func kindOf(t ads.Type) (kind, bool) {
	for k, known := range types {
		if known == t {
			return kind(k), true //nolint:gosec // there are four
		}
	}
	return 0, false
}

// value is a resource that was understood. It does not change.
type value interface {
	same(other value) bool
	needs(k kind) []string // the names of the resources without which it is not warm
	size() int             // how many servers it has
	remarks() []string     // what people should know although it is honoured
}

// set is the resources that a part of the plan is made of.
type set struct {
	of    [kinds]map[string]value // by name
	claim map[string]claim        // of each listener
}

// claim is how good the claim of a listener to its address is: the lowest one has it.
type claim = translate.Claim

// fault is what is wrong with a resource beside others.
type fault struct {
	kind kind
	name string
	err  error
}

// language understands resources.
type language interface {
	decode(k kind, name string, body []byte) (value, error)
	build(s *set) (*plan.Control, []fault)
}

// panicked is the error of a panic: a fault of this program. It is logged with the stack.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("reactord has failed on it: %v", p.value) }

// careful is a language whose panics are errors.
type careful struct{ language }

func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &panicked{v, debug.Stack()}
	}
}

func (c careful) decode(k kind, name string, body []byte) (v value, err error) {
	defer recovered(&err)
	return c.language.decode(k, name, body)
}

// tryBuild is build with the error of a panic.
func (c careful) tryBuild(s *set) (made *plan.Control, faults []fault, err error) {
	defer recovered(&err)
	made, faults = c.build(s)
	return made, faults, nil
}

// envoy is the language of package translate.
type envoy struct{}

type (
	listener struct{ *translate.Listener }
	cluster  struct{ *translate.Cluster }
	loads    struct{ *translate.Endpoints }
	secret   struct{ *translate.Secret }
)

func (envoy) decode(k kind, name string, body []byte) (value, error) {
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

func (envoy) build(s *set) (*plan.Control, []fault) {
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
