package admin

import (
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// param is a parameter of an endpoint: a field of its input with a tag path or query.
type param struct {
	in    string // "path" or "query"
	name  string
	field reflect.StructField
}

// params lists the parameters of an input type, including embedded ones.
func params(t reflect.Type) (all []param) {
	for _, f := range reflect.VisibleFields(t) {
		for _, in := range []string{"path", "query"} {
			if name, ok := f.Tag.Lookup(in); ok {
				all = append(all, param{in, name, f})
			}
		}
	}
	return all
}

// get returns the text of the parameter in the input v, or "" if it is not set.
func (p param) get(v reflect.Value) string {
	f := v.FieldByIndex(p.field.Index)
	if f.IsZero() {
		return ""
	}
	return fmt.Sprint(f.Interface())
}

// set sets the parameter in the input v.
func (p param) set(v reflect.Value, text string) error {
	f := v.FieldByIndex(p.field.Index)
	var err error
	switch into := f.Addr().Interface().(type) {
	case *string:
		*into = text
	case *bool:
		*into, err = strconv.ParseBool(text)
	case *int:
		*into, err = strconv.Atoi(text)
	case *time.Duration:
		*into, err = parseDuration(text)
	case *netip.Prefix:
		*into, err = ParsePrefix(text)
	case encoding.TextUnmarshaler:
		err = into.UnmarshalText([]byte(text))
	default:
		panic("admin: no parameter can be of type " + f.Type().String())
	}
	if err == nil {
		err = check(f, p.field.Tag)
	}
	if err != nil {
		return fmt.Errorf("the parameter %s must be %s, not %q", p.name, want(p.field), clip(text))
	}
	return nil
}

// want describes the valid values of a field for a message.
func want(f reflect.StructField) string {
	if values, ok := f.Tag.Lookup("enum"); ok {
		return "one of " + strings.ReplaceAll(values, ",", ", ")
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a duration such as 500ms, 30s or 1h"
	case reflect.TypeFor[netip.Prefix]():
		return "an address or a prefix such as 192.0.2.1 or 192.0.2.0/24"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		if f.Tag.Get("min") != "" {
			return "a whole number from " + f.Tag.Get("min") + " to " + f.Tag.Get("max")
		}
		return "a whole number"
	default:
		return "text"
	}
}

// parseDuration parses a duration; a number without a unit is in seconds, as profiling tools write it.
func parseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("negative")
	}
	return d, err
}

// ParsePrefix parses a prefix of addresses, or a single address.
func ParsePrefix(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
		ip = ip.Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// decodeQuery sets the parameters of a query. Unknown and duplicate ones are errors.
func decodeQuery(all []param, v reflect.Value, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("cannot parse the query: %w", err)
	}
	var known []string
	for _, p := range all {
		if p.in != "query" {
			continue
		}
		known = append(known, p.name)
		switch given := values[p.name]; {
		case len(given) > 1:
			return fmt.Errorf("the parameter %s is given %d times", p.name, len(given))
		case len(given) == 1 && given[0] != "":
			if err := p.set(v, given[0]); err != nil {
				return err
			}
		}
		delete(values, p.name)
	}
	for name := range values {
		if len(known) == 0 {
			return fmt.Errorf("the parameter %q is unknown: this path has none", clip(name))
		}
		slices.Sort(known)
		return fmt.Errorf("the parameter %q is unknown: this path has %s", clip(name), strings.Join(known, ", "))
	}
	return nil
}

// check validates a value by the tags enum, min and max of its field. An unset value is valid.
func check(v reflect.Value, tag reflect.StructTag) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if values, ok := tag.Lookup("enum"); ok && !slices.Contains(strings.Split(values, ","), v.String()) {
		return errors.New("not one of its values")
	}
	if v.Kind() != reflect.Int {
		return nil
	}
	if n, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil && v.Int() < n {
		return errors.New("too small")
	}
	if n, err := strconv.ParseInt(tag.Get("max"), 10, 64); err == nil && v.Int() > n {
		return errors.New("too large")
	}
	return nil
}

// clip shortens foreign text for a message.
func clip(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
