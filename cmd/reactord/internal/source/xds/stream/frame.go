package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
)

// prefix is the size of a message's header: a compression flag and its length.
const prefix = 5

// keep is the largest buffer kept for the next message, in bytes.
const keep = 1 << 20

// errCompressed reports a message that is compressed although the client does not accept that.
var errCompressed = errors.New("the server sent a compressed message, which was not negotiated")

// appendMessage appends a message with its prefix.
func appendMessage(to []byte, m proto.Message) ([]byte, error) {
	at := len(to)
	to, err := proto.MarshalOptions{}.MarshalAppend(append(to, make([]byte, prefix)...), m)
	if err != nil {
		return nil, err
	}
	length := len(to) - at - prefix
	if uint64(length) > 1<<32-1 {
		return nil, fmt.Errorf("message of %d bytes is too large to send", length)
	}
	binary.BigEndian.PutUint32(to[at+1:], uint32(length))
	return to, nil
}

// reader reads messages with their prefixes.
type reader struct {
	from    io.Reader
	limit   int                // largest message in bytes
	stalled func() *time.Timer // starts a timer for a part of a message; nil for no limit
	buf     []byte
}

// chunk is the part of a message that must arrive in the time of [reader.stalled], in bytes.
const chunk = 1 << 20

// next returns the bytes of the next message, valid until the next call, or [io.EOF] if the stream ends between
// messages.
func (r *reader) next() ([]byte, error) {
	var head [prefix]byte
	if n, err := io.ReadFull(r.from, head[:]); err != nil {
		if n > 0 {
			err = half(err)
		}
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] == 1:
		return nil, errCompressed
	case head[0] != 0:
		return nil, fmt.Errorf("not gRPC: message begins with byte %d", head[0])
	case uint64(length) > uint64(r.limit):
		return nil, fmt.Errorf("message of %d bytes exceeds the limit of %d", length, r.limit)
	}
	// The buffer grows as bytes arrive, because the length may be a lie.
	for r.buf = r.buf[:0]; len(r.buf) < int(length); {
		if len(r.buf) == cap(r.buf) {
			grown := make([]byte, len(r.buf), min(int(length), max(growth*cap(r.buf), least)))
			copy(grown, r.buf)
			r.buf = grown
		}
		if err := r.part(min(int(length), cap(r.buf), len(r.buf)+chunk)); err != nil {
			return nil, half(err)
		}
	}
	return r.buf, nil
}

// growth is the factor by which the buffer grows: little of a large message is copied.
const growth = 16

// least is the smallest buffer, in bytes.
const least = 64 << 10

// part reads until there are n bytes.
func (r *reader) part(n int) error {
	if r.stalled != nil {
		defer r.stalled().Stop()
	}
	at := len(r.buf)
	_, err := io.ReadFull(r.from, r.buf[at:n])
	r.buf = r.buf[:n]
	return err
}

// release frees the memory of a large message.
func (r *reader) release() {
	if cap(r.buf) > keep {
		r.buf = nil
	}
}

// half converts the error of a truncated message.
func half(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errHalf
	}
	return err
}
