package yamltree

import (
	"math"

	"github.com/goccy/go-yaml/ast"
)

// Maker makes values of the nodes of a document, from the innermost ones outwards. Its errors end the reading.
type Maker[V any] interface {
	Scalar(at Position, s Scalar) (V, error)
	List(at Position, items []V) (V, error)
	Mapping(at Position, entries []Entry[V]) (V, error)
}

// Scalar is a node without children.
type Scalar struct {
	Value any    // nil, or a string, bool, int64, uint64 or float64
	Text  string // of a string, the same; of others, as it is written
	Block bool   // whether it is text in the style of "|" or ">", which ends with a newline
}

// Entry is a key of a mapping with its value. A key may be there several times.
type Entry[V any] struct {
	Key   string
	At    Position // of the key
	Value V
}

// Read makes a value of the only document of a text, of at most depth levels below the outermost one. It reports
// whether there is a document. What is wrong with the text is an [*Error].
func Read[V any](text []byte, depth int, m Maker[V]) (value V, found bool, err error) {
	body, err := parse(text)
	if err != nil || body == nil {
		return value, false, err
	}
	value, err = read(body, depth, m)
	return value, true, err
}

func read[V any](n ast.Node, depth int, m Maker[V]) (V, error) {
	var none V
	at := PositionOf(n)
	if depth < 0 {
		return none, at.Errorf("nested too deep")
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		var items []V
		for _, item := range n.Values {
			v, err := read(item, depth-1, m)
			if err != nil {
				return none, err
			}
			items = append(items, v)
		}
		return m.List(at, items)
	case *ast.MappingNode:
		return mapping(at, n.Values, depth, m)
	case *ast.MappingValueNode: // a mapping of one entry
		return mapping(at, []*ast.MappingValueNode{n}, depth, m)
	}
	s, ok := scalar(n)
	if !ok {
		return none, at.Errorf("anchors, aliases, tags and merged keys are not supported here")
	}
	return m.Scalar(at, s)
}

func mapping[V any](at Position, values []*ast.MappingValueNode, depth int, m Maker[V]) (V, error) {
	var none V
	entries := make([]Entry[V], 0, len(values))
	for _, e := range values {
		key, ok := scalar(e.Key)
		if !ok || key.Value == nil {
			return none, PositionOf(e.Key).Errorf("a key is plain text")
		}
		v, err := read(e.Value, depth-1, m)
		if err != nil {
			return none, err
		}
		entries = append(entries, Entry[V]{key.Text, PositionOf(e.Key), v})
	}
	return m.Mapping(at, entries)
}

// scalar returns what a node without children holds, or false for other nodes.
func scalar(n ast.Node) (Scalar, bool) {
	switch n := n.(type) {
	case *ast.NullNode:
		return Scalar{}, true
	case *ast.StringNode:
		return Scalar{Value: n.Value, Text: n.Value}, true
	case *ast.LiteralNode:
		return Scalar{Value: n.Value.Value, Text: n.Value.Value, Block: true}, true
	case *ast.BoolNode:
		return Scalar{Value: n.Value, Text: n.GetToken().Value}, true
	case *ast.IntegerNode:
		return Scalar{Value: n.Value, Text: n.GetToken().Value}, true
	case *ast.FloatNode:
		return Scalar{Value: n.Value, Text: n.GetToken().Value}, true
	case *ast.InfinityNode:
		return Scalar{Value: n.Value, Text: n.GetToken().Value}, true
	case *ast.NanNode:
		return Scalar{Value: math.NaN(), Text: n.GetToken().Value}, true
	}
	return Scalar{}, false
}
