//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is a private copy of what an entry points to. A struct msghdr is copied because the ring changes it, and the
// caller's is not written to; iovecs and strings are copied because the caller's need not stay.
type message struct {
	header unix.Msghdr
	iov    []unix.Iovec
	vec    []vector
	text   []byte
	off    [2]uint64 // of a splice
	next   uint32    // the next free message
}

// messages are the messages of a ring. They are reused, so that they allocate nothing in the long run. Index 0 is no
// message.
type messages struct {
	all  []*message
	free uint32
}

func (ms *messages) init() { ms.all = make([]*message, 1) }

// of returns the message of an entry. It gives the entry one if it has none yet.
func (ms *messages) of(e *entry) *message {
	if e.msg == 0 {
		if e.msg = ms.free; e.msg == 0 {
			e.msg = uint32(len(ms.all))
			ms.all = append(ms.all, new(message))
		} else {
			ms.free = ms.all[e.msg].next
		}
	}
	return ms.all[e.msg]
}

// release frees the message of an entry, if it has one, and what the message keeps alive.
func (ms *messages) release(e *entry) {
	if e.msg == 0 {
		return
	}
	m := ms.all[e.msg]
	m.header = unix.Msghdr{}
	clear(m.iov)
	m.vec, m.text = m.vec[:0], m.text[:0]
	m.next, ms.free = ms.free, e.msg
	e.msg = 0
}

// copyHeader gives an entry a copy of a header.
func (ms *messages) copyHeader(e *entry, h *unix.Msghdr) *message {
	m := ms.of(e)
	m.header = *h
	m.iov = append(m.iov[:0], unsafe.Slice(h.Iov, h.Iovlen)...)
	m.point(m.iov)
	return m
}

// messageLen returns how many bytes a header describes.
func messageLen(h *unix.Msghdr) (n int) {
	for _, v := range unsafe.Slice(h.Iov, h.Iovlen) {
		n += int(v.Len)
	}
	return n
}

func (m *message) point(iov []unix.Iovec) {
	m.header.Iov = unsafe.SliceData(iov)
	m.header.SetIovlen(len(iov))
}

// advance leaves out the first n bytes.
func (m *message) advance(n int) {
	iov := unsafe.Slice(m.header.Iov, m.header.Iovlen)
	for len(iov) != 0 && n >= int(iov[0].Len) {
		n -= int(iov[0].Len)
		iov = iov[1:]
	}
	if n > 0 {
		iov[0].Base = (*byte)(unsafe.Add(unsafe.Pointer(iov[0].Base), n))
		iov[0].SetLen(int(iov[0].Len) - n)
	}
	m.point(iov)
}

// aim makes the message describe the size bytes at base, and nothing else.
func (m *message) aim(base uintptr, size uint32) {
	m.iov = append(m.iov[:0], unix.Iovec{})
	*(*uintptr)(unsafe.Pointer(&m.iov[0].Base)) = base
	m.iov[0].SetLen(int(size))
	m.point(m.iov)
}
