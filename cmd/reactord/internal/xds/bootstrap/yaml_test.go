package bootstrap

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// What is read is what the library's own decoder reads.
func TestYAML(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts := []string{
		"a: 1\nb: [x, -2, 0.5, true, null, 0x10, '1']\n", "a: &x {b: c}\nd: *x\ne: {<<: *x, f: g}\n", "a: |\n  one\n  two\n",
		"a: >-\n  one\n  two\n", "\"a b\": \"\\u00e4\\n\"\n", "a:\n- b\n- c: d\n  e: f\n", "a: ~\nb:\n", "- a\n", "text", "",
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, text := range texts {
		got, err := parseYAML([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var want any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v", text, got, want)
		}
	}
}

func TestYAMLThatIsRefused(t *testing.T) {
	for _, text := range []string{
		"a: 1\na: 2\n", "a: [1,\n", "a: *x\n", "a: !!str 5\n", "? [a]\n: b\n", strings.Repeat("- ", 200) + "a",
	} {
		if got, err := parseYAML([]byte(text)); err == nil {
			t.Errorf("%q is read as %#v", text, got)
		}
	}
}
