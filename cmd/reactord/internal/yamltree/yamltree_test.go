package yamltree

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// texts makes of each node a text that shows it.
type texts struct{}

func (texts) Scalar(at Position, s Scalar) (string, error) {
	if s.Text == "refused" {
		return "", at.Errorf("refused")
	}
	return fmt.Sprintf("%T(%s)", s.Value, s.Text), nil
}

func (texts) List(_ Position, items []string) (string, error) {
	return "[" + strings.Join(items, " ") + "]", nil
}

func (texts) Mapping(at Position, entries []Entry[string]) (string, error) {
	var all []string
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s@%d:%d=%s", e.Key, e.At.Line, e.At.Column, e.Value))
	}
	return fmt.Sprintf("{%d:%d %s}", at.Line, at.Column, strings.Join(all, " ")), nil
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"# a comment\n":         "",
		"%YAML 1.2\n---\na: 1":  "{3:1 a@3:1=uint64(1)}",
		"a: [x, 'y', -1, 1.5]":  "{1:1 a@1:1=[string(x) string(y) int64(-1) float64(1.5)]}",
		"a: {b: true, c: null}": "{1:1 a@1:1={1:4 b@1:5=bool(true) c@1:14=<nil>()}}",
		"1: a\ntrue: b":         "{1:1 1@1:1=string(a) true@2:1=string(b)}",
		"a: 1\na: 2":            "{1:1 a@1:1=uint64(1) a@2:1=uint64(2)}",
		"a: |\n  text\n":        "{1:1 a@1:1=string(text\n)}",
		"[.inf, .nan]":          "[float64(.inf) float64(.nan)]",
		"a: [":                  "1:4: not YAML: sequence end token ']' not found",
		"a: 1\n---\nb: 2":       "3:1: a second document",
		"a: &x 1":               "1:4: anchors, aliases, tags and merged keys are not supported here",
		"a: !!str 1":            "1:4: anchors, aliases, tags and merged keys are not supported here",
		"null: 1":               "1:1: a key is plain text",
		"a:\n  b: refused":      "2:6: refused",
		strings.Repeat("[", 6):  "1:6: not YAML: sequence end token ']' not found",
		"[[[[[]]]]]":            "1:5: nested too deep",
		"a: {b: {c: {d: {}}}}":  "1:16: nested too deep",
		"- a: 1\n  b:\n  - 2\n": "[{1:3 a@1:3=uint64(1) b@2:3=[uint64(2)]}]",
	} {
		got, found, err := Read([]byte(text), 3, texts{})
		if _, placed := errors.AsType[*Error](err); err != nil && placed {
			got = err.Error()
		}
		if got != want || found != (got != "" && !strings.Contains(want, "not YAML") && !strings.Contains(want, "second")) {
			t.Errorf("%q: %q, %v; want %q", text, got, found, want)
		}
	}
}

// FuzzRead reads any text: it ends, and an error has a place.
func FuzzRead(f *testing.F) {
	f.Add("a: [x, {b: 1}]\nc: |\n  text\n")
	f.Add("%YAML 1.2\n---\n&a a: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, err := Read([]byte(text), 8, texts{})
		if at, ok := errors.AsType[*Error](err); err != nil && (!ok || at.At.Line < 1 || at.At.Column < 1) {
			t.Fatalf("no place: %#v", err)
		}
	})
}
