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

// Override is an operator's setting of a server. It stays until it is replaced, or the backend is removed. A nil field
// leaves the setting as the server's source has it.
type Override struct {
	State  *State
	Weight *int
}

// IsZero reports whether o overrides nothing.
func (o Override) IsZero() bool { return o == Override{} }

// Check returns an error if o is not valid.
func (o Override) Check() error {
	if w := o.Weight; w != nil && (*w < 0 || *w > maxWeight) {
		return fmt.Errorf("weight %d is out of range: write 0 to %d", *w, maxWeight)
	}
	return nil
}

// Overridden is the prefix of the Origin of a server with an [Override].
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
