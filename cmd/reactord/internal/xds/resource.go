package xds

import (
	"fmt"
	"strings"
	"time"
)

// content is what a resource says. The same content is the same pointer, whatever its versions are.
type content struct {
	value   value
	version string
	body    []byte
	at      time.Time // when it was received
	fault   error     // why the plan cannot have it, as it was seen last; nil: nothing is known against it
}

// resource is what is known about a resource.
type resource struct {
	kind kind
	name string

	got  *content // what was received last and was understood; nil: nothing, or it was removed
	used *content // what the part of the plan in force is made of; nil: it is not in it

	err     error     // why what was received last was refused when it was read; nil: it was understood
	version string    // of what was received last
	told    time.Time // when

	gone   bool   // the control plane has removed it
	absent bool   // it has never had it
	lacks  string // what got waits for; "": nothing
	held   bool   // got is held back: it would remove too much

	state   State
	since   time.Time // of the state
	problem string    // with it
}

// State is what has become of a resource.
type State uint8

// The states of a resource.
const (
	Requested State = iota // it was asked for, and nothing has come
	Accepted               // what was received last is in force
	Warming                // it waits for other resources; what was in force before still is
	Refused                // it cannot be honoured; what was in force before still is
	HeldBack               // it was removed, and is in force for a while, or as long as something needs it
	Absent                 // the control plane says that it does not exist
)

var stateNames = [...]string{"requested", "accepted", "warming", "refused", "held back", "absent"}

// States are all states, as people read them.
func States() []string { return stateNames[:] }

// String is the state for people.
func (s State) String() string { return stateNames[s] }

// judge is the state of r, and what is to be said about it.
func (r *resource) judge() (State, string) {
	switch {
	case r.err != nil:
		return Refused, r.err.Error()
	case r.got != nil && r.got.fault != nil:
		return Refused, r.got.fault.Error()
	case r.got == nil && r.used != nil && r.used.fault != nil:
		return Refused, r.used.fault.Error()
	case r.got == nil && r.used != nil:
		return HeldBack, "the control plane has removed it"
	case r.gone && r.got != nil:
		return HeldBack, "the control plane has removed it, and something needs it"
	case r.held:
		return HeldBack, "it would remove too much together"
	case r.got != nil && r.got == r.used:
		return Accepted, strings.Join(r.got.value.remarks(), "; ")
	case r.got != nil:
		return Warming, r.lacks
	case r.absent || r.gone:
		return Absent, ""
	default:
		return Requested, ""
	}
}

// receive takes what was received.
func (r *resource) receive(v value, version string, body []byte, err error, now time.Time) {
	r.version, r.told, r.err, r.gone, r.absent = version, now, err, false, false
	if err != nil {
		return
	}
	for _, known := range []*content{r.got, r.used} {
		if known != nil && known.value.same(v) { // unchanged content is no change
			known.version, known.body = version, body
			r.got = known
			return
		}
	}
	r.got = &content{value: v, version: version, body: body, at: now}
}

// remove takes that it was removed. What is wanted by its name stays as long as it is wanted: who removes it has
// removed what needs it, or will.
func (r *resource) remove(now time.Time) {
	r.err, r.told = nil, now
	if r.used != nil {
		r.version = r.used.version // and not one that was refused
	}
	switch {
	case r.kind < clusters && r.got != nil:
		r.gone = true
	case r.got == nil && r.used == nil:
		r.absent = true
	default:
		r.gone, r.got = true, nil
	}
}

// options are the contents that may be in force, the best first.
func (r *resource) options() (all []*content) {
	if r.got != nil && r.got.fault == nil {
		all = append(all, r.got)
	}
	if r.used != nil && r.used != r.got && r.used.fault == nil {
		all = append(all, r.used)
	}
	return all
}

func (r *resource) String() string { return fmt.Sprintf("%s %q", r.kind, r.name) }
