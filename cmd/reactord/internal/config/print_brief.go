package config

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// maxFlow limits the columns of a mapping or list that [PrintBrief] writes on one line.
const maxFlow = 110

// PrintBrief writes a configuration as an operator would: only the settings that differ from their defaults, in their
// short forms. [Parse] reads it back as the same Config. It returns errors of w only.
func PrintBrief(w io.Writer, c *Config) error {
	p := &briefPrinter{bufio.NewWriter(w)}
	p.section(root, reflect.ValueOf(c).Elem(), root.fresh, "", "")
	return p.Flush()
}

type briefPrinter struct{ *bufio.Writer }

// section prints a mapping in block style. lead starts its first line, and indent every other line.
func (p *briefPrinter) section(s *shape, v, defaults reflect.Value, lead, indent string) {
	for _, f := range unusualFields(s, v, defaults) {
		if indent == "" && f.isList() && f.shape != nil {
			_ = p.WriteByte('\n') // listeners and backends stand apart
		}
		x := f.of(v)
		start := lead + f.key + ":"
		lead = indent
		flow := flowValue(f, x, f.of(defaults), true)
		switch {
		case f.isList() && f.shape != nil:
			fmt.Fprintln(p, start)
			for i := range x.Len() {
				p.entry(f.shape, x.Index(i), indent+"  ")
			}
		case len(start)+1+len(flow) <= maxFlow || f.shape == nil && !f.isList():
			fmt.Fprintln(p, start, flow)
		case f.isList():
			fmt.Fprintln(p, start)
			for i := range x.Len() {
				fmt.Fprintf(p, "%s  - %s\n", indent, formatBrief(x.Index(i)))
			}
		default:
			fmt.Fprintln(p, start)
			p.section(f.shape, x, f.of(defaults), indent+"  ", indent+"  ")
		}
	}
}

// entry prints a mapping of a list. Those of the lists at the top, which indent tells, are never on one line.
func (p *briefPrinter) entry(s *shape, v reflect.Value, indent string) {
	flow := flowMapping(s, v, s.fresh, true)
	if len(indent) > 2 && len(indent)+2+len(flow) <= maxFlow {
		fmt.Fprintf(p, "%s- %s\n", indent, flow)
		return
	}
	p.section(s, v, s.fresh, indent+"- ", indent+"  ")
}

// unusualFields returns the settings of a mapping that differ from their defaults, its name first.
func unusualFields(s *shape, v, defaults reflect.Value) (all []*field) {
	for _, f := range s.fields {
		x := f.of(v)
		same := reflect.DeepEqual(x.Interface(), f.of(defaults).Interface())
		switch empty := f.isList() && x.Len() == 0; {
		case same, empty:
		case f.key == "name":
			all = slices.Insert(all, 0, f)
		default:
			all = append(all, f)
		}
	}
	return all
}

// flowMapping returns a mapping on one line, or the value that stands for it. block tells whether it is not within
// another one.
func flowMapping(s *shape, v, defaults reflect.Value, block bool) string {
	unusual := unusualFields(s, v, defaults)
	if s.scalar != nil && len(unusual) == 1 && unusual[0] == s.scalar {
		return flowScalar(s.scalar.of(v), block)
	}
	parts := make([]string, len(unusual))
	for i, f := range unusual {
		if f.shape == nil && !f.isList() && !strings.Contains(formatBrief(f.of(v)), "://") {
			parts[i] = f.key + ": " + formatBrief(f.of(v))
		} else {
			parts[i] = f.key + ": " + flowValue(f, f.of(v), f.of(defaults), false)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// flowValue returns the value of a setting on one line.
func flowValue(f *field, v, defaults reflect.Value, block bool) string {
	switch {
	case f.isList():
		parts := make([]string, v.Len())
		for i := range parts {
			if f.shape != nil {
				parts[i] = flowMapping(f.shape, v.Index(i), f.shape.fresh, false)
			} else {
				parts[i] = flowScalar(v.Index(i), false)
			}
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case f.shape != nil:
		return flowMapping(f.shape, v, defaults, block)
	}
	return flowScalar(v, block)
}

// flowScalar returns a scalar. In brackets, an address with colons is quoted: it could be read as a mapping.
func flowScalar(v reflect.Value, block bool) string {
	text := formatBrief(v)
	if !block && strings.Contains(text, ":") && !strings.HasPrefix(text, `"`) {
		return `"` + text + `"`
	}
	return text
}

// bare matches text that needs no quotes although it does not begin with a letter, or has a port: a path, an IPv4
// address or network, and HOST:PORT.
var bare = regexp.MustCompile(`^(/[A-Za-z0-9_./\-]+|\d+\.\d+\.\d+\.\d+(/\d+)?|(\d+\.\d+\.\d+\.\d+|[A-Za-z][A-Za-z0-9.\-]*):\d+(-\d+)?)$`)

// formatBrief returns a scalar in YAML, an address without "tcp://".
func formatBrief(v reflect.Value) string {
	var text string
	switch x := v.Interface().(type) {
	case Address:
		text = strings.TrimPrefix(x.String(), scheme)
	case Prefix:
		text = x.String()
		if x.Set == "" && x.IsSingleIP() {
			text = x.Addr().String()
		}
	default:
		if v.Kind() != reflect.String {
			return format(v)
		}
		text = literal(v.String())
	}
	if bare.MatchString(text) {
		return text
	}
	return formatText(text)
}
