package config

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// large returns a file with these numbers of listeners and servers, ten servers per backend.
func large(listeners, servers int) []byte {
	var b strings.Builder
	b.WriteString("listeners:\n")
	for i := range listeners {
		fmt.Fprintf(&b, "  - name: l%d\n    address: 127.%d.%d.1:80\n    backend: b%d\n    max_connections: 100\n",
			i, i/256, i%256, i%max(servers/10, 1))
	}
	b.WriteString("backends:\n")
	for i := range servers {
		if i%10 == 0 {
			fmt.Fprintf(&b, "  - name: b%d\n    check: {interval: 5s}\n    servers:\n", i/10)
		}
		fmt.Fprintf(&b, "      - {address: 10.0.%d.%d:9000, weight: %d}\n", i/256, i%256, i%100)
	}
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	data := large(1000, 5000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := Parse("f", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	c, _, err := Parse("f", large(1000, 5000))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if p := c.Validate(); len(p) != 0 {
			b.Fatal(p)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	c, s, err := Parse("f", large(1000, 5000))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := Print(io.Discard, c, s.Origin); err != nil {
			b.Fatal(err)
		}
	}
}

// unknownKeys returns a file with this number of unknown keys, in one mapping or in many.
func unknownKeys(n int, one bool) []byte {
	var b strings.Builder
	if one {
		b.WriteString(valid)
		for i := range n {
			fmt.Fprintf(&b, "unknown_key_%d: 1\n", i)
		}
		return []byte(b.String())
	}
	b.WriteString("listeners:\n")
	for i := range n / 10 {
		fmt.Fprintf(&b, "  - name: l%d\n", i)
		for j := range 10 {
			fmt.Fprintf(&b, "    unknown_key_%d: 1\n", j)
		}
	}
	return []byte(b.String())
}

func BenchmarkUnknownKeys(b *testing.B) {
	for _, one := range []bool{true, false} {
		b.Run(fmt.Sprintf("one_mapping=%v", one), func(b *testing.B) {
			data := unknownKeys(30_000, one)
			for b.Loop() {
				_, _, err := Parse("f", data)
				if n := strings.Count(fmt.Sprint(err), "is unknown"); n != 30_000 {
					b.Fatalf("%d errors", n)
				}
			}
		})
	}
}
