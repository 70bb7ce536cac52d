package plan

import (
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// ServerKey identifies a server across plans.
type ServerKey struct {
	Backend string
	Address serveraddr.Addr
}

// Override is what an operator says about a server. It stays until it is replaced, or the file has no such backend any
// more. The zero Override leaves the server as its source says.
type Override struct {
	State  *State // nil: as the source says
	Weight *int   // likewise
}

// IsZero reports whether o overrides nothing.
func (o Override) IsZero() bool { return o == Override{} }

// Check returns what is wrong with o, or nil.
func (o Override) Check() error {
	if w := o.Weight; w != nil && (*w < 0 || *w > maxWeight) {
		return fmt.Errorf("weight %d is out of range: write 0 to %d", *w, maxWeight)
	}
	return nil
}

// Overridden is what the Origin of a server begins with that has an [Override].
const Overridden = "override of "

func (o Override) apply(s *Server) {
	if !o.IsZero() {
		s.Origin = Overridden + s.Origin
	}
	if o.State != nil {
		s.State = *o.State
	}
	if o.Weight != nil {
		s.Weight = *o.Weight
	}
}
