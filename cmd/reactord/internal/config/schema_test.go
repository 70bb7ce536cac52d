package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
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
	tried := 0
	both := func(what string) {
		t.Helper()
		tried++
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(doc) == nil {
			t.Errorf("the schema accepts %s", what)
		}
		if _, _, err := Parse("f", text); err == nil {
			t.Errorf("the decoder accepts %s", what)
		}
	}
	var visit func(path string, at *shape, m map[string]any)
	visit = func(path string, at *shape, m map[string]any) {
		m["unknown_key"] = 1
		both(path + ".unknown_key")
		delete(m, "unknown_key")
		for _, f := range at.fields {
			was, path := m[f.key], path+"."+f.key
			for _, wrong := range wrongValues(f) {
				m[f.key] = wrong
				both(fmt.Sprintf("%s: %v", path, wrong))
			}
			if f.rule.needed != "" {
				delete(m, f.key)
				both("no " + path)
			}
			m[f.key] = was
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
	if err := s.Validate(doc); err != nil || tried < 500 {
		t.Errorf("%d mistakes; at the end: %v", tried, err)
	}
}

// wrongValues is values that a setting cannot have.
func wrongValues(f *field) []any {
	all := []any{nil, map[string]any{"a": 1}, 1.5}
	if f.isList() {
		return append(all, "text", 1, []any{nil})
	}
	if f.shape != nil {
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
	if retries.Default != 3.0 || !strings.HasPrefix(retries.Description, "`retries` is how many further servers") {
		t.Errorf("retries: %+v", retries)
	}
	if idle := doc.Defs["backend"].Properties["idle_timeout"]; idle.Default != "10m" {
		t.Errorf("idle_timeout: %+v", idle)
	}
}
