package tidy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A snippet is a block of Go code in a Markdown file.
type snippet struct {
	path  string
	line  int
	parts [][]string // what stands between lines that are "// …", which stand for any number of lines
}

const ellipsis = "// …"

// snippets returns the blocks of Go code of a Markdown file.
func snippets(path string, text string) (all []snippet) {
	var current *snippet
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case current == nil && line == "```go":
			current = &snippet{path: path, line: i + 1, parts: [][]string{nil}}
		case current != nil && line == "```":
			all, current = append(all, *current), nil
		case current != nil && line == ellipsis:
			current.parts = append(current.parts, nil)
		case current != nil && line != "":
			last := &current.parts[len(current.parts)-1]
			*last = append(*last, line)
		}
	}
	return all
}

// codeLines returns the lines of a Go file without indentation and empty lines.
func codeLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// isIn reports whether the parts of the snippet are in lines, one after the other.
func (s snippet) isIn(lines []string) bool {
	for _, part := range s.parts {
		at := index(lines, part)
		if at < 0 {
			return false
		}
		lines = lines[at+len(part):]
	}
	return true
}

func index(lines, part []string) int {
	for i := range len(lines) - len(part) + 1 {
		if slices.Equal(lines[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// missing is the first line of the snippet that no file has.
func (s snippet) missing(code map[string][]string) string {
	for _, part := range s.parts {
		for _, line := range part {
			found := false
			for _, lines := range code {
				found = found || slices.Contains(lines, line)
			}
			if !found {
				return line
			}
		}
	}
	return "every line is in some file, but not all of them together"
}

// Go code in Markdown is a part of a Go file, so that it is compiled. Indentation and empty lines do not matter.
func TestSnippetsAreCode(t *testing.T) {
	code := map[string][]string{}
	var all []snippet
	for _, path := range files(t) {
		switch filepath.Ext(path) {
		case ".go":
			code[path] = codeLines(string(read(t, path)))
		case ".md":
			all = append(all, snippets(path, string(read(t, path)))...)
		}
	}
	for _, s := range all {
		if !slices.ContainsFunc(slices.Collect(maps.Values(code)), s.isIn) {
			t.Errorf("%s:%d: this code is in no Go file; first difference: %s", s.path, s.line, s.missing(code))
		}
	}
}

func TestSnippets(t *testing.T) {
	text := "a\n```go\nfunc f() {\n\tone()\n\n\t// …\n}\n```\n```sh\nls\n```\n"
	all := snippets("x.md", text)
	if len(all) != 1 || fmt.Sprint(all[0].parts) != "[[func f() { one()] [}]]" {
		t.Fatalf("snippets %v", all)
	}
	for code, want := range map[string]bool{
		"func f() {\n\tone()\n\ttwo()\n}\n": true,
		"func f() {\n\tone()\n":             false,
		"func f() {\n\ttwo()\n}\n":          false,
	} {
		if got := all[0].isIn(codeLines(code)); got != want {
			t.Errorf("in %q: %v, want %v", code, got, want)
		}
	}
}
