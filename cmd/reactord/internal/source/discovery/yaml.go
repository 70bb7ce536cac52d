package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
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
	root, found, err := yamltree.Read(data, maxDepth, maker{})
	if at, ok := errors.AsType[*yamltree.Error](err); ok {
		err = &contentError{line: at.At.Line, column: at.At.Column, text: at.Text}
	}
	switch {
	case err != nil:
		return err
	case !found:
		return &contentError{line: 1, column: 1, text: "the file is empty", err: errEmpty}
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

// maker makes values of YAML.
type maker struct{}

func (maker) Scalar(at yamltree.Position, s yamltree.Scalar) (value, error) {
	v := value{kind: scalar, text: s.Text, line: at.Line, column: at.Column}
	switch {
	case s.Value == nil:
		v.kind = null
	case s.Block:
		v.text = strings.TrimSpace(s.Text)
	}
	return v, nil
}

func (maker) List(at yamltree.Position, items []value) (value, error) {
	return value{kind: list, items: items, line: at.Line, column: at.Column}, nil
}

func (maker) Mapping(at yamltree.Position, entries []yamltree.Entry[value]) (value, error) {
	v := value{kind: mapping, line: at.Line, column: at.Column}
	for _, e := range entries {
		if err := v.add(e.Key, e.Value); err != nil {
			return v, err
		}
	}
	return v, nil
}
