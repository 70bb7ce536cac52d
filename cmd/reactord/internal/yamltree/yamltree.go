// Package yamltree reads YAML documents whose errors have places: files with one document, of what JSON has as well.
// Anchors, aliases, tags and merged keys are errors.
//
// [Read] makes values of any type of a text. [Document], [PositionOf] and [Syntax] are for those that walk the nodes of
// the parser themselves.
package yamltree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Position is a line and a column of a text, counted from 1.
type Position struct{ Line, Column int }

// Error is an error in a text, with its position.
type Error struct {
	At   Position
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.At.Line, e.At.Column, e.Text) }

// Errorf returns an error at p.
func (p Position) Errorf(format string, args ...any) *Error {
	return &Error{p, fmt.Sprintf(format, args...)}
}

// PositionOf returns where a node begins.
func PositionOf(n ast.Node) Position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return PositionOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return PositionOf(m.Key)
	}
	return PositionOfToken(n.GetToken())
}

// PositionOfToken returns where a token begins: at the beginning of the text if t is nil.
func PositionOfToken(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{1, 1}
	}
	return Position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// Document returns the only document of a file, or nil if the file has only comments and directives.
func Document(file *ast.File) (ast.Node, *Error) {
	var body ast.Node
	for _, doc := range file.Docs {
		if _, ok := doc.Body.(*ast.DirectiveNode); ok || doc.Body == nil {
			continue // "%YAML 1.2", or only comments
		}
		if body != nil {
			return nil, PositionOf(doc.Body).Errorf("a second document")
		}
		body = doc.Body
	}
	return body, nil
}

// Syntax returns what the parser says is wrong, and the token at which it says so, or nil.
func Syntax(err error) (*token.Token, string) {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		return e.GetToken(), e.GetMessage()
	}
	return nil, err.Error()
}

// parse returns the only document of a text, or nil if there is none.
func parse(text []byte) (ast.Node, error) {
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, text := Syntax(err)
		return nil, PositionOfToken(at).Errorf("not YAML: %s", strings.Join(strings.Fields(text), " "))
	}
	body, second := Document(file)
	if second != nil {
		return nil, second
	}
	return body, nil
}
