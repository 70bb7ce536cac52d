package clienthello

import "encoding/binary"

// reader takes fields from the front of its bytes. If there are not enough, it stays broken, and returns empty fields.
type reader struct {
	b      []byte
	broken bool
}

// bytes takes n bytes.
func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.b, r.broken = nil, true
		return nil
	}
	field := r.b[:n]
	r.b = r.b[n:]
	return field
}

// uint8 takes a byte, or returns 0 at the end.
func (r *reader) uint8() int {
	if field := r.bytes(1); len(field) == 1 {
		return int(field[0])
	}
	return 0
}

// uint16 takes two bytes as a number, or returns 0 at the end.
func (r *reader) uint16() int {
	if field := r.bytes(2); len(field) == 2 {
		return int(binary.BigEndian.Uint16(field))
	}
	return 0
}

// prefixed8 and prefixed16 take a field with a length prefix of one or two bytes. The reader of the field is broken if
// r is.
func (r *reader) prefixed8() reader {
	field := r.bytes(r.uint8())
	return reader{b: field, broken: r.broken}
}

func (r *reader) prefixed16() reader {
	field := r.bytes(r.uint16())
	return reader{b: field, broken: r.broken}
}

// empty reports whether all bytes were taken.
func (r *reader) empty() bool { return len(r.b) == 0 }
