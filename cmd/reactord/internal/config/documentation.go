package config

import (
	_ "embed" // comments
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"
)

// comments holds the doc comments of setting types and fields, by "Type" and "Type.Field". They are extracted from
// the source files, so that the program needs no Go parser.
//
//go:embed comments.json
var comments []byte

// docs decodes comments. A field without a comment shares that of the field before.
var docs = sync.OnceValue(func() (texts map[string]string) {
	if err := json.Unmarshal(comments, &texts); err != nil {
		panic("config: comments.json: " + err.Error()) // a test has read it
	}
	return texts
})

var (
	link = regexp.MustCompile(`\[([A-Z]\w*)(?:\.(\w+))?\]`)
	word = regexp.MustCompile(`\b[A-Z]\w*\b`)
)

// documentation returns the text of a type or a field as one line, with settings by their keys in backquotes.
func documentation(s *shape, f *field) string {
	var text string
	if f != nil {
		text = docs()[f.id]
		if f.rule.about != "" {
			text = strings.TrimSuffix(text, ".\n") + ": " + f.rule.about + "."
		}
	} else {
		subject := "`" + keyOf(s.typ.Name()) + "`"
		if s.fresh.IsValid() {
			subject = "An entry"
		}
		text = subject + strings.TrimPrefix(docs()[s.typ.Name()], s.typ.Name())
	}
	text = strings.Join(strings.Fields(text), " ")
	text = link.ReplaceAllStringFunc(text, func(found string) string {
		parts := link.FindStringSubmatch(found)
		if parts[1] == root.typ.Name() && parts[2] != "" {
			return "`" + snake(parts[2]) + "`"
		}
		return "`" + strings.TrimSuffix(keyOf(parts[1])+"."+snake(parts[2]), ".") + "`"
	})
	byName := map[string]string{}
	for _, other := range s.fields {
		byName[other.name] = other.key
	}
	first := true
	return word.ReplaceAllStringFunc(text, func(w string) string {
		key, isField := byName[w]
		begins := first
		first = false
		// An upper-case word in mid-sentence, such as TLS, is an abbreviation.
		if !isField || !begins && strings.ToUpper(w) == w {
			return w
		}
		return "`" + key + "`"
	})
}

// keyOf returns the key of the settings of a type.
func keyOf(typeName string) string {
	key := strings.ToLower(typeName)
	eachField(root, func(_ *shape, f *field) {
		if f.shape != nil && f.shape.typ.Name() == typeName {
			key = f.key
		}
	})
	return key
}

// eachShape calls f once for s and for every shape below it.
func eachShape(s *shape, f func(*shape)) {
	seen := map[*shape]bool{}
	var visit func(*shape)
	visit = func(s *shape) {
		if seen[s] {
			return
		}
		seen[s] = true
		f(s)
		for _, below := range s.fields {
			if below.shape != nil {
				visit(below.shape)
			}
		}
	}
	visit(s)
}

// eachField calls f for every field of s and of the shapes below it.
func eachField(s *shape, f func(*shape, *field)) {
	eachShape(s, func(s *shape) {
		for _, below := range s.fields {
			f(s, below)
		}
	})
}

// values describes the accepted values for readers.
func (f *field) values() string {
	r := &f.rule
	show := func(n int64) string { return "`" + formatNumber(f.typ, n) + "`" }
	bounds := ""
	if r.max != 0 {
		bounds = show(r.min) + " to " + show(r.max)
		if r.zero {
			bounds = show(0) + ", or " + bounds
		}
	}
	kind := kinds[element(f.typ)]
	switch {
	case f.shape != nil && f.isList():
		kind = "a list of mappings"
	case f.shape != nil:
		kind = "a mapping"
	case f.isList():
		kind = "a list"
	case r.oneOf != nil:
		return "`" + strings.Join(r.oneOf.all, "`, `") + "`"
	}
	if bounds == "" {
		return kind
	}
	return kind + ": " + bounds
}

// kinds describes types for readers.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[string]():        "text",
	reflect.TypeFor[int]():           "a whole number",
	reflect.TypeFor[bool]():          "`true` or `false`",
	reflect.TypeFor[time.Duration](): "a duration",
	reflect.TypeFor[Size]():          "a size",
	reflect.TypeFor[FileMode]():      "permissions",
	reflect.TypeFor[ServicePort]():   "a port",
	reflect.TypeFor[IP]():            "an IP address",
	reflect.TypeFor[Prefix]():        "a network",
	reflect.TypeFor[Address]():       "an address",
}

// samples has an example of each type with a text form.
var samples = map[reflect.Type]string{
	reflect.TypeFor[Size]():     "64KiB",
	reflect.TypeFor[FileMode](): "0600",
	reflect.TypeFor[IP]():       "192.0.2.1",
	reflect.TypeFor[Prefix]():   "10.0.0.0/8",

	reflect.TypeFor[ServicePort](): "http or 8080",
}
