//go:build linux

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
	mem   []byte
	base  uintptr
	size  uint32 // bytes of a buffer
	n     int
	free  []uint16 // provided and not used
	given []bool   // which buffers are in free; only kept if assertions are enabled
}

// groups are the buffer groups of a ring, by their ids.
type groups []*group

// RegisterBuffers makes a group of len(mem)/size receive buffers, numbered from 0, none of which is provided yet. mem
// belongs to the caller, and must stay mapped until the ring is closed. The error matches unix.EINVAL for a bad size
// and unix.EEXIST if the group exists already.
func (r *Ring) RegisterBuffers(id uint16, mem []byte, size int) error {
	if size <= 0 || len(mem) < size || len(mem)/size > uring.MaxBuffers {
		return fmt.Errorf("epoll: a buffer group of %d bytes cannot have buffers of %d bytes: %w",
			len(mem), size, unix.EINVAL)
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
		g.given = make([]bool, n)
	}
	r.groups[id] = g
	return nil
}

// ProvideBuffer gives one buffer of a registered group to the ring, until a completion names it. It panics if the group
// does not have the buffer, or if more buffers are provided than the group has. With the build tag reactordebug it
// panics for each buffer that the ring has already.
func (r *Ring) ProvideBuffer(id, buf uint16) {
	r.check()
	r.groups[id].give(buf)
}

// TakeBuffer takes back the buffer of a registered group that was provided first. It reports false if the ring has
// none that no receive holds.
func (r *Ring) TakeBuffer(id uint16) (buf uint16, ok bool) {
	r.check()
	g := r.groups.available(id)
	if g == nil {
		return 0, false
	}
	buf = g.free[0]
	g.free = append(g.free[:0], g.free[1:]...)
	if assert.Enabled {
		g.given[buf] = false
	}
	return buf, true
}

func (g *group) give(buf uint16) {
	if int(buf) >= g.n || len(g.free) == g.n {
		panic("epoll: ProvideBuffer of a buffer that the group does not have or that the ring has already")
	}
	if assert.Enabled {
		if g.given[buf] {
			panic("epoll: ProvideBuffer of a buffer that the ring has already; wait until a completion names it")
		}
		g.given[buf] = true
	}
	g.free = append(g.free, buf)
}

// take takes the buffer that was provided last. There must be one.
func (g *group) take() uint16 {
	last := len(g.free) - 1
	buf := g.free[last]
	g.free = g.free[:last]
	if assert.Enabled {
		g.given[buf] = false
	}
	return buf
}

// at returns the address of a buffer.
func (g *group) at(buf uint16) uintptr { return g.base + uintptr(buf)*uintptr(g.size) }

// find returns a group, or nil.
func (gs groups) find(id uint16) *group {
	if int(id) < len(gs) {
		return gs[id]
	}
	return nil
}

// available returns a group that has a buffer to give, or nil.
func (gs groups) available(id uint16) *group {
	if g := gs.find(id); g != nil && len(g.free) != 0 {
		return g
	}
	return nil
}

// pick gives an entry a buffer, unless it holds one from an earlier attempt. It returns where the buffer is and how
// much of it may be used, and reports false if there is no buffer.
func (gs groups) pick(e *entry) (base uintptr, size uint32, ok bool) {
	var g *group
	if e.is(holdsBuffer) {
		g = gs[e.BufIndex]
	} else {
		if g = gs.available(e.BufIndex); g == nil {
			return 0, 0, false
		}
		e.buf = g.take()
		e.flags |= holdsBuffer
	}
	size = g.size
	if e.Len != 0 && e.Len < size {
		size = e.Len
	}
	return g.at(e.buf), size, true
}

// use hands the buffer that an entry holds, if any, to its completion. It returns the flags to post.
func (gs groups) use(e *entry) uint32 {
	if !e.is(holdsBuffer) {
		return 0
	}
	e.flags &^= holdsBuffer
	return uring.CQEBuffer | uint32(e.buf)<<uring.CQEBufferShift
}

// drop returns the buffer that an entry holds, if any, to its group.
func (gs groups) drop(e *entry) {
	if e.is(holdsBuffer) {
		e.flags &^= holdsBuffer
		gs[e.BufIndex].give(e.buf)
	}
}
