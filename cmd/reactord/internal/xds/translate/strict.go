package translate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/httppb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// reading is a place in a resource that is read, and what is wrong with the resource.
type reading struct {
	path string
	errs *[]error
}

func newReading() reading { return reading{errs: new([]error)} }

// at is a place below r.
func (r reading) at(format string, args ...any) reading {
	below := fmt.Sprintf(format, args...)
	if r.path != "" {
		below = r.path + "." + below
	}
	return reading{below, r.errs}
}

// refuse adds what is wrong at this place.
func (r reading) refuse(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if r.path != "" {
		text = r.path + ": " + text
	}
	*r.errs = append(*r.errs, errors.New(text))
}

// note is something that is honoured, and that people should know.
type note string

func (n note) Error() string { return string(n) }

// remark adds something that people should know of this place.
func (r reading) remark(text string) { *r.errs = append(*r.errs, note(r.path+": "+text)) }

// remarks returns what was added by remark.
func (r reading) remarks() (all []string) {
	for _, err := range *r.errs {
		if n, ok := err.(note); ok { //nolint:errorlint // they are not wrapped
			all = append(all, string(n))
		}
	}
	return all
}

// failed joins what is wrong; nil: nothing.
func (r reading) failed() error {
	return errors.Join(slices.DeleteFunc(slices.Clone(*r.errs), func(err error) bool {
		_, is := err.(note) //nolint:errorlint // they are not wrapped
		return is
	})...)
}

// strict refuses what is set in a message and is not in the subset. It does not look into an Any.
func (r reading) strict(m proto.Message) {
	if _, ok := m.(*httppb.HttpConnectionManager); ok {
		return // which is refused as a whole, or not looked at as a whole
	}
	for _, text := range envoypb.Unknown(m) {
		if r.path != "" {
			text = r.path + "." + text
		}
		*r.errs = append(*r.errs, errors.New(text))
	}
}

// only refuses a setting that has another value than the one that is supported.
func (r reading) only(ok bool, why string) {
	if !ok {
		r.refuse("%s", why)
	}
}

// longest is the longest duration of a setting: a longer one is a mistake.
const longest = 10 * 365 * 24 * time.Hour

// duration is a duration that is not negative; without one, the default.
func (r reading) duration(d *durationpb.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	switch t := d.AsDuration(); {
	case d.CheckValid() != nil || t < 0:
		r.refuse("it is not a duration")
	case t > 0 && t < time.Millisecond || t > longest:
		r.refuse("%s is out of range: write 0s, or 1 ms to ten years", t)
	default:
		return t
	}
	return otherwise
}

// unpack is the message in an Any, with nothing in it that is unknown; nil: that was refused.
func (r reading) unpack(a *anypb.Any) proto.Message {
	if a == nil {
		r.refuse("there is no typed_config")
		return nil
	}
	m, err := envoypb.Unpack(a)
	if err != nil {
		r.refuse("%v", err)
		return nil
	}
	r.strict(m)
	return m
}

// decode reads a resource.
func (r reading) decode(body []byte, m proto.Message) bool {
	if err := proto.Unmarshal(body, m); err != nil {
		r.refuse("these bytes are no %s: %v", m.ProtoReflect().Descriptor().FullName(), err)
		return false
	}
	r.strict(m)
	return true
}

// name compares the name that a resource is sent with to the one that it has.
func (r reading) name(sent, own string) {
	if sent != own {
		r.at("name").refuse("%q is sent as %q", own, sent)
	}
	if fault := nameFault(sent); fault != "" {
		r.at("name").refuse("%q %s", sent, fault)
	}
}

// indexed is an entry of the list r.
func (r reading) indexed(i int) reading { return reading{fmt.Sprintf("%s[%d]", r.path, i), r.errs} }
