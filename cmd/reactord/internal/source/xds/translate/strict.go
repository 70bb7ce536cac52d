package translate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/httppb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// reading is a place in a resource being read, with the errors of the whole resource.
type reading struct {
	path string
	errs *[]error
}

func newReading() reading { return reading{errs: new([]error)} }

// at returns a place below r.
func (r reading) at(format string, args ...any) reading {
	below := fmt.Sprintf(format, args...)
	if r.path != "" {
		below = r.path + "." + below
	}
	return reading{below, r.errs}
}

// refuse adds an error at this place.
func (r reading) refuse(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if r.path != "" {
		text = r.path + ": " + text
	}
	*r.errs = append(*r.errs, errors.New(text))
}

// note is a warning about a setting that is honoured.
type note string

func (n note) Error() string { return string(n) }

// remark adds a warning at this place.
func (r reading) remark(text string) { *r.errs = append(*r.errs, note(r.path+": "+text)) }

// remarks returns the warnings.
func (r reading) remarks() (all []string) {
	for _, err := range *r.errs {
		if n, ok := err.(note); ok { //nolint:errorlint // they are not wrapped
			all = append(all, string(n))
		}
	}
	return all
}

// failed joins the errors, or returns nil.
func (r reading) failed() error {
	return errors.Join(slices.DeleteFunc(slices.Clone(*r.errs), func(err error) bool {
		_, is := err.(note) //nolint:errorlint // they are not wrapped
		return is
	})...)
}

// strict refuses fields of a message that are outside the subset. It does not look into an Any.
func (r reading) strict(m proto.Message) {
	if _, ok := m.(*httppb.HttpConnectionManager); ok {
		return // refused or ignored as a whole
	}
	for _, text := range envoypb.Unknown(m) {
		if r.path != "" {
			text = r.path + "." + text
		}
		*r.errs = append(*r.errs, errors.New(text))
	}
}

// only refuses a setting whose value is not supported.
func (r reading) only(ok bool, why string) {
	if !ok {
		r.refuse("%s", why)
	}
}

// longest is the largest duration of a setting: a longer one is a mistake.
const longest = 10 * 365 * 24 * time.Hour

// duration reads a nonnegative duration, or the default if it is unset.
func (r reading) duration(d *durationpb.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	switch t := d.AsDuration(); {
	case d.CheckValid() != nil || t < 0:
		r.refuse("not a duration")
	case t > 0 && t < time.Millisecond || t > longest:
		r.refuse("%s is out of range: write 0s, or 1 ms to ten years", t)
	default:
		return t
	}
	return otherwise
}

// unpack returns the message in an Any, free of unknown fields, or nil if it was refused.
func (r reading) unpack(a *anypb.Any) proto.Message {
	if a == nil {
		r.refuse("typed_config is missing")
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

// decode decodes a resource.
func (r reading) decode(body []byte, m proto.Message) bool {
	if err := proto.Unmarshal(body, m); err != nil {
		r.refuse("cannot decode %s: %v", m.ProtoReflect().Descriptor().FullName(), err)
		return false
	}
	r.strict(m)
	return true
}

// name compares the name of a resource with the one it was sent under.
func (r reading) name(sent, own string) {
	if sent != own {
		r.at("name").refuse("%q does not match the resource name %q", own, sent)
	}
	if fault := nameFault(sent); fault != "" {
		r.at("name").refuse("%q %s", sent, fault)
	}
}

// indexed returns the place of an entry of the list r.
func (r reading) indexed(i int) reading { return reading{fmt.Sprintf("%s[%d]", r.path, i), r.errs} }
