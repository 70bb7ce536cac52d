package reactor

import (
	"fmt"
	"math"
	"os"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/timerqueue"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// BufferConfig sizes the receive buffers of a loop. The zero value works.
type BufferConfig struct {
	// Size of a buffer in bytes. Default 17 KiB: messages of 16 KiB are common, and so are TLS records of as much and
	// a few bytes. A receive that fills its buffer has to be followed by another, which finds nothing.
	Size int
	// Window is how many buffers are kept in the ring to begin with, at most uring.MaxProvided. It doubles when receives find
	// none, up to 256, and halves when half of it has lain idle for a while. Default 64.
	Window int
	// Limit is how many buffers there can be, lent ones included: at most 32768. Memory is taken from
	// the system only for those that are used. When a quarter of them is lent, sequences that hold many rest, so
	// that others find one (see Socket.RecvMany). Default 4096.
	Limit int
	// LargeSize is the size in bytes of a buffer for bulk (see RecvManySender.Adaptive). Default 256 KiB.
	LargeSize int
	// LargeLimit is how many of those there can be. Default 64; less than zero: none.
	LargeLimit int
}

func (c BufferConfig) withDefaults() BufferConfig {
	if c.Size <= 0 {
		c.Size = 17 << 10
	}
	if c.Limit <= 0 {
		c.Limit = 4096
	}
	if c.Window <= 0 {
		c.Window = 64
	}
	c.Window = min(c.Window, c.Limit, uring.MaxProvided)
	if c.LargeSize <= 0 {
		c.LargeSize = 256 << 10
	}
	if c.LargeLimit == 0 {
		c.LargeLimit = 64
	}
	c.LargeLimit = min(max(c.LargeLimit, 0), largeID)
	return c
}

// group is the id of the one buffer group of a loop.
const group = 0

// Buffers are a loop's receive buffers. They are mapped memory, not the Go heap's; a receive that asks
// for one holds none until there is data, and lends it to its receiver then. Only a small window of
// them is kept in the ring, refilled with those that came back last, so that they stay in the cache.
type Buffers struct {
	loop *Loop
	mem  []byte
	size int

	free     []uint16 // neither lent nor in the ring; the last came back last
	inRing   int
	lent     int
	window   int // how many the ring should have
	smallest int // least inRing since the window was last judged
	turns    int // until it is judged again

	ration
	waiting slotQueue // receives that found no buffer
	moves   uint64    // how often a buffer was given to the ring or taken from it
	served  uint64    // moves when one of those who wait was last armed
	barren  bool      // the ring had none although it should have had
	retry   timerqueue.Timer
	least   int // the configured window

	touched  []bool // by id: it has been in the ring, so that it may have memory
	resident int    // how many are touched
	trim     timerqueue.Timer

	large largeBuffers

	out [1 << 16 / 64]uint64 // by id, a bit each: it is lent
}

// maxWindow is how far a window grows. More buffers would not stay in any cache, and those in the ring
// cannot be taken back.
const maxWindow = 256

// judgeEvery is how many turns of the loop pass between two looks at whether the window is too large.
const judgeEvery = 4096

func (b *Buffers) init(l *Loop, cfg BufferConfig) error {
	cfg = cfg.withDefaults()
	if cfg.Limit > 1<<15 {
		return fmt.Errorf("reactor: %d receive buffers are too many: at most %d", cfg.Limit, 1<<15)
	}
	mem, err := unix.Mmap(-1, 0, cfg.Limit*cfg.Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("reactor: cannot map %d receive buffers of %d bytes: %w", cfg.Limit, cfg.Size, os.NewSyscallError("mmap", err))
	}
	*b = Buffers{loop: l, mem: mem, size: cfg.Size, window: cfg.Window, least: cfg.Window, smallest: math.MaxInt, turns: judgeEvery,
		ration: newRation(cfg.Limit)}
	b.large.size, b.large.limit = cfg.LargeSize, cfg.LargeLimit
	b.retry.Init((*retryBuffers)(b))
	b.trim.Init((*trimBuffers)(b))
	b.touched = make([]bool, cfg.Limit)
	if err := l.ring.RegisterBuffers(group, mem, cfg.Size); err != nil {
		b.unmap()
		return fmt.Errorf("reactor: cannot register receive buffers: %w", err)
	}
	b.free = make([]uint16, cfg.Limit)
	for i := range b.free {
		b.free[i] = uint16(cfg.Limit - 1 - i)
	}
	return nil
}

func (b *Buffers) unmap() {
	if b.mem != nil {
		_ = unix.Munmap(b.mem)
		b.mem = nil
	}
	b.large.unmap()
}

// Size is the size of a buffer in bytes.
func (b *Buffers) Size() int { return b.size }

// Leased is how many buffers are lent.
func (b *Buffers) Leased() int { return b.lent }

func (b *Buffers) leasedBytes() int64 {
	return int64(b.lent)*int64(b.size) + int64(b.large.lent)*int64(b.large.size)
}

// topUp refills the ring's window, for those first who wait for it, and, now and then, judges it. It is
// called once a turn, before the ring is entered.
func (b *Buffers) topUp() {
	for b.inRing < b.window && len(b.free) != 0 {
		last := len(b.free) - 1
		id := b.free[last]
		b.loop.ring.ProvideBuffer(group, id)
		b.free = b.free[:last]
		b.inRing++
		b.moved()
		if !b.touched[id] {
			b.touch(id)
		}
	}
	if !b.waiting.empty() && !b.barren {
		b.serve()
	}
	if b.relieved() {
		b.resume()
	}
	if b.turns--; b.turns <= 0 {
		b.judge()
	}
}

// judge lets the window shrink if half of it has not been needed.
func (b *Buffers) judge() {
	if b.smallest > b.window/2 && b.smallest != math.MaxInt {
		b.window = max(b.window/2, b.least)
	}
	b.turns, b.smallest = judgeEvery, math.MaxInt
}

// lend makes a lease of a buffer that a completion named.
func (b *Buffers) lend(id uint16, n int) Lease {
	b.assertLent(id, false)
	b.inRing--
	b.moved()
	b.smallest = min(b.smallest, b.inRing)
	b.lent++
	return Lease{b: b, id: id, n: int32(n)}
}

// wait puts a receive that found no buffer in line for one, and lets the window grow.
func (b *Buffers) wait(o *Op) {
	b.loop.count.bufferWaits++
	if b.inRing <= b.window/2 {
		b.window = max(b.window, min(2*b.window, maxWindow, cap(b.free)))
	}
	b.smallest = 0
	if b.inRing != 0 && b.moves == b.served && !b.barren {
		// Whoever was armed for the buffers in the ring found none. However that can be, to try again
		// at once would be to spin.
		b.barren = true
		b.loop.timers.Update(&b.retry, b.loop.now+int64(bufferRest))
	}
	o.state = opDormant
	b.waiting.add(b.loop.slots.at(slotOf(o.id)))
}

// forsake takes a dormant operation out of the line that it is in, if any.
func (b *Buffers) forsake(o *Op) {
	q := &b.waiting
	if o.rationed {
		q, o.rationed = &b.resting, false
	}
	if s := b.loop.slots.at(slotOf(o.id)); q.has(s) {
		q.remove(s)
	}
}

// touch notes that a buffer may have memory from now on. When that are many, they are looked through
// after a while.
func (b *Buffers) touch(id uint16) {
	b.touched[id] = true
	if b.resident++; b.resident > 2*b.least && !b.trim.Pending() {
		b.loop.timers.Push(&b.trim, b.loop.now+int64(trimEvery))
	}
}

// takeLarge is an empty lease of a large buffer; false: there is none.
func (b *Buffers) takeLarge() (l Lease, ok bool) {
	id, ok := b.large.get()
	if !ok {
		return Lease{}, false
	}
	if !b.trim.Pending() {
		b.loop.timers.Push(&b.trim, b.loop.now+int64(trimEvery))
	}
	id |= largeID
	b.assertLent(id, false)
	return Lease{b: b, id: id}, true
}

// trimEvery is how long buffers are left alone after there have been many of them, and trimAtOnce is how
// many of them give their memory back in one turn of the loop.
const (
	trimEvery  = 500 * time.Millisecond
	trimAtOnce = 256
)

// trimBuffers is a Buffers as the handler of its timer.
type trimBuffers Buffers

// OnTimer gives the memory of buffers that have not been used for longest back to the system, but for as
// many as the window has. A loop that has been idle since the last time has its window shrunk as well.
func (t *trimBuffers) OnTimer(now int64) {
	b := (*Buffers)(t)
	if b.smallest == math.MaxInt {
		b.window = max(b.window/2, b.least)
	} else {
		b.judge()
	}
	n := 0
	for _, id := range b.free[:max(len(b.free)-b.window, 0)] {
		if !b.touched[id] {
			continue
		}
		if n++; n > trimAtOnce {
			break
		}
		unpage(b.mem, int(id)*b.size, (int(id)+1)*b.size)
		b.touched[id] = false
		b.resident--
	}
	if !b.large.trim() || b.resident > 2*b.least {
		b.loop.timers.Update(&b.trim, now+int64(trimEvery))
	}
}

// unpage gives the pages of mem[from:to] back: those that it shares with its neighbours stay.
func unpage(mem []byte, from, to int) {
	page := os.Getpagesize()
	from, to = (from+page-1)/page*page, to/page*page
	if from < to {
		_ = unix.Madvise(mem[from:to], unix.MADV_DONTNEED)
	}
}

// bufferRest is how long those who wait for a buffer rest when the ring does not have what it should.
const bufferRest = 10 * time.Millisecond

// moved is called when the ring has got or given a buffer.
func (b *Buffers) moved() {
	b.moves++
	b.barren = false
}

// retryBuffers is a Buffers as the handler of its timer.
type retryBuffers Buffers

func (r *retryBuffers) OnTimer(int64) { r.barren = false }

// serve arms as many of those that wait as there are buffers in the ring.
func (b *Buffers) serve() {
	b.served = b.moves
	for armed := 0; !b.waiting.empty() && armed < b.inRing; armed++ {
		s := b.waiting.first()
		b.waiting.remove(s)
		if assert.Enabled && s.op.state != opDormant {
			panic("reactor: an operation waits for a buffer and is not dormant")
		}
		s.op.arm()
	}
}

// owed: somebody still waits while there are buffers in the ring, or rests while they are ample. Those that
// were armed for them may have nothing to receive, since a receive needs a buffer even to look; so the next
// in line has to be armed before the loop may sleep.
func (b *Buffers) owed() bool {
	return !b.waiting.empty() && b.inRing != 0 && !b.barren || b.relieved()
}

// slotQueue is a queue of the slots of operations that wait for a buffer. A slot is on one such queue at a time.
type slotQueue struct{ list intrusive.List }

func (q *slotQueue) empty() bool      { return q.list.Empty() }
func (q *slotQueue) has(s *slot) bool { return q.list.Has(&s.buffer) }
func (q *slotQueue) add(s *slot)      { q.list.PushBack(&s.buffer) }
func (q *slotQueue) remove(s *slot)   { q.list.Remove(&s.buffer) }

// first is the slot that waits longest; nil: none waits.
func (q *slotQueue) first() *slot {
	return intrusive.Owner[slot](q.list.First(), unsafe.Offsetof(slot{}.buffer))
}

// Lease is a received buffer. Whoever has it may read and write its bytes until Release, which must
// be called exactly once, on the loop's thread. The zero Lease is empty and needs no release.
type Lease struct {
	b  *Buffers
	id uint16
	n  int32
}

// space is all of the buffer.
func (l Lease) space() []byte {
	if l.id&largeID != 0 {
		return l.b.large.space(l.id &^ largeID)
	}
	off := int(l.id) * l.b.size
	return l.b.mem[off : off+l.b.size : off+l.b.size]
}

// Bytes are the bytes received. Their capacity is that of the buffer: it may be appended to in place.
func (l Lease) Bytes() []byte {
	if l.b == nil {
		return nil
	}
	return l.space()[:l.n]
}

// Len is the number of bytes received.
func (l Lease) Len() int { return int(l.n) }

// Credits is how many buffers of the usual size it takes to hold the bytes: what the item of a sequence uses up of
// its credit.
func (l Lease) Credits() int {
	if l.n == 0 {
		return 1
	}
	return (int(l.n) + l.b.size - 1) / l.b.size
}

// Append copies p behind the bytes of the lease and reports true, or false if there is no room.
func (l *Lease) Append(p []byte) bool {
	room := l.space()[l.n:]
	if len(p) > len(room) {
		return false
	}
	copy(room, p)
	l.n += int32(len(p))
	return true
}

// Release gives the buffer back. On the loop's thread; when Run has returned it does nothing, anywhere.
func (l Lease) Release() {
	b := l.b
	if b == nil {
		return
	}
	if !b.loop.home.Here() {
		if b.loop.ended() {
			return // its memory stays
		}
		b.loop.offThread()
	}
	b.assertLent(l.id, true)
	if l.id&largeID != 0 {
		b.large.put(l.id &^ largeID)
		return
	}
	b.lent--
	b.free = append(b.free, l.id)
}

// assertLent checks that a buffer is lent or is not, and notes that this has changed.
func (b *Buffers) assertLent(id uint16, is bool) {
	word, bit := &b.out[id/64], uint64(1)<<(id%64)
	if *word&bit != 0 != is {
		panic("reactor: Release of a Lease that was released before: a Lease and its copies are one buffer; release it once")
	}
	*word ^= bit
}
