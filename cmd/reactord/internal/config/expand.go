package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// expand replaces the environment variables in a text node, and marks the place if there were any. It returns nil
// after an error.
func (d *decoder) expand(p *place, n ast.Node) ast.Node {
	s, ok := n.(*ast.StringNode)
	if !ok || !strings.Contains(s.Value, "${") {
		return n
	}
	text, used, err := expand(s.Value, os.LookupEnv)
	if err != nil {
		d.fail(p, "%w", err)
		return nil
	}
	p.env = used
	changed := *s
	changed.Value = text
	return &changed
}

// expand replaces ${NAME} with the environment variable NAME, and ${NAME:-DEFAULT} with DEFAULT if NAME is unset or
// empty; $${ yields ${. Values are not expanded again. used reports whether there was a variable.
func expand(text string, lookup func(string) (string, bool)) (_ string, used bool, err error) {
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), used, nil
		}
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		inside, after, closed := strings.Cut(text[i+2:], "}")
		if !closed {
			return "", used, fmt.Errorf("%s has no closing brace: write ${NAME}, or $${ for the text ${", quote(text[i:]))
		}
		value, err := variable(inside, lookup)
		if err != nil {
			return "", used, err
		}
		b.WriteString(value)
		text, used = after, true
	}
}

// variable returns the value of "NAME" or "NAME:-DEFAULT".
func variable(inside string, lookup func(string) (string, bool)) (string, error) {
	name, otherwise, hasDefault := strings.Cut(inside, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf("%s is not the name of a variable: write ${NAME} or ${NAME:-DEFAULT}, "+
			"or $${ for the text ${", quote(name))
	}
	value, set := lookup(name)
	switch {
	case hasDefault && value == "":
		return otherwise, nil
	case !set:
		return "", errors.New("the environment variable " + name + " is not set: set it, or write ${" + name + ":-DEFAULT}")
	}
	return value, nil
}

// isVariable follows the names of IEEE Std 1003.1, XBD 3.231.
func isVariable(name string) bool {
	for i, r := range name {
		alphabetic := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !alphabetic && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// literal escapes s, so that expand returns it unchanged.
func literal(s string) string { return strings.ReplaceAll(s, "${", "$${") }
