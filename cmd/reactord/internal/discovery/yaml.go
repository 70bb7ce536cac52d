package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxParts limits the parts of a YAML text, which is in memory as a whole: a part takes about 500 bytes. 10 000
// servers with some labels have fewer.
const maxParts = 1 << 18

// parseYAML reads the only document of a YAML text, without anchors, aliases and tags.
func parseYAML(data []byte, each func(group *value) error) error {
	if parts := bytes.Count(data, []byte{','}) + bytes.Count(data, []byte{'\n'}) + bytes.Count(data, []byte{':'}) +
		bytes.Count(data, []byte{'['}) + bytes.Count(data, []byte{'{'}); parts > maxParts {
		return &contentError{line: 1, column: 1, text: fmt.Sprintf(
			"more than %d lines, commas, colons and brackets: write several files, or JSON", maxParts)}
	}
	root, err := rootOf(data)
	switch {
	case err != nil:
		return err
	case root.kind != list:
		return notAList(&root)
	}
	for i := range root.items {
		if err := each(&root.items[i]); err != nil {
			return err
		}
	}
	return nil
}

func rootOf(data []byte) (value, error) {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return value{}, syntaxError(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if _, ok := doc.Body.(*ast.DirectiveNode); ok || doc.Body == nil {
			continue // "%YAML 1.2", or only comments
		}
		if body != nil {
			second := valueAt(doc.Body)
			return value{}, second.wrong("a second document")
		}
		body = doc.Body
	}
	if body == nil {
		return value{}, &contentError{line: 1, column: 1, text: "the file is empty", err: errEmpty}
	}
	return valueOf(body, 0)
}

// syntaxError converts an error of the YAML parser to a single line.
func syntaxError(err error) error {
	out := &contentError{line: 1, column: 1, text: err.Error()}
	if of, ok := errors.AsType[yaml.Error](err); ok {
		out.text = of.GetMessage()
		if t := of.GetToken(); t != nil && t.Position != nil {
			out.line, out.column = max(t.Position.Line, 1), max(t.Position.Column, 1)
		}
	}
	out.text = "not YAML: " + strings.Join(strings.Fields(out.text), " ")
	return out
}

// valueAt returns an empty value with the place of a node.
func valueAt(n ast.Node) value {
	v := value{line: 1, column: 1}
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return valueAt(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return valueAt(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		v.line, v.column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return v
}

func valueOf(n ast.Node, depth int) (value, error) {
	v := valueAt(n)
	if depth > maxDepth {
		return v, v.wrong("nested too deeply")
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		v.kind = list
		for _, item := range n.Values {
			child, err := valueOf(item, depth+1)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, child)
		}
	case *ast.MappingNode:
		v.kind = mapping
		for _, entry := range n.Values {
			key, ok := entry.Key.(*ast.StringNode)
			if !ok {
				at := valueAt(entry.Key)
				return v, at.wrong("a key is plain text")
			}
			child, err := valueOf(entry.Value, depth+1)
			if err != nil {
				return v, err
			}
			if err := v.add(key.Value, child); err != nil {
				return v, err
			}
		}
	case *ast.NullNode:
	case *ast.StringNode:
		v.kind, v.text = scalar, n.Value
	case *ast.LiteralNode:
		v.kind, v.text = scalar, strings.TrimSpace(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		v.kind, v.text = scalar, n.GetToken().Value
	default:
		return v, v.wrong("anchors, aliases, tags and merge keys are not supported")
	}
	return v, nil
}
