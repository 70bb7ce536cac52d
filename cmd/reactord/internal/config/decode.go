package config

import (
	"encoding"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// decoder fills a Config from YAML nodes, guided by the types of the settings. It continues after an error, to report
// all of them.
type decoder struct {
	report
	includes
	sets sets // of defaults
}

// section reads a mapping into a struct. Messages call it name.
func (d *decoder) section(p *place, name string, n ast.Node, s *shape, v reflect.Value) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		or := ""
		if s.scalar != nil {
			or = "an address such as " + scheme + "127.0.0.1:8080, or "
		}
		such := ""
		if s.sample != "" {
			such = ": write it as in " + name + ": " + s.sample
		}
		d.fail(p, "%s is %sa mapping of %s, not %s%s", name, or, s.keys, describe(n), such)
		return
	}
	for entry := range p.in.entries(m) {
		d.setting(p, entry, s, v)
	}
}

// setting reads one entry of a mapping into the field of its key.
func (d *decoder) setting(p *place, entry *ast.MappingValueNode, s *shape, v reflect.Value) {
	at := yamltree.PositionOf(entry.Key)
	name, ok := entry.Key.(*ast.StringNode)
	if !ok {
		d.add(p.in, at, "a key is plain text, not %s", describe(entry.Key))
		return
	}
	f := s.byKey[name.Value]
	if f == nil {
		d.unknownKey(p, name.Value, at, s)
		return
	}
	if s == root && f.key == "defaults" && d.sets.read {
		return
	}
	if first := p.child(f.key); first != nil && first.key.Line != 0 {
		d.add(p.in, at, "%s is already set in line %d", f.key, first.key.Line)
		return
	}
	made := p.field(f.key, yamltree.PositionOf(entry.Value))
	made.key = at
	if f.isList() {
		d.list(made, f, entry.Value, f.of(v))
	} else {
		d.value(made, f.key, entry.Value, f.shape, f.of(v))
	}
}

// unknownKey adds an error. If a known key was probably meant, that one does not count as missing.
func (d *decoder) unknownKey(p *place, key string, at position, s *shape) {
	if s.single[key] {
		d.add(p.in, at, "%s is of one %s: write it there", key, strings.ToLower(s.typ.Field(0).Name))
		return
	}
	meant := s.keys.nearest(key)
	advice := s.keys.propose(meant)
	foreign := foreignKeys[fold(key)]
	switch {
	case foreign != "":
		meant, advice = "", foreign
	case s.sample != "" && meant == "":
		advice += ", as in " + s.sample
	}
	if meant == "" && foreign == "" {
		for _, f := range s.fields { // drain_timeout is timeout below drain
			rest, ok := strings.CutPrefix(key, f.key+"_")
			if ok && f.shape != nil && f.shape.byKey[rest] != nil {
				meant, advice = f.key, "write "+rest+" below "+f.key
			}
		}
	}
	d.addText(p.in, at, "key "+quote(key)+" is unknown: "+advice, nil)
	if meant != "" && p.child(meant) == nil {
		p.field(meant, at).failed = true
	}
}

// list reads the entries of a list.
func (d *decoder) list(p *place, f *field, n ast.Node, v reflect.Value) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(p, "%s is a list, not %s: put \"- \" before each entry", f.key, describe(n))
		return
	}
	all := reflect.MakeSlice(f.typ, len(s.Values), len(s.Values))
	for i, entry := range s.Values {
		made := p.entry(yamltree.PositionOf(entry))
		if f.shape != nil {
			all.Index(i).Set(f.shape.fresh)
		}
		base := d.base(made, entry, all.Index(i))
		d.value(made, singular(f.key), entry, f.shape, all.Index(i))
		d.inherit(made, base, all.Index(i))
	}
	if len(s.Values) == 0 {
		v.SetZero() // instead of what is inherited
		return
	}
	v.Set(all)
}

// value reads a node into a variable. Messages call the setting name.
func (d *decoder) value(p *place, name string, n ast.Node, s *shape, v reflect.Value) {
	if s != nil {
		if _, ok := n.(*ast.StringNode); ok && s.scalar != nil {
			made := p.field(s.scalar.key, p.at)
			d.value(made, name, n, nil, s.scalar.of(v))
			return
		}
		d.section(p, name, n, s, v)
		return
	}
	n = d.expand(p, n)
	if n == nil {
		return
	}
	switch into := v.Addr().Interface().(type) {
	case *int:
		d.integer(p, name, n, into)
	case *bool:
		d.boolean(p, name, n, into)
	case *Address:
		d.address(p, name, n, into)
	case *time.Duration:
		d.duration(p, name, n, into)
	case encoding.TextUnmarshaler:
		d.unmarshal(p, name, n, into, v.CanInt() || v.CanUint() || v.Type() == reflect.TypeFor[ServicePort]())
	default: // text, or one of a few words
		text := v.String()
		d.text(p, name, n, &text)
		v.SetString(text)
	}
}

// fail adds an error about the value at a place, and suppresses what Validate would then find there.
func (d *decoder) fail(p *place, format string, args ...any) {
	p.failed = true
	d.add(p.in, p.at, format, args...)
}
