package epoll

import (
	"fmt"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// group is a group of provided buffers. The one provided last is used first: it is the most likely to be in the cache.
type group struct {
	mem  []byte
	base uintptr
	size uint32 // bytes a buffer
	n    int
	free []uint16 // provided and not used; its capacity is n
	in   []bool   // which ones are in free; only kept when debugging
}

// RegisterBuffers makes a group of len(mem)/size receive buffers, numbered from 0, none of which is
// provided yet. mem belongs to the caller, and must stay mapped until the ring is closed. The error
// matches unix.EINVAL for a bad size and unix.EEXIST for a group that there is already.
func (r *Ring) RegisterBuffers(id uint16, mem []byte, size int) error {
	if size <= 0 || len(mem) < size || len(mem)/size > uring.MaxBuffers {
		return fmt.Errorf("epoll: a buffer group of %d bytes cannot have buffers of %d bytes: %w", len(mem), size, unix.EINVAL)
	}
	for int(id) >= len(r.groups) {
		r.groups = append(r.groups, nil)
	}
	if r.groups[id] != nil {
		return fmt.Errorf("epoll: buffer group %d is registered already: %w", id, unix.EEXIST)
	}
	n := len(mem) / size
	g := &group{mem: mem, base: uintptr(unsafe.Pointer(&mem[0])), size: uint32(size), n: n, free: make([]uint16, 0, n)}
	if assert.Enabled {
		g.in = make([]bool, n)
	}
	r.groups[id] = g
	return nil
}

// ProvideBuffer gives one buffer of a registered group to the ring, until a completion names it.
// Giving one that the ring has already is an error of the caller's that is only found by the build tag
// reactordebug, unless it makes more of them than there are: then it panics.
func (r *Ring) ProvideBuffer(id, buf uint16) {
	r.check()
	r.groups[id].give(buf)
}

func (g *group) give(buf uint16) {
	if int(buf) >= g.n || len(g.free) == g.n {
		panic("epoll: a buffer is provided that the group does not have or has already")
	}
	if assert.Enabled {
		if g.in[buf] {
			panic("epoll: a buffer is provided twice")
		}
		g.in[buf] = true
	}
	g.free = append(g.free, buf)
}

// take takes the buffer that was provided last. There must be one.
func (g *group) take() uint16 {
	last := len(g.free) - 1
	buf := g.free[last]
	g.free = g.free[:last]
	if assert.Enabled {
		g.in[buf] = false
	}
	return buf
}

// group returns a group, or nil.
func (r *Ring) group(id uint16) *group {
	if int(id) < len(r.groups) {
		return r.groups[id]
	}
	return nil
}

// provided returns the group if it has a buffer to give.
func (r *Ring) provided(id uint16) *group {
	if g := r.group(id); g != nil && len(g.free) != 0 {
		return g
	}
	return nil
}

// pick gives an entry a buffer, unless it holds one from an earlier attempt, and says where it is and
// how much of it may be used. It reports false if there is none.
func (r *Ring) pick(e *entry) (base uintptr, size uint32, ok bool) {
	var g *group
	if e.mark&holds != 0 {
		g = r.groups[e.BufIndex]
	} else {
		if g = r.provided(e.BufIndex); g == nil {
			return 0, 0, false
		}
		e.buf = g.take()
		e.mark |= holds
	}
	size = g.size
	if e.Len != 0 && e.Len < size {
		size = e.Len
	}
	return g.base + uintptr(e.buf)*uintptr(g.size), size, true
}

// useBuffer hands the buffer that an entry holds to its completion: it returns the flags to post.
func (r *Ring) useBuffer(e *entry) uint32 {
	if e.mark&holds == 0 {
		return 0
	}
	e.mark &^= holds
	return uring.CQEBuffer | uint32(e.buf)<<uring.CQEBufferShift
}

// dropBuffer puts the buffer that an entry holds back into its group.
func (r *Ring) dropBuffer(e *entry) {
	if e.mark&holds != 0 {
		e.mark &^= holds
		r.groups[e.BufIndex].give(e.buf)
	}
}
