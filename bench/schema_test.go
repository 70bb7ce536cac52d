package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/reactord/reactord/bench/record"
)

// documented parses record/schema.md: the type of each field, by path.
func documented(t *testing.T) (fields, histogram map[string]string) {
	text, err := os.ReadFile("record/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|")
	read := func(text string) map[string]string {
		m := map[string]string{}
		for _, found := range row.FindAllStringSubmatch(text, -1) {
			m[found[1]] = strings.TrimSpace(found[2])
		}
		return m
	}
	first, second, _ := strings.Cut(string(text), "A **histogram**")
	for kind := range record.Other + 1 {
		if !strings.Contains(second, kind.String()) {
			t.Errorf("the failure %v is not documented", kind)
		}
	}
	return read(first), read(second)
}

// checker compares a document with its documentation.
type checker struct {
	t         *testing.T
	fields    map[string]string
	histogram map[string]string
	seen      map[string]bool
}

func (c *checker) object(path string, m map[string]any) {
	for name, v := range m {
		at := name
		if path != "" {
			at = path + "." + name
		}
		c.value(at, v)
	}
}

func (c *checker) value(at string, v any) {
	if list, ok := v.([]any); ok && c.fields[at] == "" {
		at += "[]"
		for _, item := range list {
			c.object(at, item.(map[string]any))
		}
	}
	kind, _, _ := strings.Cut(c.fields[at], ",")
	c.seen[at] = true
	if !fits(kind, v) {
		c.t.Errorf("%s is %T, and documented as %q", at, v, kind)
	}
	m, ok := v.(map[string]any)
	switch {
	case kind == "histogram":
		for name, kind := range c.histogram {
			if !fits(kind, m[name]) || len(m) != len(c.histogram) {
				c.t.Errorf("%s.%s is %T, and documented as %q, in %d fields", at, name, m[name], kind, len(m))
			}
		}
	case ok && kind == "object":
		c.object(at, m)
	}
}

func fits(kind string, v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(kind, "string")
	case bool:
		return kind == "boolean"
	case json.Number:
		return kind == "number" || strings.HasPrefix(kind, "integer") && !strings.ContainsAny(v.String(), ".e")
	case map[string]any:
		return strings.HasPrefix(kind, "object") || kind == "histogram"
	case []any:
		return strings.HasPrefix(kind, "array")
	}
	return false
}

// Every field that a run writes is documented with its type. Every documented field that is not optional is written.
func TestSchema(t *testing.T) {
	_, listen := startServer(t, testWorkshop(t), "echo")
	name := t.TempDir() + "/r.json"
	_, err := bench(t, "rate", "--target", "tcp://"+listen, "--find-max", "p99<10s", "--rate", "100",
		"--trial", "50ms", "-t", "200ms", "-c", "2", "--json", name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	c := checker{t: t, seen: map[string]bool{}}
	c.fields, c.histogram = documented(t)
	c.object("", doc)
	c.object("", map[string]any{"samples": fields(t, []record.Sample{{LiveHeap: 1, Goroutines: 1}}),
		"trends": fields(t, []record.Trend{{Unit: "B"}})})
	for path, kind := range c.fields {
		if !c.seen[path] && !strings.HasSuffix(kind, "optional") {
			t.Errorf("%s is documented, and not written", path)
		}
	}
	if doc["schema"] != record.Schema || len(c.fields) < 80 {
		t.Error(fmt.Sprint(doc["schema"], ", ", len(c.fields), " fields are documented"))
	}
}

// fields returns the JSON of v.
func fields(t *testing.T, v any) (doc any) {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}
