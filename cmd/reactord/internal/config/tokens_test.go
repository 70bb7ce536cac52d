package config

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// manyKeys returns a mapping with this number of keys, with values that make it hard to find its end.
func manyKeys(n int, indent string) string {
	var b strings.Builder
	for i := range n {
		value := []string{
			"1", "[a,\n" + indent + "b\n" + indent + "]", "\n" + indent + "- a\n" + indent + "- b: 1",
			"|\n" + indent + "  x: y\n" + indent + "  z",
			"{a: 1,\n" + indent + " b: 2}", "\n" + indent + "  c: 1\n" + indent + "  d: 2",
			"'a: b'", "# comment\n" + indent + "  x",
		}[i%8]
		fmt.Fprintf(&b, "%skey%d: %s\n", indent, i, value)
	}
	return b.String()
}

// A mapping that is parsed in pieces is read as a whole: every key is reported at its place, once and in order.
func TestMappingsInPieces(t *testing.T) {
	const n = 3*pieceKeys + 7
	for name, text := range map[string]string{
		"at the top":      "backends: 5\n" + manyKeys(n, "") + "listeners: 5\n",
		"in a list":       "backends:\n  - name: b\n" + manyKeys(n, "    ") + "    servers: 5\n  - 5\nlisteners: 5\n",
		"in a mapping":    "log:\n" + manyKeys(n, "   ") + "   level: 5\nlisteners: 5\nbackends: 5\n",
		"with a document": "%YAML 1.2\n---\nbackends: 5\n" + manyKeys(n, "") + "listeners: 5\n...\n",
		"twice": "listeners:\n- name: l\n" + manyKeys(n/2, "  ") + "- name: m\n" + manyKeys(n/2+1, "  ") +
			"  address: 5\nbackends: 5\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Parse("f", []byte(text))
			joined, ok := err.(interface{ Unwrap() []error })
			if !ok {
				t.Fatal(err)
			}
			unknown, line := 0, 0
			for _, each := range joined.Unwrap() {
				var e *Error
				if !errors.As(each, &e) || e.Line < line {
					t.Fatalf("%v is not in order", each)
				}
				line = e.Line
				if !strings.HasPrefix(e.Text, `key "key`) {
					continue
				}
				got := strings.Split(text, "\n")[e.Line-1][e.Column-1:]
				if key := strings.Split(e.Text, `"`)[1]; !strings.HasPrefix(got, key+":") {
					t.Fatalf("%v: there is %q", e, got)
				}
				unknown++
			}
			if unknown != n {
				t.Errorf("%d unknown keys, want %d", unknown, n)
			}
			for _, want := range []string{"backends is a list, not the number 5", "listeners is a list, not the number 5",
				"servers is a list, not the number 5", "level is text, not the number 5", "address is an address such as"} {
				key, _, _ := strings.Cut(want, " ")
				if strings.Contains(text, key+": 5") && strings.Count(err.Error(), want) != 1 {
					t.Errorf("%q is reported %d times", want, strings.Count(err.Error(), want))
				}
			}
		})
	}
}

func TestRepeatedKeysInPieces(t *testing.T) {
	text := valid + manyKeys(2*pieceKeys, "") + "listeners: []\n"
	_, _, err := Parse("f", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "listeners is already set in line 1") {
		t.Errorf("no error of the key in another piece: %.200v", err)
	}
}

func TestDepth(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 1e4), strings.Repeat("{a: ", 1e4), strings.Repeat("- ", 1e4), strings.Repeat("[{a: ", 40),
	} {
		_, _, err := Parse("f", []byte(text))
		if err == nil || !strings.HasSuffix(err.Error(), ": not YAML: more than 32 levels of lists and mappings") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if _, _, err := Parse("f", []byte(deep)); err == nil || strings.Contains(err.Error(), "levels") {
		t.Error(err)
	}
}

// The work grows with the size of a file, and not with its square: twice the size takes about twice the memory.
func TestWorkIsLinear(t *testing.T) {
	work := func(f func()) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	for name, file := range map[string]func(n int) []byte{
		"listeners and servers":       func(n int) []byte { return large(n, 5*n) },
		"unknown keys of one mapping": func(n int) []byte { return unknownKeys(20*n, true) },
		"unknown keys of many":        func(n int) []byte { return unknownKeys(10*n, false) },
		"unknown backends": func(n int) []byte {
			return []byte(strings.ReplaceAll(string(large(n, 5*n)), "backend: b", "backend: c"))
		},
		"the same names": func(n int) []byte {
			return []byte(strings.ReplaceAll(string(large(n, 5*n)), "name: b", "name: b # "))
		},
	} {
		parse := func(n int) func() {
			data := file(n)
			return func() { _, _, _ = Parse("f", data) }
		}
		small, big := parse(150), parse(600)
		small() // what is made once
		if ratio := work(big) / work(small); ratio > 8 {
			t.Errorf("%s: four times the size takes %.1f times the memory", name, ratio)
		}
	}
}
