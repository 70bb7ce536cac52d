package admin

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the files of docs that are made from the table of endpoints")

// What is between them in docs/admin-api.md is made from the table of endpoints.
const (
	begin = "<!-- begin: go test ./cmd/reactord/internal/observe/admin -run Fresh -update -->\n"
	end   = "<!-- end -->\n"
)

// TestFresh compares the files of docs with what the table of endpoints says.
func TestFresh(t *testing.T) {
	compareFile(t, "../../../../../docs/admin-api.json", func(string) string { return string(OpenAPI()) })
	compareFile(t, "../../../../../docs/admin-api.md", func(old string) string {
		before, rest, found := strings.Cut(old, begin)
		_, after, ends := strings.Cut(rest, end)
		if !found || !ends {
			t.Fatalf("docs/admin-api.md has no %q or %q", begin, end)
		}
		return before + begin + documentation() + end + after
	})
}

func compareFile(t *testing.T, path string, write func(old string) string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	now := write(string(old))
	if now == string(old) {
		return
	}
	if !*update {
		t.Errorf("%s is not what the code says: go test ./cmd/reactord/internal/observe/admin -run Fresh -update", path)
		return
	}
	if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
}

// documentation is a section for each endpoint.
func documentation() string {
	var b strings.Builder
	for _, r := range routes() {
		fmt.Fprintf(&b, "\n### `%s %s`\n\n%s\n", r.method, r.path, wrap(r.doc+" Role: `"+string(r.role)+"`."))
		if all := params(r.in); len(all) > 0 {
			b.WriteString("\n| parameter | in | meaning |\n|---|---|---|\n")
			for _, p := range all {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.name, p.in, p.field.Tag.Get("doc"))
			}
		}
		if body, ok := bodyOf(r.in); ok {
			b.WriteString("\n| field of the body | type | meaning |\n|---|---|---|\n")
			rows(&b, "", body.Type)
		}
		if r.out != reflect.TypeFor[Raw]() {
			b.WriteString("\n| field of the answer | type | meaning |\n|---|---|---|\n")
			rows(&b, "", r.out)
		}
	}
	b.WriteString("\n### A problem\n\n| field | type | meaning |\n|---|---|---|\n")
	rows(&b, "", reflect.TypeFor[Problem]())
	b.WriteString("\n")
	return b.String()
}

// wrap breaks text into lines of at most 120 characters.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column+1+len(word) > 120:
			b.WriteString("\n")
			column = 0
		case column > 0:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// rows describes the fields of a struct, and those of the structs in it.
func rows(b *strings.Builder, prefix string, t reflect.Type) {
	for _, f := range jsonFields(t) {
		kind, inner, suffix := describeType(f.field.Type)
		text := f.field.Tag.Get("doc")
		if values := f.field.Tag.Get("enum"); values != "" {
			text = strings.TrimSpace(text + " One of `" + strings.ReplaceAll(values, ",", "`, `") + "`.")
		}
		if f.optional {
			text = strings.TrimSpace(text + " Optional.")
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, f.name, kind, text)
		if inner != nil {
			rows(b, prefix+f.name+suffix+".", inner)
		}
	}
}

// describeType is the name of a type for people, and the struct in it, if there is one.
func describeType(t reflect.Type) (name string, inner reflect.Type, suffix string) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time", nil, ""
	case reflect.TypeFor[Settings]():
		return "object", nil, ""
	case reflect.TypeFor[netip.Prefix](), reflect.TypeFor[time.Duration]():
		return "text", nil, ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describeType(t.Elem())
	case reflect.Slice:
		name, inner, _ := describeType(t.Elem())
		return "list: " + name, inner, "[]"
	case reflect.Struct:
		return "object", t, ""
	case reflect.String:
		return "text", nil, ""
	case reflect.Bool:
		return "boolean", nil, ""
	default:
		return "number", nil, ""
	}
}
