package config

import (
	"encoding"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// shape describes a struct of settings: a mapping with a key for each field.
type shape struct {
	typ    reflect.Type
	fields []*field
	byKey  map[string]*field
	keys   *words
	fresh  reflect.Value   // with every default, if the struct is the entry of a list
	sample string          // an example, for mappings that are easily taken for a scalar; or ""
	single map[string]bool // the keys that a set of defaults does not have
	scalar *field          // the field set by a value that is not a mapping; nil if it must be one
}

// field is one setting.
type field struct {
	name  string // in Go
	key   string // in the file
	id    string // "Type.Field", by which its rule and its comment are found
	index []int  // in the struct, or in one that is embedded in it
	typ   reflect.Type
	shape *shape // of the mapping, or of each in a list; nil for scalars and lists of them
	rule  rule
}

// of returns the value of the setting in a struct.
func (f *field) of(mapping reflect.Value) reflect.Value { return mapping.FieldByIndex(f.index) }

// isList reports whether the setting is a list.
func (f *field) isList() bool { return f.typ.Kind() == reflect.Slice }

// root is the shape of a file, and shapeOfSets that of its sets of defaults.
var (
	root        = makeShape(reflect.TypeFor[Config](), map[reflect.Type]*shape{})
	shapeOfSets = root.byKey["defaults"].shape
)

// fresh has the defaults of list entries. The defaults of other settings are those of [New].
var fresh = joined(joined(discoveryDefaults, setDefaults), map[reflect.Type]any{
	reflect.TypeFor[Config]():          *New(),
	reflect.TypeFor[Defaults]():        newDefaults(),
	reflect.TypeFor[Listener]():        NewListener(),
	reflect.TypeFor[Route]():           NewRoute(),
	reflect.TypeFor[WeightedBackend](): NewWeightedBackend(),
	reflect.TypeFor[Certificate]():     Certificate{},
	reflect.TypeFor[UserRole]():        UserRole{},
	reflect.TypeFor[Backend]():         NewBackend(),
	reflect.TypeFor[Server]():          NewServer(),
	reflect.TypeFor[CheckStep]():       CheckStep{},
	reflect.TypeFor[XDSMetadata]():     XDSMetadata{},
	reflect.TypeFor[XDSNodeMetadata](): XDSNodeMetadata{},
})

// joined returns the entries of both maps.
func joined[K comparable, V any](a, b map[K]V) map[K]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// scalars names the field that stands for its whole struct.
var scalars = map[reflect.Type]string{
	reflect.TypeFor[Metrics](): "Address",
	reflect.TypeFor[Server]():  "Address",
}

// mappings has examples of mappings that are easily taken for a scalar.
var mappings = map[reflect.Type]string{
	reflect.TypeFor[AccessLog]():   "{path: /var/log/reactord/access.log}",
	reflect.TypeFor[AcceptProxy](): "{trusted: [10.0.0.0/8]}",
	reflect.TypeFor[SendProxy]():   "{version: v2}",
	reflect.TypeFor[ServerTLS]():   "{certificates: [{cert: /etc/reactord/example.org.pem}]}",
	reflect.TypeFor[ClientTLS]():   "{enabled: true}",
}

func makeShape(t reflect.Type, known map[reflect.Type]*shape) *shape {
	if s := known[t]; s != nil {
		return s
	}
	s := &shape{typ: t, sample: mappings[t], byKey: map[string]*field{}, single: map[string]bool{}}
	known[t] = s
	if v, ok := fresh[t]; ok {
		s.fresh = reflect.ValueOf(v)
	}
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue // its fields follow
		}
		owner := t
		if above := f.Index[:len(f.Index)-1]; len(above) > 0 {
			owner = t.FieldByIndex(above).Type
		}
		id := owner.Name() + "." + f.Name
		if rules[id].single && s.isSet() {
			s.single[snake(f.Name)] = true
			continue
		}
		made := &field{name: f.Name, key: snake(f.Name), id: id, index: f.Index, typ: f.Type, rule: rules[id]}
		if e := element(f.Type); isSection(e) {
			made.shape = makeShape(e, known)
		}
		s.fields = append(s.fields, made)
		s.byKey[made.key] = made
		keys = append(keys, made.key)
		if scalars[t] == f.Name {
			s.scalar = made
		}
	}
	slices.Sort(keys)
	s.keys = newWords(keys)
	return s
}

// isSet reports whether the shape has the settings of another one, as a part of a set of defaults.
func (s *shape) isSet() bool {
	return s.typ == reflect.TypeFor[ListenerDefaults]() || s.typ == reflect.TypeFor[BackendDefaults]()
}

// element returns the type of a list's entries, or t if it is not a list.
func element(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice {
		return t.Elem()
	}
	return t
}

// isSection reports whether values of the type are mappings in the file.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// asWords spells names of mixed case as snake takes them: one capital letter a word.
var asWords = strings.NewReplacer("IPv4", "Ipv4", "IPv6", "Ipv6", "TLVs", "Tlvs", "SANs", "Sans")

// snake returns the key of a field: max_connections for MaxConnections, tls_server_name for TLSServerName,
// ipv4_prefix for IPv4Prefix.
func snake(name string) string {
	name = asWords.Replace(name)
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		afterLower := i > 0 && !unicode.IsUpper(runes[i-1])
		beforeLower := i > 0 && i+1 < len(runes) && !unicode.IsUpper(runes[i+1])
		if unicode.IsUpper(r) && (afterLower || beforeLower) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// singular returns the name of a list's entry.
func singular(key string) string {
	switch {
	case key == "dns":
		return key
	case strings.HasSuffix(key, "sses"):
		return strings.TrimSuffix(key, "es")
	}
	return strings.TrimSuffix(key, "s")
}

// defaults has a value with every default for each shape.
var defaults = sync.OnceValue(func() map[*shape]reflect.Value {
	all := map[*shape]reflect.Value{}
	var visit func(*shape, reflect.Value)
	visit = func(s *shape, v reflect.Value) {
		if _, seen := all[s]; seen {
			return
		}
		all[s] = v
		for _, f := range s.fields {
			switch {
			case f.shape != nil && f.isList():
				visit(f.shape, f.shape.fresh)
			case f.shape != nil:
				visit(f.shape, f.of(v))
			}
		}
	}
	visit(root, root.fresh)
	return all
})
