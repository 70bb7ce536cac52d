package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var text bytes.Buffer
	if err := Schema(&text); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is YAML as package jsonschema wants it.
func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemaAcceptsTheExamples(t *testing.T) {
	s := compiled(t)
	for name, data := range examples(t) {
		if err := s.Validate(asJSON(t, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c, _, err := Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(asJSON(t, printed(t, c, nil))); err != nil {
			t.Errorf("%s, printed: %v", name, err)
		}
	}
}

// The schema and the decoder refuse the same mistakes: one at a time, everywhere in a file that has every setting.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	s := compiled(t)
	c, _, err := Load(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	doc := asJSON(t, printed(t, c, nil))
	tried, seen := 0, map[*field]bool{}
	both := func(what string, at *shape, m map[string]any) {
		t.Helper()
		tried++
		if s.Validate(doc) == nil {
			t.Errorf("the schema accepts %s", what)
		}
		if accepted(t, at, m) {
			t.Errorf("the decoder accepts %s", what)
		}
	}
	var visit func(path string, at *shape, m map[string]any)
	visit = func(path string, at *shape, m map[string]any) {
		m["unknown_key"] = 1
		both(path+".unknown_key", at, m)
		delete(m, "unknown_key")
		for _, f := range at.fields {
			was, path := m[f.key], path+"."+f.key
			_, present := m[f.key]
			if !seen[f] {
				for _, wrong := range wrongValues(f) {
					m[f.key] = wrong
					both(fmt.Sprintf("%s: %v", path, wrong), at, m)
				}
				if f.rule.needed != "" {
					delete(m, f.key)
					both("no "+path, at, m)
				}
				if m[f.key] = was; !present { // it is not printed
					delete(m, f.key)
				}
			}
			seen[f] = true
			switch below := was.(type) {
			case map[string]any:
				visit(path, f.shape, below)
			case []any:
				for i, each := range below {
					if entry, ok := each.(map[string]any); ok {
						visit(fmt.Sprintf("%s[%d]", path, i), f.shape, entry)
					}
				}
			}
		}
	}
	visit("", root, doc.(map[string]any))
	if err := s.Validate(doc); err != nil || tried < 500 || !accepted(t, root, doc.(map[string]any)) {
		t.Errorf("%d mistakes; at the end: %v", tried, err)
	}
}

// accepted reports whether the decoder reads a mapping, and every value of it obeys its rule.
func accepted(t *testing.T, s *shape, m map[string]any) bool {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var d decoder
	in := &document{file: "f"}
	body, v := d.document(in, text), reflect.New(s.typ).Elem()
	v.Set(defaults()[s])
	d.section(&place{in: in, at: yamltree.PositionOf(body)}, "it", body, s, v)
	var rules validator
	rules.section(&step{key: "it", index: -1}, s, v)
	return len(d.errs)+len(rules.problems) == 0
}

// wrongValues is values that a setting cannot have.
func wrongValues(f *field) []any {
	all := []any{nil, map[string]any{"a": 1}, 1.5}
	if f.isList() {
		return append(all, "text", 1, []any{nil})
	}
	switch {
	case f.shape != nil && f.shape.scalar != nil:
		return []any{nil, 1, []any{}}
	case f.shape != nil:
		return []any{nil, 1, "text", []any{}}
	}
	all = append(all, []any{})
	r := &f.rule
	if f.typ != reflect.TypeFor[bool]() {
		all = append(all, true)
	}
	switch f.typ.Kind() {
	case reflect.Int:
		all = append(all, r.max+1, -1)
	case reflect.Bool:
		all = append(all, "yes", 1)
	case reflect.Int64, reflect.Uint32:
		all = append(all, "x", "1 day")
	case reflect.String:
		if f.typ == reflect.TypeFor[ServicePort]() {
			return append(all, 0, 65536)
		}
		all = append(all, 5)
		if r.oneOf != nil {
			all = append(all, "x")
		}
	default:
	}
	return all
}

func TestSchemaDocuments(t *testing.T) {
	var text bytes.Buffer
	if err := Schema(&text); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Description string
				Default     any
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	retries := doc.Defs["backend"].Properties["retries"]
	if retries.Default != 3.0 || !strings.HasPrefix(retries.Description, "`retries` limits the further attempts") {
		t.Errorf("retries: %+v", retries)
	}
	if idle := doc.Defs["backend"].Properties["idle_timeout"]; idle.Default != "10m" {
		t.Errorf("idle_timeout: %+v", idle)
	}
}
