package bootstrap

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// parseYAML reads YAML as its JSON would be read. The decoder of the library would do it as well; it is a quarter of a
// megabyte of the binary.
func parseYAML(text []byte) (any, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	var doc any
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if doc, err = (&yamlReader{anchors: map[string]any{}}).value(d.Body); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func yamlError(err error) error {
	message, at := err.Error(), ""
	if of, ok := errors.AsType[yaml.Error](err); ok {
		message = of.GetMessage()
		if t := of.GetToken(); t != nil && t.Position != nil {
			at = fmt.Sprintf("line %d, column %d: ", t.Position.Line, t.Position.Column)
		}
	}
	return fmt.Errorf("%snot YAML: %s", at, strings.Join(strings.Fields(message), " "))
}

// yamlReader reads a document.
type yamlReader struct {
	anchors map[string]any
	depth   int
}

const maxYAMLDepth = 100

func (r *yamlReader) value(n ast.Node) (any, error) {
	if r.depth++; r.depth > maxYAMLDepth {
		return nil, fmt.Errorf("line %d: more than %d levels", n.GetToken().Position.Line, maxYAMLDepth)
	}
	defer func() { r.depth-- }()
	switch n := n.(type) {
	case *ast.TagNode:
		return nil, fmt.Errorf("line %d: tags are not supported", n.GetToken().Position.Line)
	case *ast.MappingNode:
		return r.mapping(n.Values)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		return r.list(n)
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.AnchorNode:
		v, err := r.value(n.Value)
		r.anchors[n.Name.GetToken().Value] = v
		return v, err
	case *ast.AliasNode:
		v, ok := r.anchors[n.Value.GetToken().Value]
		if !ok {
			return nil, fmt.Errorf("line %d: the alias %s has no anchor before it", n.GetToken().Position.Line, n.Value)
		}
		return v, nil
	case ast.ScalarNode:
		return n.GetValue(), nil
	}
	return nil, fmt.Errorf("line %d: %s is not supported", n.GetToken().Position.Line, n.Type())
}

func (r *yamlReader) mapping(values []*ast.MappingValueNode) (any, error) {
	out := make(document, len(values))
	for _, entry := range values {
		v, err := r.value(entry.Value)
		if err != nil {
			return nil, err
		}
		if merged, is := v.(document); is && entry.Key.IsMergeKey() {
			for key, value := range merged {
				if _, has := out[key]; !has {
					out[key] = value
				}
			}
			continue
		}
		key, ok := entry.Key.(ast.ScalarNode)
		if !ok {
			return nil, fmt.Errorf("line %d: a key is no scalar", entry.GetToken().Position.Line)
		}
		out[fmt.Sprint(key.GetValue())] = v
	}
	return out, nil
}

func (r *yamlReader) list(n *ast.SequenceNode) (any, error) {
	out := make([]any, len(n.Values))
	for i, item := range n.Values {
		v, err := r.value(item)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}
