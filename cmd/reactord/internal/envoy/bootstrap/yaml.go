package bootstrap

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxDepth is how deep a document may be nested.
const maxDepth = 100

// parseYAML reads the only document of a YAML text as JSON has it, without anchors, aliases and tags.
func parseYAML(text []byte) (any, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, notYAML(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); directive || doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, wrong(doc.Body, "a second document")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, nil
	}
	return plainValue(body, 0)
}

// notYAML is an error of the parser in one line.
func notYAML(err error) error {
	of, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return fmt.Errorf("not YAML: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	at := ""
	if t := of.GetToken(); t != nil && t.Position != nil {
		at = fmt.Sprintf("line %d, column %d: ", t.Position.Line, t.Position.Column)
	}
	return fmt.Errorf("%snot YAML: %s", at, strings.Join(strings.Fields(of.GetMessage()), " "))
}

// wrong is an error at the place of a node.
func wrong(n ast.Node, text string) error {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return fmt.Errorf("line %d, column %d: %s", t.Position.Line, t.Position.Column, text)
	}
	return errors.New(text)
}

// plainValue is what a node holds.
func plainValue(n ast.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, wrong(n, "nested too deep")
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		doc := make(document, len(n.Values))
		for _, entry := range n.Values {
			if err := put(doc, entry, depth); err != nil {
				return nil, err
			}
		}
		return doc, nil
	case *ast.MappingValueNode: // a mapping of one entry
		doc := document{}
		return doc, put(doc, n, depth)
	case *ast.SequenceNode:
		items := make([]any, 0, len(n.Values))
		for _, item := range n.Values {
			value, err := plainValue(item, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, value)
		}
		return items, nil
	case *ast.NullNode:
		return nil, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.IntegerNode:
		return n.Value, nil
	case *ast.FloatNode:
		return n.Value, nil
	}
	return nil, wrong(n, "anchors, aliases, tags, merged keys and infinite numbers are not supported here")
}

// put adds an entry to a document.
func put(doc document, entry *ast.MappingValueNode, depth int) error {
	key, ok := entry.Key.(*ast.StringNode)
	name := ""
	switch {
	case ok:
		name = key.Value
	case entry.Key.Type() == ast.IntegerType, entry.Key.Type() == ast.BoolType, entry.Key.Type() == ast.FloatType:
		name = entry.Key.GetToken().Value
	default:
		return wrong(entry.Key, "a key is plain text")
	}
	value, err := plainValue(entry.Value, depth+1)
	if err != nil {
		return err
	}
	doc[name] = value
	return nil
}
