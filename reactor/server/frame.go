//go:build linux

package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrTooLong is the error of a message that is longer than the Max of its framing.
var ErrTooLong = errors.New("server: a message is longer than Max")

// ErrLength is the error of a length field whose value, with Adjust, is negative.
var ErrLength = errors.New("server: the length of a message is negative")

// Framing finds messages in a stream: a [LengthField], a [Delimiter] or [Lines]. Its methods keep no state and allocate
// nothing.
type Framing interface {
	// Next looks for the message that in begins with. seen is how many bytes of in were looked at before, in vain. size
	// is how many bytes of in the message takes; 0 means that this is not known yet. The message is complete if size is
	// not 0 and in has as many bytes. frame is then the part of in that it carries.
	Next(in []byte, seen int) (frame []byte, size int, err error)
}

// Frames calls each for every complete message in in. It is to be called by Data, which returns what Frames returns:
//
//	func (h *handler) Data(c *server.Conn, in, out []byte) (int, []byte, error) {
//		return server.Frames(c, in, out, server.Lines{}, h.line)
//	}
//
// frame is leased, as in is. each appends to out and returns it, or nil. Its error, and those of the framing, end the
// connection. It stops early if each pauses or closes the connection, or when Config.HighWater bytes are to be sent.
func Frames[F Framing](c *Conn, in, out []byte, f F,
	each func(c *Conn, frame, out []byte) ([]byte, error),
) (used int, _ []byte, err error) {
	seen := c.Seen()
	for used < len(in) && c.reads() && len(out) <= c.w.cfg.HighWater {
		rest := in[used:]
		frame, size, err := f.Next(rest, max(seen-used, 0))
		if err != nil {
			return used, out, err
		}
		if size == 0 || size > len(rest) {
			c.Need(size)
			break
		}
		used += size
		o, err := each(c, frame, out)
		if o != nil {
			out = o
		}
		if err != nil {
			return used, out, err
		}
	}
	return used, out, nil
}

// maxFrame is the default of Max.
const maxFrame = 1 << 20

func limit(n int) int {
	if n == 0 {
		return maxFrame
	}
	return n
}

// LengthField is a framing by a field, in a header, that says how long the message is.
type LengthField struct {
	Offset       int  // bytes in front of the field
	Width        int  // bytes of the field: 1, 2, 3, 4 or 8. Default 4
	LittleEndian bool // default: network byte order
	// Adjust is added to the value of the field, to make it the number of bytes that follow the field: negative, for
	// example, if the value counts the header too.
	Adjust int
	// Strip is the number of bytes left out at the beginning of a frame. Offset+Width leaves out the header.
	Strip int
	// Max bounds the length of a message, with all of its header, in bytes. Default 1 MiB. Config.MaxUnread has to be
	// as large.
	Max int
}

// Next implements [Framing].
func (f LengthField) Next(in []byte, _ int) (frame []byte, size int, err error) {
	if f.Width == 0 {
		f.Width = 4
	}
	f.check()
	header := f.Offset + f.Width
	if len(in) < header {
		return nil, 0, nil
	}
	value := f.value(in[f.Offset:header])
	most := limit(f.Max)
	if value > uint64(most)+uint64(max(-f.Adjust, 0)) {
		return nil, 0, ErrTooLong
	}
	rest := int(value) + f.Adjust
	switch {
	case rest < 0:
		return nil, 0, ErrLength
	case header+rest > most:
		return nil, 0, ErrTooLong
	}
	size = header + rest
	if size > len(in) {
		return nil, size, nil
	}
	return in[min(f.Strip, size):size], size, nil
}

// check panics unless f makes sense.
func (f LengthField) check() {
	switch {
	case f.Width != 8 && (f.Width < 1 || f.Width > 4):
		panic(fmt.Sprintf("server: LengthField.Width is %d: it is 1, 2, 3, 4 or 8", f.Width))
	case min(f.Offset, f.Strip, f.Max) < 0 || max(f.Offset, f.Strip, f.Max, f.Adjust, -f.Adjust) > maxField:
		panic(fmt.Sprintf("server: LengthField %+v: the numbers are at most %d, and only Adjust is negative", f, maxField))
	}
}

const maxField = 1<<30 - 1

func (f LengthField) value(b []byte) uint64 {
	var whole [8]byte
	if f.LittleEndian {
		copy(whole[:], b)
		return binary.LittleEndian.Uint64(whole[:])
	}
	copy(whole[8-len(b):], b)
	return binary.BigEndian.Uint64(whole[:])
}

// Delimiter is a framing by bytes behind each message, which are not part of the frame.
type Delimiter struct {
	Bytes []byte
	Max   int // bytes that a message may have without the delimiter. Default 1 MiB
}

// Next implements [Framing].
func (f Delimiter) Next(in []byte, seen int) (frame []byte, size int, err error) {
	if len(f.Bytes) == 0 || f.Max < 0 {
		panic("server: a Delimiter needs Bytes, and a Max that is not negative")
	}
	return next(in, seen, f.Bytes, limit(f.Max))
}

func next(in []byte, seen int, delimiter []byte, most int) (frame []byte, size int, err error) {
	from := max(seen-len(delimiter)+1, 0)
	i := bytes.Index(in[from:], delimiter)
	switch i += from; {
	case i < from && len(in) < most+len(delimiter):
		return nil, 0, nil
	case i < from || i > most:
		return nil, 0, ErrTooLong
	}
	return in[:i:i], i + len(delimiter), nil
}

// Lines is a framing by "\n" or "\r\n" behind each message, which are not part of the frame.
type Lines struct {
	Max int // bytes that a line may have without its "\n". Default 1 MiB
}

var newline = []byte{'\n'}

// Next implements [Framing].
func (f Lines) Next(in []byte, seen int) (frame []byte, size int, err error) {
	if f.Max < 0 {
		panic("server: the Max of Lines is negative")
	}
	frame, size, err = next(in, seen, newline, limit(f.Max))
	if n := len(frame); n != 0 && frame[n-1] == '\r' {
		frame = frame[: n-1 : n-1]
	}
	return frame, size, err
}
