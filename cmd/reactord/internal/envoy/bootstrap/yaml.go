package bootstrap

import (
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// maxDepth limits the nesting of a document.
const maxDepth = 100

// parseYAML reads the only document of a YAML text as JSON has it, without anchors, aliases and tags. It returns nil
// if the text is empty.
func parseYAML(text []byte) (any, error) {
	value, _, err := yamltree.Read(text, maxDepth, maker{})
	return value, err
}

// maker makes of YAML what package json makes of JSON.
type maker struct{}

func (maker) Scalar(at yamltree.Position, s yamltree.Scalar) (any, error) {
	if f, ok := s.Value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return nil, at.Errorf("%s is not supported: write a finite number", s.Text)
	}
	return s.Value, nil
}

func (maker) List(_ yamltree.Position, items []any) (any, error) {
	if items == nil {
		items = []any{}
	}
	return items, nil
}

func (maker) Mapping(_ yamltree.Position, entries []yamltree.Entry[any]) (any, error) {
	doc := make(document, len(entries))
	for _, e := range entries {
		if _, ok := doc[e.Key]; ok {
			return nil, e.At.Errorf("%q is already set", e.Key)
		}
		doc[e.Key] = e.Value
	}
	return doc, nil
}
