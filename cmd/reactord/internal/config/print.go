package config

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Print writes every setting of a configuration as YAML that [Parse] reads as the same Config. Each value has a comment
// that says where it comes from: origin is called with its path, as in "backends[0].servers[1].weight". For a Config
// of [Load], this is [Source.Origin]. A nil origin leaves the comments out. The error is one of w.
func Print(w io.Writer, c *Config, origin func(path string) string) error {
	return (&printer{Writer: bufio.NewWriter(w), origin: origin}).print(c)
}

// PrintRedacted writes the same with [Redacted] in the place of each secret: what checks and agents send, which may
// have a password, and the headers for a control plane.
func PrintRedacted(w io.Writer, c *Config, origin func(path string) string) error {
	return (&printer{Writer: bufio.NewWriter(w), origin: origin, redacts: true}).print(c)
}

// Redacted stands for a secret.
const Redacted = "[redacted]"

// IsSecret reports whether the value of a field of a struct of settings is a secret.
func IsSecret(of reflect.Type, field string) bool { return rules[of.Name()+"."+field].secret }

type printer struct {
	*bufio.Writer
	origin  func(path string) string
	redacts bool
}

func (p *printer) print(c *Config) error {
	p.section(nil, root, reflect.ValueOf(c).Elem(), "", "")
	return p.Flush()
}

// section prints a struct. lead is what its first line begins with, and indent every other line.
func (p *printer) section(at *step, s *shape, v reflect.Value, lead, indent string) {
	for _, f := range s.fields {
		fmt.Fprintf(p, "%s%s:", lead, f.key)
		lead = indent
		below, x := at.of(f.key), v.Field(f.index)
		switch {
		case f.isList() && x.Len() > 0:
			p.end("")
			p.list(below, f, x, indent+"  ")
		case f.isList():
			p.value(below, "[]")
		case f.shape != nil:
			p.end("")
			p.section(below, f.shape, x, indent+"  ", indent+"  ")
		case p.redacts && f.rule.secret && !x.IsZero():
			p.value(below, formatText(Redacted))
		default:
			p.value(below, format(x))
		}
	}
}

func (p *printer) list(at *step, f *field, list reflect.Value, indent string) {
	for i := range list.Len() {
		if f.shape != nil {
			p.section(at.nth(i), f.shape, list.Index(i), indent+"- ", indent+"  ")
			continue
		}
		_, _ = p.WriteString(indent + "-")
		p.value(at.nth(i), format(list.Index(i)))
	}
}

// value prints a value and where it comes from, to the end of the line.
func (p *printer) value(at *step, text string) {
	comment := ""
	if p.origin != nil {
		comment = " # " + strings.Join(strings.Fields(p.origin(at.String())), " ")
	}
	p.end(" " + text + comment)
}

func (p *printer) end(text string) { _, _ = p.WriteString(text + "\n") }

// format is a scalar in YAML.
func format(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return formatDuration(x)
	case Size:
		return x.String()
	case FileMode:
		return `"` + x.String() + `"` // because YAML 1.1 and 1.2 differ in what 0600 is
	case fmt.Stringer:
		return formatText(x.String())
	case string:
		return formatText(literal(x))
	}
	return fmt.Sprint(v.Interface())
}

// plain is text that needs no quotes: it begins with A to Z, and has nothing that means something to YAML.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./\-]*(://[A-Za-z0-9_.\-/]+(:[0-9]+)?)?$`)

// words that are no text in some version of YAML.
var notText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// formatText is text in YAML: plain if it can be, else in double quotes.
func formatText(s string) string {
	if plain.MatchString(s) && !slices.Contains(notText, strings.ToLower(s)) {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b) // what JSON quotes is the same in YAML
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\x7f`)
}
