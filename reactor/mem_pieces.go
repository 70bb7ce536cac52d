//go:build linux

package reactor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// pieces are several pieces of memory that are moved as one, and how much of them was moved.
type pieces struct {
	first [1]unix.Iovec // most often there is one
	iov   []unix.Iovec
	head  int // the first of iov that was not moved completely
	into  int // how many bytes of that one were moved: it says what is left
	total int // bytes
	moved int // bytes
}

// reset empties the list of pieces.
func (p *pieces) reset() {
	if p.iov == nil {
		p.iov = p.first[:0]
	}
	if len(p.iov) > 1 {
		clear(p.iov[1:]) // the next pieces may be fewer, and must not keep the others alive
	}
	p.iov, p.head, p.into, p.total, p.moved = p.iov[:0], 0, 0, 0, 0
}

// add appends a piece.
func (p *pieces) add(b []byte) {
	if len(b) == 0 {
		return
	}
	v := unix.Iovec{Base: unsafe.SliceData(b)}
	v.SetLen(len(b))
	p.iov = append(p.iov, v)
	p.total += len(b)
}

func (p *pieces) set(bufs [][]byte) {
	p.reset()
	for _, b := range bufs {
		p.add(b)
	}
}

// rewind starts from the first byte again.
func (p *pieces) rewind() {
	if p.into != 0 {
		p.shift(-p.into)
	}
	p.head, p.into, p.moved = 0, 0, 0
}

// shift moves the beginning of the piece at head.
func (p *pieces) shift(n int) {
	v := &p.iov[p.head]
	v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
	v.SetLen(int(v.Len) - n)
}

// advance skips n bytes that were moved.
func (p *pieces) advance(n int) {
	p.moved += n
	for n > 0 {
		left := int(p.iov[p.head].Len)
		if n < left {
			p.shift(n)
			p.into += n
			return
		}
		n -= left
		if p.into != 0 {
			p.shift(-p.into)
			p.into = 0
		}
		p.head++
	}
}

func (p *pieces) left() int { return p.total - p.moved }

// rest returns what is left.
func (p *pieces) rest() []unix.Iovec { return p.iov[p.head:] }

// describe makes msg name what is left.
func (p *pieces) describe(msg *unix.Msghdr) {
	rest := p.rest()
	msg.Iov = unsafe.SliceData(rest)
	msg.SetIovlen(len(rest))
}
