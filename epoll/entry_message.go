package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is a private copy of what an entry points to: a struct msghdr of which parts are moved, for what
// the caller gave is not written to; or iovecs or strings, for they need not stay. They are pooled, so that
// this allocates nothing in the long run.
type message struct {
	header unix.Msghdr
	iov    []unix.Iovec
	vec    []vector
	text   []byte
	off    [2]uint64 // of a splice
	next   uint32    // the next free one
}

// messageLen is how many bytes a header describes.
func messageLen(h *unix.Msghdr) (n int) {
	for _, v := range unsafe.Slice(h.Iov, h.Iovlen) {
		n += int(v.Len)
	}
	return n
}

// copyMessage gives the entry a copy of the header.
func (r *Ring) copyMessage(i uint32, h *unix.Msghdr) *message {
	m := r.messageOf(i)
	m.header = *h
	m.iov = append(m.iov[:0], unsafe.Slice(h.Iov, h.Iovlen)...)
	m.point(m.iov)
	return m
}

// messageOf gives the entry a message, if it has none yet.
func (r *Ring) messageOf(i uint32) *message {
	e := r.slab.at(i)
	if e.msg == 0 {
		if e.msg = r.freeMessage; e.msg == 0 {
			e.msg = uint32(len(r.messages))
			r.messages = append(r.messages, new(message))
		} else {
			r.freeMessage = r.messages[e.msg].next
		}
	}
	return r.messages[e.msg]
}

// dropMessage frees a copy, and with it what it kept alive.
func (r *Ring) dropMessage(msg uint32) {
	m := r.messages[msg]
	m.header = unix.Msghdr{}
	clear(m.iov)
	m.vec, m.text = m.vec[:0], m.text[:0]
	m.next, r.freeMessage = r.freeMessage, msg
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

// aim makes the size bytes at base all that the message is about.
func (m *message) aim(base uintptr, size uint32) {
	m.iov = append(m.iov[:0], unix.Iovec{})
	*(*uintptr)(unsafe.Pointer(&m.iov[0].Base)) = base
	m.iov[0].SetLen(int(size))
	m.point(m.iov)
}
