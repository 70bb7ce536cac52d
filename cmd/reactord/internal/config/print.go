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

// Print writes every setting of a configuration as YAML that [Parse] reads back as the same Config. Each value gets a
// comment from origin, which is called with its path, as in "backends[0].servers[1].weight"; for a Config of [Load],
// pass [Places.Origin]. A nil origin writes no comments. It returns errors of w only.
func Print(w io.Writer, c *Config, origin func(path string) string) error {
	return (&printer{Writer: bufio.NewWriter(w), origin: origin}).print(c)
}

// PrintRedacted prints like [Print], with [Redacted] in place of each secret: the bytes that checks and agents send,
// which may contain a password, and the headers for a control plane.
func PrintRedacted(w io.Writer, c *Config, origin func(path string) string) error {
	return (&printer{Writer: bufio.NewWriter(w), origin: origin, redacts: true}).print(c)
}

// Redacted replaces secrets in output.
const Redacted = "[redacted]"

// IsSecret reports whether a field of a settings struct is a secret.
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

// section prints a struct. lead starts its first line, and indent every other line.
func (p *printer) section(at *step, s *shape, v reflect.Value, lead, indent string) {
	for _, f := range s.fields {
		if f.rule.resolved {
			continue
		}
		fmt.Fprintf(p, "%s%s:", lead, f.key)
		lead = indent
		below, x := at.of(f.key), f.of(v)
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

// value prints a value and its origin, up to the end of the line.
func (p *printer) value(at *step, text string) {
	comment := ""
	if p.origin != nil {
		comment = " # " + strings.Join(strings.Fields(p.origin(at.String())), " ")
	}
	p.end(" " + text + comment)
}

func (p *printer) end(text string) { _, _ = p.WriteString(text + "\n") }

// format returns a scalar in YAML.
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
	}
	if v.Kind() == reflect.String {
		return formatText(literal(v.String()))
	}
	return fmt.Sprint(v.Interface())
}

// plain matches text that needs no quotes: it begins with a letter, and nothing in it is special to YAML.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./\-]*(://[A-Za-z0-9_.\-/]+(:[0-9]+)?)?$`)

// notText lists words that some version of YAML does not read as text.
var notText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// formatText returns text in YAML, plain if possible and double-quoted otherwise.
func formatText(s string) string {
	if plain.MatchString(s) && !slices.Contains(notText, strings.ToLower(s)) {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b) // a JSON string is also one in YAML
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\x7f`)
}
