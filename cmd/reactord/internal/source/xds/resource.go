package xds

import (
	"fmt"
	"strings"
	"time"
)

// content is a version of a resource. Equal contents are the same pointer, whatever their versions.
type content struct {
	value   value
	version string
	body    []byte
	at      time.Time // when it was received
	fault   error     // last known conflict with other resources, or nil
}

// resource is a resource with its known contents.
type resource struct {
	kind kind
	name string

	got  *content // latest valid content; nil if none, or removed
	used *content // content in force, or nil

	err     error     // why the latest version could not be decoded, or nil
	version string    // latest version
	told    time.Time // when it was received

	gone   bool   // removed by the control plane
	absent bool   // unknown to the control plane
	lacks  string // what got waits for, or ""
	held   bool   // got is held back, because it would remove too much

	state   State
	since   time.Time // start of the state
	problem string    // reason of the state
}

// State is the state of a resource.
type State uint8

// States of a resource.
const (
	Requested State = iota // requested, not received yet
	Accepted               // the latest version is in force
	Warming                // waits for other resources; the previous version stays in force
	Refused                // cannot be honoured; the previous version stays in force
	HeldBack               // removed, but in force for a while or as long as it is needed
	Absent                 // does not exist, according to the control plane
)

var stateNames = [...]string{"requested", "accepted", "warming", "refused", "held back", "absent"}

// States returns the names of all states.
func States() []string { return stateNames[:] }

// String returns the name of the state.
func (s State) String() string { return stateNames[s] }

// judge returns the state of r, and the reason for it.
func (r *resource) judge() (State, string) {
	switch {
	case r.err != nil:
		return Refused, r.err.Error()
	case r.got != nil && r.got.fault != nil:
		return Refused, r.got.fault.Error()
	case r.got == nil && r.used != nil && r.used.fault != nil:
		return Refused, r.used.fault.Error()
	case r.got == nil && r.used != nil:
		return HeldBack, "removed by the control plane"
	case r.gone && r.got != nil:
		return HeldBack, "removed by the control plane, but still needed"
	case r.held:
		return HeldBack, "would remove too much in one push"
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

// receive stores a received version.
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

// remove handles the removal of the resource. Endpoints and secrets stay as long as they are wanted: the control
// plane removes what needs them, too.
func (r *resource) remove(now time.Time) {
	r.err, r.told = nil, now
	if r.used != nil {
		r.version = r.used.version // not that of a refused one
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

// options returns the contents that may be put in force, best first.
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
