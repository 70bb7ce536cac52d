//go:build linux

package reactor

import (
	"os"
	"time"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/timerqueue"
	"golang.org/x/sys/unix"
)

// residentMemory tracks which buffers may have memory, which is given back to the system when many of them are idle.
type residentMemory struct {
	has  []bool // by id: it has been in the ring
	n    int    // how many may have memory
	trim timerqueue.Timer
}

const (
	// trimEvery is the time that buffers stay as they are after many of them were in use.
	trimEvery = 500 * time.Millisecond
	// trimBatch is the number of buffers that give their memory back in one turn of the loop.
	trimBatch = 256
)

// noteMemory notes that a buffer may have memory from now on. When many have, trimming begins.
func (b *Buffers) noteMemory(id uint16) {
	b.memory.has[id] = true
	if b.memory.n++; b.manyResident() {
		b.trimLater()
	}
}

// manyResident reports whether more buffers may have memory than the loop keeps.
func (b *Buffers) manyResident() bool { return b.memory.n > 2*b.window.least }

func (b *Buffers) trimLater() {
	if t := &b.memory.trim; !t.Pending() {
		b.loop.timers.Push(t, b.loop.now+int64(trimEvery))
	}
}

// trimBuffers is a Buffers as the handler of its timer.
type trimBuffers Buffers

// OnTimer gives the memory of the buffers that have been idle for longest back to the system, except for as many as the
// ring lacks. If the loop has leased none since the last time, its window shrinks as well.
func (t *trimBuffers) OnTimer(now int64) {
	b := (*Buffers)(t)
	b.window.judgeIdle()
	b.takeBack()
	n := 0 // buffers that are free and have memory
	keep := max(b.window.target-b.inRing, 0)
	for _, id := range b.free[:max(len(b.free)-keep, 0)] {
		if !b.memory.has[id] {
			continue
		}
		if n++; n > trimBatch {
			break
		}
		unpage(b.mem, int(id)*b.size, (int(id)+1)*b.size)
		b.memory.has[id] = false
		b.memory.n--
	}
	large := b.large.trim()
	if n > trimBatch || !large || b.manyResident() && b.window.target > b.window.least {
		b.loop.timers.Update(&b.memory.trim, now+int64(trimEvery))
	} // else what has memory is leased, and Release begins to trim; or it is in a ring that cannot give it back
}

// takeBack takes the buffers out of the ring that are more than the window has, if the ring can give them back.
func (b *Buffers) takeBack() {
	ring, ok := b.loop.ring.(host.BufferTaker)
	for ok && b.inRing > b.window.target {
		var id uint16
		if id, ok = ring.TakeBuffer(b.group); ok {
			b.free = append(b.free, id)
			b.inRing--
			b.starved.moved()
		}
	}
}

// unpage gives the pages of mem[from:to] back to the system, except those that it shares with its neighbours.
func unpage(mem []byte, from, to int) {
	page := os.Getpagesize()
	from, to = (from+page-1)/page*page, to/page*page
	if from < to {
		_ = unix.Madvise(mem[from:to], unix.MADV_DONTNEED)
	}
}
