package accesslog

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// textFormat formats records by a template. Unknown texts and addresses are "-".
type textFormat struct {
	segments []segment
	clock    clock
}

// segment is a field or a literal text.
type segment struct {
	field *field // nil for a literal text
	text  string
}

func newText(template string) (*textFormat, error) {
	parts, err := config.ParseTemplate(template)
	if err != nil {
		return nil, fmt.Errorf("access_log: template %w", err)
	}
	t := &textFormat{clock: clock{layout: rfc3339Layout, in: time.UTC}}
	for _, p := range parts {
		if p.Field == "" {
			t.segments = append(t.segments, segment{text: p.Text})
			continue
		}
		f, err := fieldOf(p.Field)
		if err != nil {
			return nil, err
		}
		t.segments = append(t.segments, segment{field: f})
	}
	return t, nil
}

func (t *textFormat) wants(name string) bool {
	return slices.ContainsFunc(t.segments, func(p segment) bool { return p.field != nil && p.field.name == name })
}

func (t *textFormat) append(line []byte, r *Record) []byte {
	for _, p := range t.segments {
		if p.field == nil {
			line = append(line, p.text...)
		} else {
			line = t.appendField(line, p.field, r)
		}
	}
	return append(line, '\n')
}

func (t *textFormat) appendField(line []byte, f *field, r *Record) []byte {
	switch {
	case f.known != nil && !f.known(r):
		return append(line, '-')
	case f.trusted && f.text(r) != "":
		return append(line, f.text(r)...)
	case f.text != nil:
		return appendEscaped(line, f.text(r))
	case f.number != nil:
		return strconv.AppendInt(line, f.number(r), 10)
	case f.duration != nil:
		return appendMilliseconds(line, f.duration(r))
	case f.flag != nil:
		return strconv.AppendBool(line, f.flag(r))
	case f.time != nil:
		return append(t.clock.append(line, f.time(r), 6), 'Z')
	case f.server != nil:
		a := f.server(r)
		if a.IsUnix() {
			return appendEscaped(line, a.String())
		}
		return appendAddress(line, a.AddrPort())
	default:
		return appendAddress(line, f.address(r))
	}
}

// appendAddress appends an address, or "-" if it is not valid.
func appendAddress(line []byte, a netip.AddrPort) []byte {
	if !a.IsValid() {
		return append(line, '-')
	}
	return a.AppendTo(line)
}

// appendMilliseconds appends a duration with three decimals, or -1 if it was not reached.
func appendMilliseconds(line []byte, d time.Duration) []byte {
	if d < 0 {
		return append(line, "-1"...)
	}
	us := d.Microseconds()
	line = strconv.AppendInt(line, us/1000, 10)
	return append(line, '.', byte('0'+us/100%10), byte('0'+us/10%10), byte('0'+us%10))
}

// appendEscaped appends foreign text as a single field: see [Writer.Log].
func appendEscaped(line []byte, s string) []byte {
	if s == "" {
		return append(line, '-')
	}
	const hex = "0123456789abcdef"
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' || b == '\\' || b == '"' {
			line = append(line, '\\', 'x', hex[b>>4], hex[b&15])
		} else {
			line = append(line, b)
		}
	}
	return line
}
