package config

import (
	"iter"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// maxSets limits the sets of defaults.
const maxSets = 1000

// sets are the sets of defaults of a configuration. They are read before anything else.
type sets struct {
	read  bool // false: names of sets are not looked up
	all   []*set
	named map[string]*set // the set without a name is that of ""
}

// set is a set of defaults.
type set struct {
	node       ast.Node
	name, from string
	at         *place
	begun      bool // to be read
	done       bool
	value      Defaults // with what it inherits
	// Places of what it sets and inherits. They are nil if that is nothing.
	listener, backend *place
}

// builtIn is inherited by the set without a name, or by everything if there is none.
var builtIn = &set{begun: true, done: true, value: newDefaults()}

// inherited returns the set of that name, or nil if it does not exist. The set without a name always exists.
func (s *sets) inherited(name string) *set {
	if found := s.named[name]; found != nil || name != "" {
		return found
	}
	return builtIn
}

// names returns the names of the sets, for messages.
func (s *sets) names() *words {
	return newWords(slices.DeleteFunc(slices.Sorted(maps.Keys(s.named)), func(name string) bool { return name == "" }))
}

// readSets reads the sets of defaults in a file, apart from their values: they may inherit sets of other files.
func (d *decoder) readSets(p *place, m *ast.MappingNode) {
	d.sets.read = true
	for entry := range p.in.entries(m) {
		if !isKey(entry, "defaults") {
			continue
		}
		at := yamltree.PositionOf(entry.Key)
		if p.child("defaults") != nil {
			d.add(p.in, at, "defaults is already set in line %d", p.child("defaults").key.Line)
			continue
		}
		list := p.field("defaults", yamltree.PositionOf(entry.Value))
		list.key = at
		all, ok := entry.Value.(*ast.SequenceNode)
		if !ok {
			d.fail(list, "defaults is a list, not %s: put \"- \" before each set, as in - backend: {connect_timeout: 3s}",
				describe(entry.Value))
			continue
		}
		if n := len(d.sets.all) + len(all.Values); n > maxSets {
			d.fail(list, "%d sets of defaults: write at most %d", n, maxSets)
			continue
		}
		for _, n := range all.Values {
			d.readSet(list, n)
		}
	}
}

func (d *decoder) readSet(list *place, n ast.Node) {
	made := &set{node: n, at: list.entry(yamltree.PositionOf(n))}
	made.name, made.from = made.at.in.peek(n, "name"), made.at.in.peek(n, "from")
	in := *list.in
	in.set = &made.name
	made.at.in = &in
	first, twice := d.sets.named[made.name]
	switch {
	case twice && made.name == "":
		d.add(list.in, made.at.at, "a second set without a name: write name, or move its settings to the first; see %s",
			first.at)
	case twice:
		d.add(list.in, made.at.at, "defaults %s is used twice; see %s", quote(made.name), first.at)
	default:
		if d.sets.named == nil {
			d.sets.named = map[string]*set{}
		}
		d.sets.named[made.name] = made
	}
	d.sets.all = append(d.sets.all, made)
}

// finishSets reads the values of all sets.
func (d *decoder) finishSets() {
	for _, s := range d.sets.all {
		d.finish(s)
	}
}

// finish reads the values of a set, and before those of the sets that it inherits.
func (d *decoder) finish(s *set) {
	if s.begun {
		return
	}
	s.begun = true
	base, wrong := builtIn, ""
	switch {
	case s.name == "" && s.from != "":
		wrong = "from requires name: the set without a name is what others inherit"
	case s.name != "":
		base = d.sets.inherited(s.from)
		if base == nil {
			base, wrong = builtIn, "from "+quote(s.from)+" does not exist: "+d.advice(s.from)
		}
		d.finish(base)
		if !base.done {
			base, wrong = builtIn, "from "+quote(s.from)+" leads back to this set: remove one of them"
		}
	}
	s.value = base.value
	d.value(s.at, "defaults", s.node, shapeOfSets, reflect.ValueOf(&s.value).Elem())
	if from := s.at.child("from"); wrong != "" && from != nil {
		d.fail(from, "%s", wrong)
	}
	var v validator
	v.section(nil, shapeOfSets, reflect.ValueOf(&s.value).Elem())
	for _, p := range v.problems {
		d.setProblem(s.at, p)
	}
	s.listener = s.at.child("listener").inherit(base.listener)
	s.backend = s.at.child("backend").inherit(base.backend)
	s.done = true
}

// advice says what to write instead of the name of a set that does not exist.
func (d *decoder) advice(name string) string {
	if known := d.sets.names(); len(known.all) > 0 {
		return known.didYouMean(name)
	}
	return "write it below defaults, with name: " + name
}

// base sets an entry of a list to its defaults. It returns the places of those that the file sets, or nil.
func (d *decoder) base(p *place, n ast.Node, v reflect.Value) *place {
	from := p.in.peek(n, "from")
	s := d.sets.inherited(from)
	if s == nil {
		s = builtIn
	}
	switch into := v.Addr().Interface().(type) {
	case *Listener:
		*into = s.value.Listener.Listener
		return s.listener
	case *Backend:
		*into = s.value.Backend.Backend
		return s.backend
	}
	return nil
}

// inherit adds to an entry, once it is read, the places of its defaults, and resolves its from.
func (d *decoder) inherit(p, base *place, v reflect.Value) {
	var from *string
	switch into := v.Addr().Interface().(type) {
	case *Listener:
		from = &into.From
	case *Backend:
		from = &into.From
	default:
		return
	}
	if at := p.child("from"); *from != "" && d.sets.read && d.sets.inherited(*from) == nil {
		d.fail(at, "from %s does not exist: %s", quote(*from), d.advice(*from))
	}
	*from = ""
	p.inherit(base)
}

// inherit adds the places in base that p does not have, and returns p. Either may be nil.
func (p *place) inherit(base *place) *place {
	switch {
	case base == nil:
		return p
	case p == nil:
		return base
	}
	for key, below := range base.fields {
		if own := p.child(key); own != nil {
			own.inherit(below)
			continue
		}
		if p.fields == nil {
			p.fields = map[string]*place{}
		}
		p.fields[key] = below
	}
	return p
}

// settle returns the problems of a configuration. Before, it gives inherited settings that an entry excludes by one of
// its own their built-in default: check.send if the entry has check: {interval: 0s} or check.send_hex.
func (d *decoder) settle(c *Config, top *place) []Problem {
	for {
		problems, settled := c.Validate(), true
		for _, p := range problems {
			excluded, by := p.Path, p.because
			if p.either {
				by = p.Other
				if top.inherits(by) {
					excluded, by = by, excluded
				}
			}
			if by != "" && top.inherits(excluded) && top.has(by) && c.reset(excluded) {
				top.forget(excluded)
				settled = false
			}
		}
		if settled {
			return problems
		}
	}
}

// inherits reports whether a setting comes from a set of defaults.
func (p *place) inherits(path string) bool {
	found, exact, failed := p.find(path)
	return exact && !failed && found.in.set != nil
}

// has reports whether the file has a setting, apart from sets of defaults.
func (p *place) has(path string) bool {
	found, exact, failed := p.find(path)
	return exact && !failed && found.in.set == nil
}

// entryPath splits the path of a setting of a listener or a backend that is in no further list.
func entryPath(path string) (list string, index int, keys []string, ok bool) {
	list, rest, _ := strings.Cut(path, "[")
	number, rest, _ := strings.Cut(rest, "].")
	index, err := strconv.Atoi(number)
	return list, index, strings.Split(rest, "."), err == nil && rest != "" && !strings.Contains(rest, "[")
}

// reset gives a setting of a listener or a backend its built-in default. It reports whether it could.
func (c *Config) reset(path string) bool {
	list, index, keys, ok := entryPath(path)
	if !ok {
		return false
	}
	f := root.byKey[list]
	s, v, was := f.shape, f.of(reflect.ValueOf(c).Elem()).Index(index), f.shape.fresh
	for _, key := range keys {
		f := s.byKey[key]
		s, v, was = f.shape, f.of(v), f.of(was)
	}
	v.Set(was)
	return true
}

// forget removes the place of a setting of a listener or a backend, which may be shared with other entries.
func (p *place) forget(path string) {
	list, index, keys, _ := entryPath(path)
	at, last := p.child(list).nth(index), len(keys)-1
	for _, key := range keys[:last] {
		own := *at.fields[key]
		own.fields = maps.Clone(own.fields)
		at.fields[key], at = &own, &own
	}
	delete(at.fields, keys[last])
}

// entries returns the entries of a mapping of the document.
func (d *document) entries(m *ast.MappingNode) iter.Seq[*ast.MappingValueNode] {
	return func(yield func(*ast.MappingValueNode) bool) {
		for _, entries := range [][]*ast.MappingValueNode{m.Values, d.surplus[yamltree.PositionOf(m)]} {
			for _, entry := range entries {
				if !yield(entry) {
					return
				}
			}
		}
	}
}

func isKey(entry *ast.MappingValueNode, key string) bool {
	name, ok := entry.Key.(*ast.StringNode)
	return ok && name.Value == key
}

// peek returns the text of a setting of a mapping that is read later, or "".
func (d *document) peek(n ast.Node, key string) string {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return ""
	}
	for entry := range d.entries(m) {
		if s, ok := entry.Value.(*ast.StringNode); ok && isKey(entry, key) {
			text, _, err := expand(s.Value, os.LookupEnv)
			if err != nil {
				return ""
			}
			return text
		}
	}
	return ""
}
