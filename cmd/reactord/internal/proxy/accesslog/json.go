package accesslog

import (
	"net/netip"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// jsonFormat formats a record as a JSON object without unknown texts and addresses. It is written by hand, because
// zap's encoder, which the daemon's log uses, takes four times as long.
type jsonFormat struct {
	fields []jsonField
	clocks [2]clock
}

// jsonField is a field with its encoded key.
type jsonField struct {
	*field
	key string
}

func newJSON(names []string) (*jsonFormat, error) {
	j := &jsonFormat{clocks: [2]clock{{layout: rfc3339Layout, in: time.UTC}, {layout: rfc3339Layout, in: time.UTC}}}
	if len(names) == 0 {
		for i := range fields {
			names = append(names, fields[i].name)
		}
	}
	for _, name := range names {
		f, err := fieldOf(name)
		if err != nil {
			return nil, err
		}
		j.fields = append(j.fields, jsonField{f, `"` + name + `":`})
	}
	return j, nil
}

func (j *jsonFormat) wants(name string) bool {
	return slices.ContainsFunc(j.fields, func(f jsonField) bool { return f.name == name })
}

func (j *jsonFormat) append(line []byte, r *Record) []byte {
	line = append(line, '{')
	begin, times := len(line), 0
	for i := range j.fields {
		f := &j.fields[i]
		if f.known != nil && !f.known(r) {
			continue
		}
		before := len(line)
		if before > begin {
			line = append(line, ',')
		}
		line = append(line, f.key...)
		value := len(line)
		switch {
		case f.text != nil:
			if s := f.text(r); s != "" {
				line = appendQuoted(line, s)
			}
		case f.number != nil:
			line = strconv.AppendInt(line, f.number(r), 10)
		case f.duration != nil:
			line = appendMilliseconds(line, f.duration(r))
		case f.flag != nil:
			line = strconv.AppendBool(line, f.flag(r))
		case f.time != nil:
			line = append(line, '"')
			line = j.clocks[times&1].append(line, f.time(r), 6)
			line = append(line, `Z"`...)
			times++
		case f.server != nil:
			if a := f.server(r); a.IsUnix() {
				line = appendQuoted(line, a.String())
			} else {
				line = appendQuotedAddress(line, a.AddrPort())
			}
		default:
			line = appendQuotedAddress(line, f.address(r))
		}
		if len(line) == value { // unknown
			line = line[:before]
		}
	}
	return append(line, '}', '\n')
}

// appendQuotedAddress appends a valid address as a string, and nothing for an invalid one.
func appendQuotedAddress(line []byte, a netip.AddrPort) []byte {
	if !a.IsValid() {
		return line
	}
	line = append(line, '"')
	return append(a.AppendTo(line), '"')
}

// appendQuoted appends a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(line []byte, s string) []byte {
	const hex = "0123456789abcdef"
	line = append(line, '"')
	plain := 0
	for plain < len(s) && isPlain[s[plain]] {
		plain++
	}
	line = append(line, s[:plain]...)
	s = s[plain:]
	for i := 0; i < len(s); {
		b := s[i]
		switch {
		case b == '"' || b == '\\':
			line = append(line, '\\', b)
		case b < ' ' || b == 0x7f:
			line = append(line, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		case b < utf8.RuneSelf:
			line = append(line, b)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			line = utf8.AppendRune(line, r)
			i += n
			continue
		}
		i++
	}
	return append(line, '"')
}

// isPlain has the bytes that a JSON string contains unescaped.
var isPlain = func() (plain [256]bool) {
	for b := ' '; b <= '~'; b++ {
		plain[b] = b != '"' && b != '\\'
	}
	return plain
}()
