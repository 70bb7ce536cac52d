//go:build linux

package epoll

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// vector is a struct iovec that means nothing to the garbage collector: its address may be bad.
type vector struct{ base, size uintptr }

const (
	maxVectors  = 1024       // UIO_MAXIOV
	maxTransfer = 0x7ffff000 // the most bytes that one read or write moves; see read(2)
)

// takeVector copies the iovecs of an entry, which need not stay.
func (r *Ring) takeVector(e *entry) unix.Errno {
	if e.Len > maxVectors {
		return unix.EINVAL
	}
	m := r.messages.of(e)
	m.vec = slices.Grow(m.vec[:0], int(e.Len))[:e.Len]
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m.vec))), len(m.vec)*int(unsafe.Sizeof(vector{})))
	if !copyIn(bytes, e.Addr) {
		return unix.EFAULT
	}
	for _, v := range m.vec {
		if int(v.size) < 0 {
			return unix.EINVAL
		}
	}
	return 0
}

// remaining returns what a read or a write has still to move, and how many bytes that is. It reports false if there is
// no provided buffer. The result is valid until the next call.
func (r *Ring) remaining(e *entry) (vec []vector, size int, ok bool) {
	if e.msg != 0 {
		vec = r.messages.of(e).vec
		for _, v := range vec {
			size += min(int(v.size), maxTransfer-size)
		}
		return vec, size, true
	}
	base, n := uintptr(e.Addr), e.Len
	if e.selectsBuffer() {
		if base, n, ok = r.groups.pick(e); !ok {
			return nil, 0, false
		}
	}
	r.tmp.vec[0] = vector{base + uintptr(e.done), uintptr(n - e.done)}
	return r.tmp.vec[:], min(int(n-e.done), maxTransfer), true
}

// ownVector copies what remaining returns to memory of the entry, for a system call that is made later.
func (r *Ring) ownVector(e *entry) (vec []vector, ok bool) {
	if e.msg == 0 {
		if vec, _, ok = r.remaining(e); !ok {
			return nil, false
		}
		m := r.messages.of(e)
		m.vec = append(m.vec[:0], vec...)
	}
	return r.messages.of(e).vec, true
}

// moved counts n bytes as moved.
func (r *Ring) moved(e *entry, n int) {
	e.done += uint32(n)
	if e.Off != uring.FilePosition {
		e.Off += uint64(n)
	}
	if e.msg == 0 {
		return
	}
	m := r.messages.of(e)
	first := 0
	for n >= int(m.vec[first].size) {
		n -= int(m.vec[first].size)
		if first++; first == len(m.vec) {
			break
		}
	}
	m.vec = m.vec[:copy(m.vec, m.vec[first:])]
	if n > 0 {
		m.vec[0].base += uintptr(n)
		m.vec[0].size -= uintptr(n)
	}
}
