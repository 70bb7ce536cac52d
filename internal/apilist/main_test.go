package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

const source = `package p

const Two = 2

var Err error

func Run(first func(n int) error, more ...string) (ok bool, err error) { return false, nil }

func Map[K comparable, V any](m map[K][]V) <-chan V { return nil }

type base struct{ Shared int }

func (base) Open() {}

type Conn struct {
	base
	Name string
	next *Conn
}

func (c *Conn) Close() error { return nil }

func (c *Conn) hidden() {}

type Handler interface {
	Serve(c *Conn)
	done()
}

type Size uint8

func (s Size) String() string { return "" }

type Alias = []Size

type unexported int
`

const listing = `pkg p, const Two untyped int = 2
pkg p, func Map[K comparable, V any](map[K][]V) <-chan V
pkg p, func Run(func(int) error, ...string) (bool, error)
pkg p, method (*Conn) Close() error
pkg p, method (Conn) Open()
pkg p, method (Size) String() string
pkg p, type Alias = []Size
pkg p, type Conn struct
pkg p, type Conn struct, Name string
pkg p, type Conn struct, Shared int
pkg p, type Handler interface { Serve(*Conn); unexported methods }
pkg p, type Size uint8
pkg p, var Err error`

func TestPrinter(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("example.org/m/p", set, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := newPrinter("example.org/m", pkg).lines()
	slices.Sort(got)
	if text := strings.Join(got, "\n"); text != listing {
		t.Errorf("the listing is\n%s\nwant\n%s", text, listing)
	}
}

func TestCompare(t *testing.T) {
	gone, added := compare([]string{"a", "b"}, []string{"b", "c"})
	if len(gone) != 1 || gone[0] != "a" || len(added) != 1 || added[0] != "c" {
		t.Errorf("gone %v, added %v", gone, added)
	}
}
