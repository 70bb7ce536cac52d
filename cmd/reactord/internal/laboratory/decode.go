package laboratory

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// node holds a value of a file of cases with its place. It has one of the rest.
type node struct {
	at      yamltree.Position
	scalar  *yamltree.Scalar
	items   []node
	entries []yamltree.Entry[node]
}

// maker makes nodes.
type maker struct{}

// Scalar makes a node without children.
func (maker) Scalar(at yamltree.Position, s yamltree.Scalar) (node, error) {
	return node{at: at, scalar: &s}, nil
}

// List makes a node of items.
func (maker) List(at yamltree.Position, items []node) (node, error) {
	return node{at: at, items: append([]node{}, items...)}, nil
}

// Mapping makes a node of entries.
func (maker) Mapping(at yamltree.Position, entries []yamltree.Entry[node]) (node, error) {
	return node{at: at, entries: append([]yamltree.Entry[node]{}, entries...)}, nil
}

// decoder sets values by nodes, and collects what is wrong.
type decoder struct{ errs []*yamltree.Error }

func (d *decoder) add(at yamltree.Position, format string, args ...any) {
	d.errs = append(d.errs, at.Errorf(format, args...))
}

// read reads a file into a form, which is a pointer to a struct, and returns its first level. It reports false if the
// text is no YAML.
func (d *decoder) read(text []byte, form any) (top node, ok bool) {
	top, found, err := yamltree.Read(text, maxDepth, maker{})
	if at, wrong := errors.AsType[*yamltree.Error](err); wrong {
		d.errs = append(d.errs, at)
		return top, false
	}
	if !found {
		top = node{at: yamltree.Position{Line: 1, Column: 1}, entries: []yamltree.Entry[node]{}}
	}
	d.set(reflect.ValueOf(form).Elem(), top, "the file", "")
	return top, true
}

// placed returns mistakes with their file.
func placed(path string, wrong []*yamltree.Error) error {
	var errs []error
	for _, e := range wrong {
		errs = append(errs, &config.Error{File: path, Line: e.At.Line, Column: e.At.Column, Text: e.Text})
	}
	return errors.Join(errs...)
}

// set sets v, whose type is one of those that a file of cases has. key is what v is the value of. enum has the words
// that it may be, separated by commas; "" for any text.
func (d *decoder) set(v reflect.Value, n node, key, enum string) {
	if of, ok := reflect.TypeAssert[textValue](v.Addr()); ok && v.Kind() != reflect.Pointer {
		if err := of.UnmarshalText([]byte(d.text(n, key, ""))); err != nil {
			d.add(n.at, "%s: %v", key, err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.set(v.Elem(), n, key, enum)
	case reflect.Int:
		i, err := strconv.Atoi(d.text(n, key, ""))
		if err != nil || i < 0 {
			d.add(n.at, "%s is a whole number, and not negative", key)
		}
		v.SetInt(int64(i))
	case reflect.String:
		v.SetString(d.text(n, key, enum))
	case reflect.Bool:
		if b, ok := value[bool](n); ok {
			v.SetBool(b)
		} else {
			d.add(n.at, "%s is true or false", key)
		}
	case reflect.Float64:
		f, err := strconv.ParseFloat(d.text(n, key, ""), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.add(n.at, "%s is a number", key)
			f = 0
		}
		v.SetFloat(f)
	case reflect.Slice:
		d.list(v, n, key, enum)
	case reflect.Map:
		d.mapping(v, n, key)
	case reflect.Struct:
		d.fields(v, n, key)
	default:
		panic("laboratory: a case has no value of type " + v.Type().String())
	}
}

// value returns the value of a scalar, if it is of a type.
func value[T any](n node) (v T, ok bool) {
	if n.scalar != nil {
		v, ok = n.scalar.Value.(T)
	}
	return v, ok
}

func (d *decoder) text(n node, key, enum string) string {
	switch {
	case n.scalar == nil:
		d.add(n.at, "%s is text: write quotes around text with a colon or brackets", key)
		return ""
	case n.scalar.Value == nil:
		return ""
	}
	text := n.scalar.Text
	if words := strings.Split(enum, ","); enum != "" && !slices.Contains(words, text) {
		d.add(n.at, "%s %q is unknown: write one of %s", key, text, strings.Join(words, ", "))
	}
	return text
}

// list sets a slice, by a list or by its only item.
func (d *decoder) list(v reflect.Value, n node, key, enum string) {
	items := n.items
	if items == nil {
		items = []node{n}
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		d.set(v.Index(i), item, key, enum)
	}
}

func (d *decoder) mapping(v reflect.Value, n node, key string) {
	if n.entries == nil {
		d.add(n.at, "%s is a mapping, as in {KEY: VALUE}", key)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range n.entries {
		one := reflect.New(v.Type().Elem()).Elem()
		d.set(one, e.Value, e.Key, "")
		if v.MapIndex(reflect.ValueOf(e.Key)).IsValid() {
			d.add(e.At, "%s is there twice", e.Key)
		}
		v.SetMapIndex(reflect.ValueOf(e.Key), one)
	}
}

// fields sets a struct, whose fields have their keys in the tag yaml.
func (d *decoder) fields(v reflect.Value, n node, key string) {
	if n.entries == nil {
		d.add(n.at, "%s is a mapping, as in {KEY: VALUE}", key)
		return
	}
	var known []string
	at := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name := f.Tag.Get("yaml"); name != "" {
			known, at[name] = append(known, name), f
		}
	}
	seen := map[string]bool{}
	for _, e := range n.entries {
		f, ok := at[e.Key]
		switch {
		case !ok:
			d.add(e.At, "%s is unknown: write %s", e.Key, strings.Join(known, ", "))
		case seen[e.Key]:
			d.add(e.At, "%s is there twice", e.Key)
		default:
			d.set(v.FieldByIndex(f.Index), e.Value, e.Key, f.Tag.Get("enum"))
		}
		seen[e.Key] = true
	}
}

// maxDepth bounds the levels of a file of cases.
const maxDepth = 8
