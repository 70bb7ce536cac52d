package seam

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/epoll"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/uring"
)

// parse parses the source files that a pattern matches, tests excepted unless the pattern names them.
func parse(t *testing.T, pattern string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(pattern, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// encoders are the Prep methods of uring.SQE.
func encoders() []string {
	var names []string
	for m := range reflect.TypeFor[*uring.SQE]().Methods() {
		if strings.HasPrefix(m.Name, "Prep") {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// submitted are the encoders that the operations of reactor call.
func submitted(t *testing.T) []string {
	t.Helper()
	known, called := encoders(), map[string]bool{}
	for _, file := range parse(t, "../../reactor/*.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(known, s.Sel.Name) {
				called[s.Sel.Name] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(called))
}

// submittedOps are the opcodes that the operations of reactor submit.
func submittedOps(t *testing.T) (ops uring.OpSet) {
	t.Helper()
	for _, name := range submitted(t) {
		var sqe uring.SQE
		method := reflect.ValueOf(&sqe).MethodByName(name)
		var args []reflect.Value
		for in := range method.Type().Ins() {
			args = append(args, reflect.Zero(in))
		}
		method.Call(args)
		ops.Add(sqe.Opcode)
	}
	return ops
}

// compareOps compares the opcodes that a part of the tree knows with those that are submitted.
func compareOps(t *testing.T, interpreter string, got uring.OpSet) {
	t.Helper()
	want := submittedOps(t)
	for i := range 256 {
		switch op := uring.Op(i); {
		case want.Has(op) && !got.Has(op):
			t.Errorf("reactor submits %s, which %s does not know", op, interpreter)
		case !want.Has(op) && got.Has(op):
			t.Errorf("%s knows %s, which no operation of reactor submits: remove it", interpreter, op)
		}
	}
}

func TestEveryEncoderIsUsed(t *testing.T) {
	called := submitted(t)
	for _, name := range encoders() {
		if !slices.Contains(called, name) {
			t.Errorf("uring.SQE.%s is called by no operation of reactor: remove it", name)
		}
	}
}

func TestEveryOpcodeIsSubmitted(t *testing.T) {
	var named uring.OpSet
	for i := range 256 {
		if op := uring.Op(i); !strings.HasPrefix(op.String(), "opcode ") {
			named.Add(op)
		}
	}
	compareOps(t, "uring.Op.String", named)
}

// TestEveryFlagIsSubmitted finds a use of each flag of an entry, in reactor or in an encoder.
func TestEveryFlagIsSubmitted(t *testing.T) {
	used := map[string]bool{}
	for _, pattern := range []string{"../../reactor/*.go", "../../uring/prep*.go"} {
		for _, file := range parse(t, pattern) {
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					used[id.Name] = true
				}
				return true
			})
		}
	}
	for _, file := range parse(t, "../../uring/*.go") {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			for _, spec := range decl.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if entryFlag(name.Name) && !used[name.Name] {
						t.Errorf("uring.%s is used by no operation of reactor: remove it", name.Name)
					}
				}
			}
		}
	}
}

// entryFlag reports whether a constant of package uring is a flag of a submission entry.
func entryFlag(name string) bool {
	for _, prefix := range []string{"SQE", "Accept", "Recvsend", "RecvMultishot", "SendZC", "PollAdd", "PollUpdate",
		"Cancel", "Fsync"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func TestEpollInterpretsWhatIsSubmitted(t *testing.T) {
	ring, err := epoll.New(epoll.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	compareOps(t, "epoll.Ring", ring.Caps().Ops)
}

// TestTheSimulationInterpretsWhatIsSubmitted joins many simulated rings, each of which may lack a few opcodes.
func TestTheSimulationInterpretsWhatIsSubmitted(t *testing.T) {
	var ops uring.OpSet
	for seed := range uint64(100) {
		caps := simring.New(seed, nil).NewRing().Caps()
		for i, word := range caps.Ops {
			ops[i] |= word
		}
	}
	compareOps(t, "the simulated kernel", ops)
}

// TestTheOracleKnowsEveryEncoder reads the oracle's tables, which are in a module of their own.
func TestTheOracleKnowsEveryEncoder(t *testing.T) {
	var rows []string
	for _, file := range parse(t, "../../uring/oracle/encoders_test.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.BasicLit); ok && strings.HasPrefix(key.Value, `"Prep`) {
					rows = append(rows, strings.Trim(key.Value, `"`))
				}
			}
			return true
		})
	}
	called := submitted(t)
	for _, name := range called {
		if !slices.Contains(rows, name) {
			t.Errorf("reactor submits %s, of which uring/oracle has no row", name)
		}
	}
	for _, name := range rows {
		if !slices.Contains(called, name) {
			t.Errorf("uring/oracle has a row of %s, which no operation of reactor calls: remove it", name)
		}
	}
}

// outside are the operations of the table in reactor's doc.go that the conformance suite does not use, and why.
var outside = map[string]string{
	"RecvFlags":  "the entry of Recv, with flags",
	"SendvZC":    "the operation state of SendZC, with more pieces",
	"Lstat":      "the operation state of Stat, with a flag",
	"EnqueueAt":  "what Sleep is made of, for schedulers",
	"CloseWrite": "a system call that completes immediately: no operation state",
	"TryAccept":  "a system call that completes immediately: no operation state",
	"Whole":      "the operation state of RecvMsgMany, with larger buffers",
}

// TestEveryOperationIsInTheSuite compares the table in reactor's doc.go with the conformance suite.
func TestEveryOperationIsInTheSuite(t *testing.T) {
	used := map[string]bool{}
	for _, file := range parse(t, "../testing/conformance/*.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	for _, name := range tableOfOperations(t) {
		switch why := outside[name]; {
		case !used[name] && why == "":
			t.Errorf("%s has a row in reactor/doc.go, and no row of the conformance suite uses it", name)
		case used[name] && why != "":
			t.Errorf("the conformance suite uses %s, which the list of those that it does not use has", name)
		}
	}
}

// tableOfOperations are the names of the methods and functions in the first column of the table in reactor's doc.go.
func tableOfOperations(t *testing.T) (names []string) {
	t.Helper()
	doc, err := os.ReadFile("../../reactor/doc.go")
	_, table, ok := strings.Cut(string(doc), "//	operation  ")
	if err != nil || !ok {
		t.Fatalf("reactor/doc.go has no table of operations: %v", err)
	}
	_, table, _ = strings.Cut(table, "\n")
	for line := range strings.Lines(table) {
		row, ok := strings.CutPrefix(line, "//	")
		if !ok {
			break
		}
		column, _, _ := strings.Cut(row, "  ")
		for name := range strings.SplitSeq(column, ", ") {
			names = append(names, name[strings.LastIndexByte(name, '.')+1:])
		}
	}
	return names
}
