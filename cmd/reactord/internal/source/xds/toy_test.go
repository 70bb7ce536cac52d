package xds

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toy is a resource of a small decoder: JSON.
type toy struct {
	Needs   [kinds][]string `json:",omitzero"`
	Port    int             `json:",omitempty"` // of a listener
	Servers []string        `json:",omitempty"` // of endpoints
	Wrong   string          `json:",omitempty"` // it is refused when it is read
	Panic   string          `json:",omitempty"` // "decode" or "build"
	Fault   string          `json:",omitempty"` // it is refused beside others
	Strict  bool            `json:",omitempty"` // it is refused without its endpoints
}

func (t *toy) same(other value) bool { return reflect.DeepEqual(t, other) }
func (t *toy) needs(k kind) []string { return t.Needs[k] }
func (t *toy) size() int             { return len(t.Servers) }
func (t *toy) remarks() []string     { return nil }

func (t *toy) body() []byte {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return text
}

// The resources that tests have.
func toyListener(port int, clustersOf ...string) *toy {
	t := &toy{Port: port}
	t.Needs[clusters] = clustersOf
	return t
}

func toyCluster(name string) *toy {
	t := &toy{}
	t.Needs[endpoints] = []string{name}
	return t
}

func toyEndpoints(servers ...string) *toy { return &toy{Servers: servers} }

// toys is the decoder.
type toys struct{}

func (toys) decode(_ kind, _ string, body []byte) (value, error) {
	t := &toy{}
	if err := json.Unmarshal(body, t); err != nil {
		return nil, err
	}
	if t.Panic == "decode" {
		panic("toy")
	}
	if t.Wrong != "" {
		return nil, errors.New(t.Wrong)
	}
	return t, nil
}

func (toys) build(s *set) (*plan.Control, []fault) {
	c := &plan.Control{Servers: map[string][]plan.Server{}}
	var faults []fault
	for k := range s.of {
		for name, v := range s.of[k] {
			t := v.(*toy)
			if t.Panic == "build" {
				panic("toy")
			}
			if t.Fault != "" {
				faults = append(faults, fault{kind(k), name, errors.New(t.Fault)})
			}
			for _, e := range t.needs(endpoints) {
				if t.Strict && s.of[endpoints][e] == nil {
					faults = append(faults, fault{kind(k), name, fmt.Errorf("no endpoints %s", e)})
				}
			}
		}
	}
	names := slices.Sorted(maps.Keys(s.of[listeners]))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(s.claim[a], s.claim[b]) })
	taken := map[int]string{}
	for _, name := range names {
		v := s.of[listeners][name]
		if by := taken[v.(*toy).Port]; by != "" {
			faults = append(faults, fault{listeners, name, fmt.Errorf("the port is that of %s", by)})
			continue
		}
		taken[v.(*toy).Port] = name
		for _, needed := range v.needs(clusters) {
			l := config.NewListener()
			l.Name, l.Backend = name, needed
			l.Address = config.Address{Host: "127.0.0.1", Port: uint16(v.(*toy).Port)}
			c.Listeners = append(c.Listeners, l)
			b := config.NewBackend()
			b.Name = needed
			if !slices.ContainsFunc(c.Backends, func(b config.Backend) bool { return b.Name == needed }) {
				c.Backends = append(c.Backends, b)
			}
			if s.of[clusters][needed] == nil || c.Servers[needed] != nil {
				continue
			}
			for _, e := range s.of[clusters][needed].needs(endpoints) {
				if of := s.of[endpoints][e]; of != nil {
					for _, at := range of.(*toy).Servers {
						c.Servers[needed] = append(c.Servers[needed], plan.Server{Address: serveraddr.MustParse(at), Weight: 1})
					}
				}
			}
		}
	}
	return c, faults
}

// describe is a part of the plan for comparison.
func describe(c *plan.Control) map[string]string {
	all := map[string]string{}
	for i := range c.Listeners {
		l := &c.Listeners[i]
		text := fmt.Sprintf("%d %s", l.Address.Port, l.Backend)
		for _, s := range c.Servers[l.Backend] {
			text += " " + s.Address.String()
		}
		all[l.Name] = text
	}
	return all
}
