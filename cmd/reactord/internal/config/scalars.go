package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

func (d *decoder) text(into *string) reader {
	return func(path string, n ast.Node) {
		if s, ok := n.(*ast.StringNode); ok {
			*into = s.Value
			return
		}
		hint := ""
		if _, ok := n.(ast.ScalarNode); ok && n.Type() != ast.NullType {
			hint = fmt.Sprintf(": write it in quotes, %q", n.GetToken().Value)
		}
		d.fail(path, n, "%s is text, not %s%s", key(path), describe(n), hint)
	}
}

func (d *decoder) integer(into *int) reader {
	return func(path string, n ast.Node) {
		i, ok := n.(*ast.IntegerNode)
		if !ok {
			d.fail(path, n, "%s is a whole number, not %s", key(path), describe(n))
			return
		}
		switch v := i.Value.(type) {
		case int64:
			*into = int(v)
		case uint64:
			*into = int(min(v, math.MaxInt)) // larger than every maximum
		}
	}
}

func (d *decoder) boolean(into *bool) reader {
	return func(path string, n ast.Node) {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.fail(path, n, "%s is true or false, not %s", key(path), describe(n))
			return
		}
		*into = b.Value
	}
}

func (d *decoder) address(into *Address) reader {
	return func(path string, n ast.Node) {
		s, ok := n.(*ast.StringNode)
		if !ok {
			d.fail(path, n, "%s is an address such as %s127.0.0.1:8080, not %s", key(path), scheme, describe(n))
			return
		}
		a, err := ParseAddress(s.Value)
		if err != nil {
			d.fail(path, n, "%s %s: %w", key(path), quote(s.Value), err)
			return
		}
		*into = a
	}
}

func (d *decoder) duration(into *time.Duration) reader {
	return func(path string, n ast.Node) {
		const example = "write a number with its unit, as in 500ms, 5s, 10m or 1h30m"
		switch n := n.(type) {
		case *ast.StringNode:
			v, err := time.ParseDuration(n.Value)
			if err != nil {
				d.fail(path, n, "%s %s is not a duration: %s", key(path), quote(n.Value), example)
				return
			}
			*into = v
		case *ast.IntegerNode, *ast.FloatNode:
			v := n.GetToken().Value
			if f, err := strconv.ParseFloat(v, 64); err == nil && f == 0 {
				*into = 0
				return
			}
			d.fail(path, n, "%s %s has no unit: %s", key(path), clip(v), example)
		default:
			d.fail(path, n, "%s is a duration, not %s: %s", key(path), describe(n), example)
		}
	}
}

func (d *decoder) size(into *Size) reader {
	return func(path string, n ast.Node) {
		switch n.(type) {
		case *ast.StringNode, *ast.IntegerNode:
			v, err := ParseSize(n.GetToken().Value)
			if err != nil {
				d.fail(path, n, "%s %w", key(path), err)
				return
			}
			*into = v
		default:
			d.fail(path, n, "%s is a size such as 64KiB, not %s", key(path), describe(n))
		}
	}
}

// describe says what a node is, for a message that says what it should be.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + clip(n.GetToken().Value)
	case *ast.StringNode:
		return quote(n.Value)
	case *ast.BoolNode:
		return strconv.FormatBool(n.Value)
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias: write the value itself"
	case *ast.TagNode:
		return "a tag: write the value itself"
	}
	return "a " + strings.ToLower(n.Type().String())
}
