package main

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// trim removes from generated code what has no caller and the linker would keep, since the program uses reflection:
// Reset, JSON, and the deprecated Descriptor and EnumDescriptor.
func trim(code string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", code, parser.ParseComments)
	if err != nil {
		return "", err
	}
	type span struct{ from, to int }
	var spans []span
	remove := func(doc *ast.CommentGroup, node ast.Node) {
		from := node.Pos()
		if doc != nil {
			from = doc.Pos()
		}
		spans = append(spans, span{files.Position(from).Offset, files.Position(node.End()).Offset})
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil && slices.Contains([]string{"Reset", "MarshalJSON", "UnmarshalJSON"}, name) ||
				strings.Contains(decl.Doc.Text(), "Deprecated: Use ") || strings.HasSuffix(name, "_rawDescGZIP") {
				remove(decl.Doc, decl)
			}
		case *ast.GenDecl:
			if value, ok := decl.Specs[0].(*ast.ValueSpec); ok && strings.HasSuffix(value.Names[0].Name, "_rawDescOnce") {
				remove(decl.Doc, decl)
			}
			for _, spec := range decl.Specs {
				imported, ok := spec.(*ast.ImportSpec)
				if ok && (imported.Name.Name == "sync" || imported.Name.Name == "protojson") {
					remove(nil, spec)
				}
			}
		}
	}
	for _, s := range slices.Backward(spans) {
		code = code[:s.from] + strings.TrimLeft(code[s.to:], "\n")
	}
	trimmed, err := format.Source([]byte(code))
	return string(trimmed), err
}
