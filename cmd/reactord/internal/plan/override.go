package plan

import (
	"cmp"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// ServerKey identifies a server across plans.
type ServerKey struct {
	Backend string
	Address serveraddr.Addr
}

// Override is what an operator has set of a server. It stays until it is replaced or the backend is removed, whether or
// not a source has the server. A nil field leaves the setting as the server's source has it.
type Override struct {
	// Added has the server that an operator has added; nil if there is none. It counts as the last source: as long as
	// another one has the address, the settings of that one apply.
	Added *Added
	// Removed leaves the server out, whatever source has it. It excludes everything else.
	Removed bool

	State          *State
	Weight         *int
	MaxConnections *int
	Health         Health
	Until          time.Time // when Health becomes [HealthAuto]; zero: never

	// Name is the name of the server when it was overridden, for people: it may be in no plan later.
	Name string
	Stamp
}

// Added is a server that an operator has added.
type Added struct {
	Name           string // "": the address
	Weight         int
	MaxConnections int
	Priority       int
	Backup         bool
	Locality       string
}

// Stamp says who has set something, and when.
type Stamp struct {
	By string // a name for people; "" if it is not known
	At time.Time
}

// Reset returns o without what overrides a source.
func (o Override) Reset() Override {
	if o.Added == nil {
		return Override{}
	}
	return Override{Added: o.Added, Name: o.Name, Stamp: o.Stamp}
}

// IsZero reports whether o overrides nothing and adds nothing.
func (o Override) IsZero() bool { return o.Added == nil && !o.Overrides() }

// Overrides reports whether o changes what a source says.
func (o *Override) Overrides() bool {
	return o.Removed || o.State != nil || o.Weight != nil || o.MaxConnections != nil || o.Health != HealthAuto
}

// Check returns an error if o is not valid.
func (o Override) Check() error {
	if w := o.Weight; w != nil && (*w < 0 || *w > maxWeight) {
		return fmt.Errorf("weight %d is out of range: write 0 to %d", *w, maxWeight)
	}
	if n := o.MaxConnections; n != nil && *n < 0 {
		return fmt.Errorf("max_connections %d is negative", *n)
	}
	if o.Health >= Health(len(healths)) {
		return fmt.Errorf("%s is unknown", o.Health)
	}
	if a := o.Added; a != nil {
		s := a.server(serveraddr.Addr{}, "")
		if text := s.settingsProblem(); text != "" {
			return fmt.Errorf("%s", text)
		}
	}
	return nil
}

// Overridden is the prefix of the Origin of a server with an [Override].
const Overridden = "override of "

// ByHand is the Origin of a server that only an operator has added.
const ByHand = "by hand"

// server returns the server as a source would report it.
func (a *Added) server(at serveraddr.Addr, by string) Server {
	origin := ByHand
	if by != "" {
		origin += ", by " + by
	}
	return Server{
		Name: a.Name, Address: at, Weight: a.Weight, MaxConnections: a.MaxConnections, Priority: a.Priority,
		Backup: a.Backup, Locality: a.Locality, Origin: origin,
	}
}

// apply lays o over a server.
func (o *Override) apply(s *Server) {
	if !o.Overrides() {
		return
	}
	s.Origin = Overridden + s.Origin
	if o.State != nil {
		s.State, s.Reason = *o.State, "set by "+o.who()
	}
	if o.Weight != nil {
		s.Weight = *o.Weight
	}
	if o.MaxConnections != nil {
		s.MaxConnections = *o.MaxConnections
	}
	if s.Health = o.Health; o.Health == HealthAuto {
		return
	}
	s.HealthReason = fmt.Sprintf("forced %s by %s", o.Health, o.who())
	if !o.Until.IsZero() {
		s.HealthReason += " until " + o.Until.UTC().Format(time.RFC3339)
	}
}

// who returns the operator, for people.
func (s *Stamp) who() string { return cmp.Or(s.By, "an operator") }
