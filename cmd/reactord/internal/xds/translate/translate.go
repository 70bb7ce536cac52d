package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// Type is what a resource is.
type Type string

// The types of resources.
const (
	TypeListener  Type = "listener"
	TypeCluster   Type = "cluster"
	TypeEndpoints Type = "endpoints"
	TypeSecret    Type = "secret"
)

// Set is the resources that a plan's part is made of, by name. It is complete: what a listener or cluster needs is in
// it, unless that does not exist.
type Set struct {
	Listeners map[string]*Listener
	Clusters  map[string]*Cluster
	Endpoints map[string]*Endpoints
	Secrets   map[string]*Secret
}

// Fault is what is wrong with a resource beside others.
type Fault struct {
	Type Type
	Name string
	Err  error
}

// Error says what is wrong with which resource.
func (f Fault) Error() string { return fmt.Sprintf("%s %s: %v", f.Type, f.Name, f.Err) }

// Build makes the part of a plan. A resource with a fault is not in it, and neither is what needs it. The faults are in
// the order of their types and names.
func Build(s *Set) (*plan.Control, []Fault) {
	b := &builder{set: s, control: &plan.Control{}}
	return b.control, b.faults
}

// builder is the state of [Build].
type builder struct {
	set     *Set
	control *plan.Control
	faults  []Fault
}

// sorted is the names of resources, in order.
func sorted[R any](all map[string]R) []string { return slices.SortedFunc(maps.Keys(all), cmp.Compare) }
