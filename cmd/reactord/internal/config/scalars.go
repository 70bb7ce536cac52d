package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

func (d *decoder) text(p *place, name string, n ast.Node, into *string) {
	if s, ok := n.(*ast.StringNode); ok {
		*into = s.Value
		return
	}
	hint := ""
	if _, ok := n.(ast.ScalarNode); ok && n.Type() != ast.NullType {
		hint = fmt.Sprintf(": write it in quotes, %q", n.GetToken().Value)
		if v := n.GetToken().Value; name == "version" && (v == "1" || v == "2") { // of PROXY
			hint = ": write v" + v
		}
	}
	d.fail(p, "%s is text, not %s%s", name, describe(n), hint)
}

func (d *decoder) integer(p *place, name string, n ast.Node, into *int) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		switch v := n.Value.(type) {
		case int64:
			*into = int(v)
			return
		case uint64:
			*into = int(min(v, math.MaxInt)) // larger than every maximum
			return
		}
	case *ast.StringNode:
		if v, err := strconv.Atoi(n.Value); p.env && (err == nil || errors.Is(err, strconv.ErrRange)) {
			*into = v
			return
		}
	}
	d.fail(p, "%s is a whole number, not %s", name, describe(n))
}

func (d *decoder) boolean(p *place, name string, n ast.Node, into *bool) {
	switch n := n.(type) {
	case *ast.BoolNode:
		*into = n.Value
		return
	case *ast.StringNode:
		if p.env && (n.Value == "true" || n.Value == "false") {
			*into = n.Value == "true"
			return
		}
	}
	d.fail(p, "%s is true or false, not %s", name, describe(n))
}

func (d *decoder) address(p *place, name string, n ast.Node, into *Address) {
	s, ok := n.(*ast.StringNode)
	if !ok {
		d.fail(p, "%s is an address such as %s127.0.0.1:8080, not %s", name, scheme, describe(n))
		return
	}
	if s.Value == "" {
		return // empty; whether it may be is a matter of rules
	}
	a, err := ParseAddress(s.Value)
	if err != nil {
		d.fail(p, "%s %s: %w", name, quote(s.Value), err)
		return
	}
	*into = a
}

func (d *decoder) duration(p *place, name string, n ast.Node, into *time.Duration) {
	const example = "write a number with its unit, as in 500ms, 5s, 10m or 1h30m"
	switch n := n.(type) {
	case *ast.StringNode:
		v, err := time.ParseDuration(n.Value)
		if meant := foreignDuration(n.Value); err != nil && meant != 0 {
			d.fail(p, "%s %s is not a duration: write %s", name, quote(n.Value), formatDuration(meant))
			return
		}
		if err != nil {
			d.fail(p, "%s %s is not a duration: %s", name, quote(n.Value), example)
			return
		}
		*into = v
	case *ast.IntegerNode, *ast.FloatNode:
		v := n.GetToken().Value
		if f, err := strconv.ParseFloat(v, 64); err == nil && f == 0 {
			*into = 0
			return
		}
		d.fail(p, "%s %s has no unit: %s", name, clip(v), example)
	default:
		d.fail(p, "%s is a duration, not %s: %s", name, describe(n), example)
	}
}

// unmarshal reads a value with a text form. numeric allows text that looks like a number.
func (d *decoder) unmarshal(p *place, name string, n ast.Node, into encoding.TextUnmarshaler, numeric bool) {
	text, ok := number(n)
	if _, isText := n.(*ast.StringNode); !ok || !isText && !numeric {
		t := reflect.TypeOf(into).Elem()
		d.fail(p, "%s is %s such as %s, not %s", name, kinds[t], samples[t], describe(n))
		return
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		d.fail(p, "%s %w", name, err)
	}
}

// number returns the text of a node that is a whole number or text.
func number(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// describe names the kind of a node for messages.
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
		return "an anchor or alias: write the value itself, or what several entries share below defaults"
	case *ast.TagNode:
		return "a tag: write the value itself"
	}
	return "a " + strings.ToLower(n.Type().String())
}
