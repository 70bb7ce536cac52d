package nameset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	s := New([]string{"example.org", "*.example.org", "*.a.example.org", "a.b", "a.b", "xn--a"})
	if s.Len() != 5 {
		t.Errorf("%d entries", s.Len())
	}
	for name, want := range map[string]string{
		"example.org": "example.org", "www.example.org": "*.example.org", "x.y.example.org": "*.example.org",
		"a.example.org": "*.example.org", "x.a.example.org": "*.a.example.org", "org": "", "a.b": "a.b", "c.a.b": "",
		"": "", ".": "", ".example.org": "*.example.org", "badexample.org": "", "example.org.": "",
	} {
		entry, in := s.Match(name)
		if entry != want || in != (want != "") || s.Contains(name) != in {
			t.Errorf("%q: %q, %v, %v", name, entry, in, s.Contains(name))
		}
	}
	for _, empty := range []*Set{nil, New(nil)} {
		if empty.Contains("a.b") || empty.Len() != 0 || empty.Bytes() != 0 {
			t.Error("an empty set is not empty")
		}
	}
}

// FuzzContains compares a set with a list of entries.
func FuzzContains(f *testing.F) {
	f.Add("example.org *.example.org a.b", "www.example.org")
	f.Add("*. . *.*.a", "x..a")
	f.Fuzz(func(t *testing.T, entries, name string) {
		list := strings.Split(entries, " ")
		s := New(list)
		for _, asked := range append(list, name, "x."+name) {
			want := false
			for _, e := range list {
				below, wild := strings.CutPrefix(e, "*.")
				want = want || !wild && e == asked || wild && strings.HasSuffix(asked, "."+below)
			}
			entry, in := s.Match(asked)
			if s.Contains(asked) != want || in != want {
				t.Fatalf("%q in %q: %v, by %q", asked, list, !want, entry)
			}
		}
	})
}

func TestContainsDoesNotAllocate(t *testing.T) {
	s := New([]string{"example.org", "*.example.org"})
	if n := testing.AllocsPerRun(100, func() { s.Contains("a.b.example.org"); s.Contains("c") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkContains(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var of Builder
	asked := make([]string, 1<<14)
	for i := range 1_000_000 {
		name := fmt.Sprintf("host-%x.example.org", r.Uint32())
		of.Add(name)
		asked[i&(1<<14-1)] = name
	}
	s := of.Set()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.Contains(asked[i&(1<<14-1)])
		i++
	}
	b.ReportMetric(float64(s.Bytes()), "bytes")
}
