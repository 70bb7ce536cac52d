//go:build linux

package reactor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reactord/reactord/epoll"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/uring"
)

// operationRow is a row of the table in the package's documentation.
type operationRow struct {
	names                         []string // Socket.Recv, … or that of a func
	entry, linux, epoll, fallback string
}

// operationTable reads the table out of doc.go.
func operationTable(t *testing.T) (rows []operationRow) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n//\toperation ")
	if !found {
		t.Fatal("doc.go has no table of operations")
	}
	columns := regexp.MustCompile(`\s{2,}`)
	for line := range strings.Lines(rest[strings.Index(rest, "\n")+1:]) {
		line, more := strings.CutPrefix(strings.TrimSpace(line), "//\t")
		if !more {
			return rows
		}
		if len(line) > 116 {
			t.Errorf("%d columns: %s", len(line)+4, line)
		}
		cells := columns.Split(line, -1)
		if len(cells) != 5 {
			t.Fatalf("%d cells: %s", len(cells), line)
		}
		row := operationRow{nil, cells[1], cells[2], cells[3], cells[4]}
		receiver := ""
		for i, name := range strings.Split(cells[0], ", ") {
			if r, _, ok := strings.Cut(name, "."); i == 0 && ok {
				receiver = r + "."
			} else {
				name = receiver + name
			}
			row.names = append(row.names, name)
		}
		rows = append(rows, row)
	}
	return rows
}

// exported finds the exported methods and funcs of the package, and whether they return a sender.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			full := f.Name.Name
			if f.Recv != nil {
				full = typeName(f.Recv.List[0].Type) + "." + full
			}
			if !ast.IsExported(full) {
				continue
			}
			results := f.Type.Results
			found[full] = results != nil && len(results.List) == 1 && strings.HasSuffix(typeName(results.List[0].Type), "Sender")
		}
	}
	return found
}

// typeName is the name of a type of this package, without pointers and type arguments; "" for others.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	}
	return ""
}

// The table of operations has each operation of the package once, and nothing else.
func TestTableOfOperations(t *testing.T) {
	there, told := exported(t), map[string]bool{}
	for _, row := range operationTable(t) {
		for _, name := range row.names {
			if told[name] {
				t.Errorf("%s is in the table twice", name)
			}
			if told[name] = true; !has(there, name) {
				t.Errorf("%s is in the table but not in the package", name)
			}
		}
		version := regexp.MustCompile(`^(any|[56]\.\d+)$`)
		if !version.MatchString(row.linux) {
			t.Errorf("%v: Linux %q", row.names, row.linux)
		}
	}
	for name, sends := range there {
		if sends && !told[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
	if len(told) < 60 {
		t.Errorf("%d operations were found", len(told))
	}
}

func has(names map[string]bool, name string) bool {
	_, ok := names[name]
	return ok
}

// The table is true of the rings: epoll has all opcodes. Simulated rings have them all, and some of them lack an opcode
// that has a fallback, so that both ways are run.
func TestTableIsTrueOfTheRings(t *testing.T) {
	ring, err := epoll.New(epoll.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	ops := ring.Caps().Ops
	var ever, always uring.OpSet
	for i := range always {
		always[i] = ^uint64(0)
	}
	for seed := range uint64(500) {
		sim := simring.New(seed, nil).NewRing().Caps().Ops
		for i := range sim {
			ever[i] |= sim[i]
			always[i] &= sim[i]
		}
	}
	opcode := map[string]uring.Op{}
	for op := range uring.Op(64) {
		opcode[op.String()] = op
	}
	words := regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)
	seen := 0
	for _, row := range operationTable(t) {
		for _, word := range words.FindAllString(row.entry, -1) {
			op, ok := opcode[word]
			if !ok {
				if word != "IORING_REGISTER_BUFFERS" {
					t.Errorf("%v: there is no opcode %s", row.names, word)
				}
				continue
			}
			seen++
			if !ops.Has(op) || !ever.Has(op) {
				t.Errorf("%v: %s: on epoll %v, in the simulation %v", row.names, word, ops.Has(op), ever.Has(op))
			}
			if !always.Has(op) && row.fallback == "-" {
				t.Errorf("%v: some simulated rings lack %s", row.names, word)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d opcodes were found", seen)
	}
}
