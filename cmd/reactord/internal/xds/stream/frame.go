package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
)

// prefix is the bytes before a message: whether it is compressed, and its length.
const prefix = 5

// keep is the greatest buffer that is kept for the next message, in bytes.
const keep = 1 << 20

// errCompressed is the error of a message that is compressed although that was not offered.
var errCompressed = errors.New("the server has compressed a message, which was not offered")

// appendMessage appends a message with its prefix.
func appendMessage(to []byte, m proto.Message) ([]byte, error) {
	at := len(to)
	to, err := proto.MarshalOptions{}.MarshalAppend(append(to, make([]byte, prefix)...), m)
	if err != nil {
		return nil, err
	}
	length := len(to) - at - prefix
	if uint64(length) > 1<<32-1 {
		return nil, fmt.Errorf("a message of %d bytes cannot be sent", length)
	}
	binary.BigEndian.PutUint32(to[at+1:], uint32(length))
	return to, nil
}

// reader reads messages with their prefixes.
type reader struct {
	from    io.Reader
	limit   int                // of a message in bytes
	stalled func() *time.Timer // begins to run when a part of a message is awaited; nil: it may take any time
	buf     []byte
}

// chunk is the part of a message that must come in the time of [reader.stalled], in bytes.
const chunk = 1 << 20

// next is the bytes of the next message, valid until the next call. [io.EOF]: the stream has ended between messages.
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
		return nil, fmt.Errorf("not gRPC: a message begins with byte %d", head[0])
	case uint64(length) > uint64(r.limit):
		return nil, fmt.Errorf("a message has %d bytes, and the limit is %d", length, r.limit)
	}
	// The buffer grows as bytes arrive: the length may be a lie.
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

// growth is how many times as many bytes as have come the buffer has room for: little of a great message is copied.
const growth = 16

// least is the least buffer, in bytes.
const least = 64 << 10

// part reads bytes until there are n.
func (r *reader) part(n int) error {
	if r.stalled != nil {
		defer r.stalled().Stop()
	}
	at := len(r.buf)
	_, err := io.ReadFull(r.from, r.buf[at:n])
	r.buf = r.buf[:n]
	return err
}

// release gives the memory of a great message back.
func (r *reader) release() {
	if cap(r.buf) > keep {
		r.buf = nil
	}
}

// half is the error of a message that ends early.
func half(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errHalf
	}
	return err
}
