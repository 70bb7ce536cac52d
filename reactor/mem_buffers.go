//go:build linux

package reactor

import (
	"cmp"
	"fmt"
	"math"
	"os"

	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// BufferConfig sizes the receive buffers of a loop. Its zero value works.
type BufferConfig struct {
	// Size is the size of a buffer in bytes, at most 64 MiB. Default 17 KiB: messages of 16 KiB are common, and so are
	// TLS records of 16 KiB and a few bytes. A receive that fills its buffer is followed by another one, which may find
	// nothing.
	Size int
	// Window is the number of buffers that the ring has at first, at most uring.MaxProvided, and no more than half of
	// Limit. The window doubles when receives find no buffer, up to 256, and halves when half of it has been idle for a
	// while. Default 64.
	Window int
	// Limit bounds the number of buffers, leased ones included: at most 32768. Only buffers that are used take memory.
	// When a quarter of them is leased, sequences that hold many wait, so that others find one (see [Socket.RecvMany]).
	// Default 4096.
	Limit int
	// LargeSize is the size in bytes of a large buffer, at most 64 MiB: see RecvMany's Adaptive. Default 256 KiB.
	LargeSize int
	// LargeLimit bounds the number of large buffers: at most 32768. Default 64; negative disables them.
	LargeLimit int
}

const (
	// maxBuffers is the most buffers that a loop can have.
	maxBuffers = 1 << 15
	// maxBufferSize is the most bytes that one can have. A larger one is a mistake in the unit.
	maxBufferSize = 64 << 20
)

// withDefaults returns c with its defaults filled in, or the reason why it is invalid.
func (c BufferConfig) withDefaults() (BufferConfig, error) {
	if c.LargeLimit < 0 {
		c.LargeLimit = -1
	}
	err := cmp.Or(
		c.check("Size", &c.Size, maxBufferSize, 17<<10),
		c.check("Window", &c.Window, uring.MaxProvided, 64),
		c.check("Limit", &c.Limit, maxBuffers, 4096),
		c.check("LargeSize", &c.LargeSize, maxBufferSize, 256<<10),
		setInRange("LoopConfig.Buffers.LargeLimit", &c.LargeLimit, -1, maxBuffers, 64),
	)
	c.Window = min(c.Window, c.Limit)
	return c, err
}

func (BufferConfig) check(name string, v *int, most, otherwise int) error {
	return setInRange("LoopConfig.Buffers."+name, v, 1, most, otherwise)
}

// The ids of the buffer groups of a loop.
const (
	group      = 0 // of LoopConfig.Buffers
	wholeGroup = 1 // of buffers for whole datagrams, which are made when they are first asked for
)

// wholeBuffers is the buffers for whole datagrams: each has room for 64 KiB, and for what comes before a payload.
var wholeBuffers = BufferConfig{Size: 64<<10 + 512, Window: 16, Limit: 1024, LargeLimit: -1}

// Buffers are a loop's receive buffers. They are mapped memory, not memory of Go's heap. A receive that asks for a
// buffer holds none until there is data, and gets a [Lease] of one then. Only a small window of the buffers is in the
// ring. The buffer that was released last is used first, so that it is still in the cache.
type Buffers struct {
	loop  *Loop
	group uint16
	mem   []byte
	size  int

	free     []uint16 // neither leased nor in the ring; the last was released last
	inRing   int
	leased   int
	isLeased [1 << 16 / 64]uint64 // by id, a bit each

	window    window
	waiting   slotQueue // receives that found no buffer
	starved   starvation
	exhausted exhaustion
	ration
	memory residentMemory
	large  largeBuffers
}

func (b *Buffers) init(l *Loop, group uint16, cfg BufferConfig) error {
	mem, err := unix.Mmap(-1, 0, cfg.Limit*cfg.Size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("reactor: cannot map %d receive buffers of %d bytes: %w", cfg.Limit, cfg.Size,
			os.NewSyscallError("mmap", err))
	}
	*b = Buffers{
		loop: l, group: group, mem: mem, size: cfg.Size, window: newWindow(cfg.Window), ration: newRation(cfg.Limit),
	}
	b.large.size, b.large.limit = cfg.LargeSize, max(cfg.LargeLimit, 0)
	b.starved.retry.Init((*retryStarved)(b))
	b.exhausted.timer.Init((*reportExhausted)(b))
	b.memory.has = make([]bool, cfg.Limit)
	b.memory.trim.Init((*trimBuffers)(b))
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

// wholeDatagrams returns the loop's buffers for whole datagrams, making them on first use.
func (l *Loop) wholeDatagrams() (*Buffers, error) {
	if l.whole == nil {
		b := new(Buffers)
		if err := b.init(l, wholeGroup, wholeBuffers); err != nil {
			return nil, err
		}
		l.whole = b
	}
	return l.whole, nil
}

// buffers returns the buffers that an operation selects from.
func (o *op) buffers() *Buffers {
	if o.sqe.BufIndex == wholeGroup && o.sqe.Flags&uring.SQEBufferSelect != 0 {
		return o.loop.whole
	}
	return &o.loop.buffers
}

func (b *Buffers) unmap() {
	if b.mem != nil {
		_ = unix.Munmap(b.mem)
		b.mem = nil
	}
	b.large.unmap()
}

// Size returns the size of a buffer in bytes.
func (b *Buffers) Size() int { return b.size }

func (b *Buffers) leasedBytes() int64 {
	return int64(b.leased)*int64(b.size) + int64(b.large.leased)*int64(b.large.size)
}

// leasedBytes returns the size of all buffers that the loop has leased out.
func (l *Loop) leasedBytes() int64 {
	n := l.buffers.leasedBytes()
	if l.whole != nil {
		n += l.whole.leasedBytes()
	}
	return n
}

// bufferBytes returns the size of all buffers in the ring.
func (l *Loop) bufferBytes() int64 {
	n := int64(l.buffers.inRing) * int64(l.buffers.size)
	if l.whole != nil {
		n += int64(l.whole.inRing) * int64(l.whole.size)
	}
	return n
}

func (l *Loop) unmapBuffers() {
	l.buffers.unmap()
	if l.whole != nil {
		l.whole.unmap()
	}
}

// refill fills the ring's window, arms the receives that wait for a buffer, and now and then judges the window. It is
// called once a turn, before the ring is entered.
func (b *Buffers) refill() {
	for b.inRing < b.inRingAtMost() && len(b.free) != 0 {
		last := len(b.free) - 1
		id := b.free[last]
		b.loop.ring.ProvideBuffer(b.group, id)
		b.free = b.free[:last]
		b.inRing++
		b.starved.moved()
		if !b.memory.has[id] {
			b.noteMemory(id)
		}
	}
	if !b.waiting.empty() && !b.starved.is {
		b.armWaiting()
	}
	if b.canResumeRationed() {
		b.resumeRationed()
	}
	b.window.countTurn()
}

// window adapts the number of buffers in the ring. It grows when receives find none, and shrinks when half of it is not
// needed.
type window struct {
	target int
	least  int // the configured window
	unused int // the fewest buffers in the ring since the window was last judged; math.MaxInt if none was leased
	turns  int // until it is judged again
}

const (
	// maxWindow bounds the growth of a window. More buffers would not stay in any cache, and the buffers in the ring of
	// io_uring cannot be taken back.
	maxWindow = 256
	// judgeEvery is the number of turns after which the window is judged again.
	judgeEvery = 4096
)

func newWindow(target int) window {
	return window{target: target, least: target, unused: math.MaxInt, turns: judgeEvery}
}

// leased notes that a buffer was leased, and how many are left in the ring.
func (w *window) leased(left int) { w.unused = min(w.unused, left) }

// ranOut lets the window grow because a receive found no buffer. left is how many the ring has, and limit how many
// there can be.
func (w *window) ranOut(left, limit int) {
	if left <= w.target/2 {
		w.target = max(w.target, min(2*w.target, maxWindow, limit))
	}
	w.unused = 0
}

// countTurn counts a turn of the loop, and judges the window after enough of them.
func (w *window) countTurn() {
	if w.turns--; w.turns <= 0 {
		w.judge()
	}
}

// judge lets the window shrink if half of it was not needed.
func (w *window) judge() {
	if w.unused > w.target/2 && w.unused != math.MaxInt {
		w.shrink()
	}
	w.turns, w.unused = judgeEvery, math.MaxInt
}

// judgeIdle judges the window of a loop that may be idle: if it has leased no buffer, the window shrinks as well.
func (w *window) judgeIdle() {
	if w.unused == math.MaxInt {
		w.shrink()
	} else {
		w.judge()
	}
}

func (w *window) shrink() { w.target = max(w.target/2, w.least) }
