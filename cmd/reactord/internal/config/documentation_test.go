package config

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated part of docs/configuration.md")

// generated is the line of docs/configuration.md after which everything is generated.
const generated = "<!-- Generated: go test ./cmd/reactord/internal/config -run TestDocumentation -update -->\n"

// The documentation has every setting, with the comment of its field.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile(documentationFile)
	if err != nil {
		t.Fatal(err)
	}
	written, was, found := strings.Cut(string(data), generated)
	if !found {
		t.Fatalf("%s has no line %q", documentationFile, generated)
	}
	want := reference()
	if *update {
		if err := os.WriteFile(documentationFile, []byte(written+generated+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, was); diff != "" {
		t.Errorf("%s is stale: run this test with -update\n%s", documentationFile, diff)
	}
}

// reference is the tables of all settings.
func reference() string {
	parents, keys := map[*shape][]string{}, map[*shape][]string{}
	eachField(root, func(s *shape, f *field) {
		if f.shape != nil && s != root {
			parents[f.shape] = appendNew(parents[f.shape], "`"+keyOf(s.typ.Name())+"`")
			keys[f.shape] = appendNew(keys[f.shape], "`"+f.key+"`")
		}
	})
	links := anchors()
	var b strings.Builder
	eachShape(root, func(s *shape) {
		if s == root {
			b.WriteString("\n## The file\n\n")
		} else {
			fmt.Fprintf(&b, "\n## %s\n\n", keyOf(s.typ.Name()))
			if in := parents[s]; len(in) > 0 {
				as := ""
				if len(keys[s]) > 1 {
					as = ": " + strings.Join(keys[s], ", ")
				}
				fmt.Fprintf(&b, "In %s%s. ", strings.Join(in, " and "), as)
			}
			b.WriteString(documentation(s, nil) + "\n\n")
		}
		b.WriteString("| Setting | Value | Default | Description |\n|---|---|---|---|\n")
		for _, f := range s.fields {
			row := []string{"`" + f.key + "`", valueCell(f, links), defaultCell(s, f), documentation(s, f)}
			for i := range row {
				row[i] = strings.ReplaceAll(row[i], "|", `\|`)
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	})
	return b.String()
}

func appendNew(all []string, s string) []string {
	if slices.Contains(all, s) {
		return all
	}
	return append(all, s)
}

// anchors is where the heading of each shape is. The second of two equal headings has "-1" at its end.
func anchors() map[*shape]string {
	links, times := map[*shape]string{}, map[string]int{}
	eachShape(root, func(s *shape) {
		key := keyOf(s.typ.Name())
		links[s] = key
		if n := times[key]; n > 0 {
			links[s] = fmt.Sprintf("%s-%d", key, n)
		}
		times[key]++
	})
	return links
}

func valueCell(f *field, links map[*shape]string) string {
	if f.shape == nil {
		return f.values()
	}
	link := fmt.Sprintf("[%s](#%s)", keyOf(f.shape.typ.Name()), links[f.shape])
	if f.isList() {
		return "a list of " + link
	}
	return link
}

func defaultCell(s *shape, f *field) string {
	value, ok := s.defaultOf(f)
	switch {
	case f.rule.needed != "":
		return "required"
	case f.isList():
		return "empty"
	case !ok:
		return ""
	case value == "":
		return "empty"
	}
	return fmt.Sprintf("`%v`", value)
}
