package simulation

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// A request and an answer are a frame each: a header, and bytes that follow from it. So each side can tell whether
// every byte has arrived, and a client which server has answered.
//
//	magic uint32, client uint32, exchange uint32, server uint32, length uint32, answer uint32, bytes
const (
	frameHeader = 24
	frameMagic  = 0x51ea5a51 // neither text, nor TLS, nor a PROXY header
)

// frame is the header of a frame.
type frame struct {
	client   uint32
	exchange uint32
	server   uint32 // of an answer
	length   uint32 // of the bytes behind the header
	answer   uint32 // of a request: length of the answer's bytes
}

// errFrame reports bytes that are not those that were sent.
var errFrame = errors.New("bytes have changed on the way")

// append appends the frame to dst.
func (f *frame) append(dst []byte) []byte {
	dst = slices.Grow(dst, frameHeader+int(f.length))
	for _, v := range []uint32{frameMagic, f.client, f.exchange, f.server, f.length, f.answer} {
		dst = binary.BigEndian.AppendUint32(dst, v)
	}
	for i := uint32(0); i < f.length; {
		part := f.from(i)
		dst = append(dst, part...)
		i += uint32(len(part))
	}
	return dst
}

// pattern has what the bytes of all frames are parts of: each byte is its index.
var pattern = func() (p [1 << 12]byte) {
	for i := range p {
		p[i] = byte(i)
	}
	return p
}()

// from returns bytes of the frame from the i-th on, not all of them.
func (f *frame) from(i uint32) []byte {
	part := pattern[byte(f.client*31+f.exchange*7+i):]
	return part[:min(len(part), int(f.length-i))]
}

// frameReader reads frames from a stream.
type frameReader struct {
	header [frameHeader]byte
	have   int // bytes of the header
	frame  frame
	read   uint32 // bytes behind the header
}

// next takes bytes of b up to the end of a frame, and returns how many. whole reports that the frame has ended: it is
// in r.frame until the next call.
func (r *frameReader) next(b []byte) (n int, whole bool, err error) {
	if r.have < frameHeader {
		n = copy(r.header[r.have:], b)
		if r.have += n; r.have < frameHeader {
			return n, false, nil
		}
		h := r.header[:]
		field := func(i int) uint32 { return binary.BigEndian.Uint32(h[4*i:]) }
		if field(0) != frameMagic {
			return n, false, errFrame
		}
		r.frame, r.read = frame{field(1), field(2), field(3), field(4), field(5)}, 0
	}
	for n < len(b) && r.read < r.frame.length {
		part := r.frame.from(r.read)
		part = part[:min(len(part), len(b)-n)]
		if !bytes.Equal(part, b[n:n+len(part)]) {
			return n, false, errFrame
		}
		n += len(part)
		r.read += uint32(len(part))
	}
	if r.read < r.frame.length {
		return n, false, nil
	}
	r.have = 0
	return n, true, nil
}

// begun reports whether a part of a frame has been read.
func (r *frameReader) begun() bool { return r.have > 0 }

// startsFrame reports whether b, which may be shorter than a magic number, can begin a frame.
func startsFrame(b []byte) bool {
	magic := binary.BigEndian.AppendUint32(nil, frameMagic)
	n := min(len(b), len(magic))
	return string(b[:n]) == string(magic[:n])
}
