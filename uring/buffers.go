//go:build linux

package uring

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bufRing is a ring of provided buffers: memory shared with the kernel. The Ring puts buffers at its tail, and the
// kernel takes them from its head. See io_uring_register_buf_ring(3).
type bufRing struct {
	mem   []byte // the ring's entries, 16 bytes each
	base  unsafe.Pointer
	size  uint32 // bytes of a buffer
	mask  uint16
	tail  uint16
	shown uint16 // the tail that the kernel sees
}

// bufReg is struct io_uring_buf_reg.
type bufReg struct {
	ringAddr    uint64
	ringEntries uint32
	bgid, flags uint16
	_           [3]uint64
}

// bufEntry is struct io_uring_buf. The last two bytes of the first entry are the ring's tail.
type bufEntry struct {
	addr uint64
	len  uint32
	bid  uint16
	tail uint16
}

// MaxBuffers is the most buffers that a group can have.
const MaxBuffers = 1 << 15

// MaxProvided is the most buffers of a group that can be provided at a time. The kernel goes through the whole ring, so
// a ring with room for all buffers would displace the buffers themselves from the cache.
const MaxProvided = 512

// RegisterBuffers makes a group of len(mem)/size buffers, numbered from 0, none of which is provided yet. At most
// [MaxProvided] of them may be provided at a time. mem belongs to the caller and must stay mapped until the ring is
// closed.
func (r *Ring) RegisterBuffers(group uint16, mem []byte, size int) error {
	n := len(mem) / max(size, 1)
	if size <= 0 || n == 0 || n > MaxBuffers {
		return fmt.Errorf("uring: a buffer group has 1 to %d buffers, not %d of %d bytes: %w",
			MaxBuffers, n, size, unix.EINVAL)
	}
	entries := ceilPow2(min(n, MaxProvided))
	ring, err := unix.Mmap(-1, 0, entries*int(unsafe.Sizeof(bufEntry{})),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	g := &bufRing{mem: ring, base: unsafe.Pointer(&mem[0]), size: uint32(size), mask: uint16(entries - 1)}
	reg := bufReg{ringAddr: addr(unsafe.Pointer(&ring[0])), ringEntries: uint32(entries), bgid: group}
	if _, err := r.register(registerPbufRing, unsafe.Pointer(&reg), 1); err != nil {
		g.unmap()
		return os.NewSyscallError("io_uring_register(PBUF_RING)", err)
	}
	for int(group) >= len(r.groups) {
		r.groups = append(r.groups, nil)
	}
	r.groups[group] = g
	return nil
}

// ProvideBuffer gives one buffer of the group to the kernel, which sees it from the next [Ring.Enter] on and takes
// buffers in the order in which they were provided. A buffer that was provided must not be provided again until a
// completion names it.
func (r *Ring) ProvideBuffer(group, id uint16) { r.groups[group].put(id) }

func (g *bufRing) entry(i uint16) *bufEntry {
	return (*bufEntry)(unsafe.Pointer(&g.mem[uintptr(i&g.mask)*unsafe.Sizeof(bufEntry{})]))
}

func (g *bufRing) put(id uint16) {
	e := g.entry(g.tail)
	// Field by field: the tail shares the first entry's last bytes.
	e.addr = addr(g.base) + uint64(id)*uint64(g.size)
	e.len = g.size
	e.bid = id
	g.tail++
}

// publish stores the tail behind the entries. The tail is 16 bits wide and an atomic store needs 32,
// so the id of the first entry, which lies before it in the same word, is stored along with it.
func (g *bufRing) publish() {
	if g.tail == g.shown {
		return
	}
	first := g.entry(0)
	var word uint32
	*(*[2]uint16)(unsafe.Pointer(&word)) = [2]uint16{first.bid, g.tail} // in memory's order, whatever the machine's
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&first.bid)), word)
	g.shown = g.tail
}

func (g *bufRing) unmap() { _ = unix.Munmap(g.mem) }
