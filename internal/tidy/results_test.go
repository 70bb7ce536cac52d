package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// libraries are the files of the packages that programs import.
var libraries = regexp.MustCompile(`^(timerqueue|sender|uring|epoll|reactor|metrics)/`)

// Every result of an exported function of a library has a type that its caller can name.
func TestResultsHaveNames(t *testing.T) {
	packages := map[string][]*ast.File{}
	for _, name := range files(t) {
		if !libraries.MatchString(name) || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.Contains(name, "/testdata/") || strings.Contains(name, "/internal/") ||
			strings.HasPrefix(name, "reactor/examples/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		packages[path.Dir(name)] = append(packages[path.Dir(name)], file)
	}
	if len(packages["reactor"]) == 0 {
		t.Fatal("no files of reactor")
	}
	for dir, all := range packages {
		unexported := unexportedTypes(all)
		for _, f := range exportedFunctions(all) {
			if f.Type.Results == nil {
				continue
			}
			ast.Inspect(f.Type.Results, func(n ast.Node) bool {
				field, isField := n.(*ast.Field)
				if isField {
					ast.Inspect(field.Type, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok && unexported[id.Name] {
							t.Errorf("%s: %s returns %s: export the type", dir, f.Name.Name, id.Name)
						}
						return true
					})
				}
				return !isField
			})
		}
	}
}

// unexportedTypes returns the names of the types of a package that other packages cannot spell.
func unexportedTypes(files []*ast.File) map[string]bool {
	names := map[string]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			if types, ok := decl.(*ast.GenDecl); ok && types.Tok == token.TYPE {
				for _, spec := range types.Specs {
					name := spec.(*ast.TypeSpec).Name
					names[name.Name] = !name.IsExported()
				}
			}
		}
	}
	return names
}

// exportedFunctions returns the functions, and the methods of exported types, that other packages can call.
func exportedFunctions(files []*ast.File) (all []*ast.FuncDecl) {
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			if f.Recv == nil || receiver(f.Recv.List[0].Type).IsExported() {
				all = append(all, f)
			}
		}
	}
	return all
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	default:
		return e.(*ast.Ident)
	}
}
