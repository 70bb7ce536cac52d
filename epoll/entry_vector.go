package epoll

import (
	runtimedebug "runtime/debug"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// vector is a struct iovec that means nothing to the garbage collector: its address may be bad.
type vector struct{ base, size uintptr }

const (
	maxVectors  = 1024       // UIO_MAXIOV
	maxTransfer = 0x7ffff000 // bytes that one read or write moves at most; see read(2)
)

// takeVector copies the iovecs of an entry, which need not stay.
func (r *Ring) takeVector(i uint32) unix.Errno {
	e := r.slab.at(i)
	if e.Len > maxVectors {
		return unix.EINVAL
	}
	m := r.messageOf(i)
	m.vec = slices.Grow(m.vec[:0], int(e.Len))[:e.Len]
	if !copyVectors(m.vec, e.Addr) {
		return unix.EFAULT
	}
	for _, v := range m.vec {
		if int(v.size) < 0 {
			return unix.EINVAL
		}
	}
	return 0
}

// left is what is left to be moved by a read or a write, and how many bytes that is. It reports false if
// there is no provided buffer. It is good until the next call.
func (r *Ring) left(e *entry) (vec []vector, size int, ok bool) {
	if e.msg != 0 {
		vec = r.messages[e.msg].vec
		for _, v := range vec {
			size += min(int(v.size), maxTransfer-size)
		}
		return vec, size, true
	}
	base, n := uintptr(e.Addr), e.Len
	if e.Flags&uring.SQEBufferSelect != 0 {
		if base, n, ok = r.pick(e); !ok {
			return nil, 0, false
		}
	}
	r.tmp.vec[0] = vector{base + uintptr(e.done), uintptr(n - e.done)}
	return r.tmp.vec[:], min(int(n-e.done), maxTransfer), true
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
	m := r.messages[e.msg]
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

func copyVectors(into []vector, from uint64) bool {
	const size = int(unsafe.Sizeof(vector{}))
	return copyIn(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(into))), len(into)*size), from)
}

// copyIn copies what an entry points to. It reports false if there is nothing.
func copyIn(into []byte, from uint64) (ok bool) {
	if len(into) == 0 || from == 0 {
		return len(into) == 0
	}
	defer runtimedebug.SetPanicOnFault(runtimedebug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	copy(into, unsafe.Slice((*byte)(pointer(&from)), len(into)))
	return true
}

// copyOut copies to where an entry points. It reports false if it cannot.
func copyOut(to uint64, from []byte) (ok bool) {
	if to == 0 {
		return false
	}
	defer runtimedebug.SetPanicOnFault(runtimedebug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	copy(unsafe.Slice((*byte)(pointer(&to)), len(from)), from)
	return true
}
