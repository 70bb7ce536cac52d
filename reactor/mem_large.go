//go:build linux

package reactor

import (
	"os"

	"golang.org/x/sys/unix"
)

// largeID marks the id of a large buffer in a Lease.
const largeID = 1 << 15

// largeBuffers are the buffers that bulk is received into: few, and each of many times the usual size. One is
// taken when there is something to be received, and memory is taken from the system only for those that are used.
type largeBuffers struct {
	mem      []byte
	size     int
	limit    int
	made     int      // how many were made
	free     []uint16 // of those; the last was released last
	leased   int
	resident []bool // by id: it may have memory
	idle     int    // least len(free) since the last trim
}

// get takes a buffer, and reports false if none is left.
func (g *largeBuffers) get() (id uint16, ok bool) {
	if last := len(g.free) - 1; last >= 0 {
		id, g.free = g.free[last], g.free[:last]
		g.idle = min(g.idle, last)
	} else if id, ok = g.make(); !ok {
		return 0, false
	}
	g.leased++
	return id, true
}

func (g *largeBuffers) make() (id uint16, ok bool) {
	if g.made == g.limit || g.mem == nil && g.mmap() != nil {
		return 0, false
	}
	id = uint16(g.made)
	g.made++
	g.idle = 0
	return id, true
}

func (g *largeBuffers) mmap() (err error) {
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	g.mem, err = unix.Mmap(-1, 0, g.limit*g.size, protection, flags)
	if err != nil {
		g.limit = 0 // do without
		return os.NewSyscallError("mmap", err)
	}
	g.free, g.resident = make([]uint16, 0, g.limit), make([]bool, g.limit)
	return nil
}

func (g *largeBuffers) put(id uint16) {
	g.leased--
	g.resident[id] = true
	g.free = append(g.free, id)
}

// space returns the memory of a buffer.
func (g *largeBuffers) space(id uint16) []byte {
	off := int(id) * g.size
	return g.mem[off : off+g.size : off+g.size]
}

// trim gives the memory of the buffers that were not used since the last time back to the system, and reports
// whether all that is free has.
func (g *largeBuffers) trim() (all bool) {
	for _, id := range g.free[:g.idle] {
		if g.resident[id] {
			unpage(g.mem, int(id)*g.size, (int(id)+1)*g.size)
			g.resident[id] = false
		}
	}
	all = g.idle == len(g.free)
	g.idle = len(g.free)
	return all
}

func (g *largeBuffers) unmap() {
	if g.mem != nil {
		_ = unix.Munmap(g.mem)
		g.mem = nil
	}
}
