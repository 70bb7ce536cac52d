package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Problem is a mistake in a [Config].
type Problem struct {
	// Path is the path of the setting, as in "backends[0].servers[1].address".
	Path string
	// Setting is the name of the setting if Text begins with its value, and empty otherwise.
	Setting string
	// Text says what is wrong and what to write instead, as a single line.
	Text string
	// Other is the path of a second setting involved, or empty.
	Other string
	// Err is the system's error behind the problem, or nil. With it, the setting itself may be right.
	Err error

	because string // the path of the setting that makes the one at Path have no effect
	either  bool   // of the settings at Path and Other, only one may be set
}

// String formats the problem as a single line that names the setting.
func (p Problem) String() string { return strings.TrimPrefix(p.Setting+" "+p.Text, " ") }

// Validate returns every problem: first values that break the rule of their setting, then settings that contradict
// each other.
func (c *Config) Validate() []Problem { return c.ValidateAdded(len(c.Listeners), len(c.Backends)) }

// ValidateAdded validates a configuration whose listeners and backends from these indices on come from a control plane,
// which chooses their names. Its backends may have no servers.
func (c *Config) ValidateAdded(listeners, backends int) []Problem {
	v := validator{ownListeners: listeners, ownBackends: backends}
	v.section(nil, root, reflect.ValueOf(c).Elem())
	v.config(c)
	return v.problems
}

type validator struct {
	problems                  []Problem
	ownListeners, ownBackends int // counts of those from the file
}

// added reports whether a setting belongs to a listener or backend from a control plane.
func (v *validator) added(at *step) bool {
	for at.up != nil {
		at = at.up
	}
	return at.key == "listeners" && at.index >= v.ownListeners || at.key == "backends" && at.index >= v.ownBackends
}

// step is a path of settings, linked from the last to the first. A nil step is the whole configuration.
type step struct {
	up    *step
	key   string
	index int // of an entry of the list key, or -1
}

// of returns the path of a setting below s.
func (s *step) of(key string) *step { return &step{s, key, -1} }

// nth returns the path of an entry of the list at s.
func (s *step) nth(i int) *step { return &step{s.up, s.key, i} }

func (s *step) String() string {
	if s == nil {
		return ""
	}
	text := s.key
	if s.index >= 0 {
		text += "[" + strconv.Itoa(s.index) + "]"
	}
	if s.up == nil {
		return text
	}
	return s.up.String() + "." + text
}

// name returns the name of the setting in messages.
func (s *step) name() string {
	if s.index >= 0 {
		return singular(s.key)
	}
	return s.key
}

// add adds a problem whose text is a sentence.
func (v *validator) add(at *step, format string, args ...any) *Problem {
	v.problems = append(v.problems, Problem{Path: at.String(), Text: fmt.Sprintf(format, args...)})
	return &v.problems[len(v.problems)-1]
}

// value adds a problem whose text begins with the value of the setting.
func (v *validator) value(at *step, format string, args ...any) *Problem {
	p := v.add(at, format, args...)
	p.Setting = at.name()
	return p
}

// vain adds a problem of a setting that has no effect because of another one.
func (v *validator) vain(at, because *step, format string, args ...any) {
	v.add(at, format, args...).because = because.String()
}

// either adds a problem of two settings that exclude each other.
func (v *validator) either(at, other *step, format string, args ...any) {
	p := v.add(at, format, args...)
	p.Other, p.either = other.String(), true
}

// section checks every value of a struct.
func (v *validator) section(at *step, s *shape, value reflect.Value) {
	for _, f := range s.fields {
		below, x := at.of(f.key), f.of(value)
		switch {
		case f.isList():
			for i := range x.Len() {
				v.one(below.nth(i), f, x.Index(i))
			}
		default:
			v.one(below, f, x)
		}
	}
}

// one checks a value.
func (v *validator) one(at *step, f *field, x reflect.Value) {
	if f.shape != nil {
		v.section(at, f.shape, x)
		return
	}
	r := &f.rule
	if r.needed != "" && x.IsZero() {
		v.add(at, "%s", r.needed)
		return
	}
	switch x.Kind() {
	case reflect.String:
		v.text(at, r, x.String())
	case reflect.Int, reflect.Int64:
		v.bounds(at, f, x.Int())
	case reflect.Uint32:
		v.bounds(at, f, int64(x.Uint()))
	default: // any boolean is valid, and addresses are parsed
	}
}

func (v *validator) text(at *step, r *rule, s string) {
	if r.oneOf != nil {
		if !r.oneOf.has(s) {
			v.value(at, "%s is unknown: %s", quote(s), cmp.Or(r.oneOf.translate(s), r.oneOf.didYouMean(s)))
		}
		return
	}
	wrong := isText(s)
	switch {
	case s == "":
	case r.name && v.added(at):
		wrong = cmp.Or(wrong, isForeignName(s))
	case r.form != nil:
		wrong = cmp.Or(wrong, r.form(s))
	}
	switch {
	case strings.HasPrefix(wrong, ":"):
		v.value(at, "%s%s", quote(s), wrong)
	case wrong != "":
		v.value(at, "%s %s", quote(s), wrong)
	}
}

func (v *validator) bounds(at *step, f *field, n int64) {
	r := &f.rule
	show := func(n int64) string { return formatNumber(f.typ, n) }
	switch {
	case r.max == 0 || r.zero && n == 0:
	case n >= r.min && n <= r.max:
		if r.step != 0 && n%r.step != 0 {
			v.value(at, "%s has a fraction: write a multiple of %s", show(n), show(r.step))
		}
	case r.zero:
		v.value(at, "%s is out of range: write %s, or %s to %s", show(n), show(0), show(r.min), show(r.max))
	default:
		v.value(at, "%s is out of range: write %s to %s", show(n), show(r.min), show(r.max))
	}
}

// formatNumber formats a number as in the file. t is the type of the setting.
func formatNumber(t reflect.Type, n int64) string {
	switch element(t) {
	case reflect.TypeFor[time.Duration]():
		return formatDuration(time.Duration(n))
	case reflect.TypeFor[Size]():
		return Size(n).String()
	case reflect.TypeFor[FileMode]():
		return FileMode(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// formatDuration formats a duration without zero units: 10m instead of 10m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
