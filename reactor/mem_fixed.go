//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/reactord/reactord/uring"
)

// fixedBufferRing is a ring that memory can be registered with, so that it need not look it up for every operation.
type fixedBufferRing interface {
	// RegisterFixedBuffers numbers bufs from 0. It is called once, on the ring's thread; bufs stay as they are
	// until the ring is closed.
	RegisterFixedBuffers(bufs [][]byte) error
}

// FixedBuffers are buffers of one size that are registered with the loop's ring. They are aligned as [AlignedBuffer]
// is.
type FixedBuffers struct {
	mem   []byte
	size  int
	index int // what they are registered as, or noIndex
}

// FixedBuffer is one of them, or a part of one.
type FixedBuffer struct {
	mem   []byte
	index int
}

// NewFixedBuffers registers n buffers of size bytes each with the ring, which a loop can do once. They are used by
// [File.ReadFixedAt] and [File.WriteFixedAt], and by any other operation that takes memory. The memory is locked into
// RAM until the loop ends; if RLIMIT_MEMLOCK does not allow that (see getrlimit(2)), it fails with ENOMEM. On a ring
// without registered buffers (see [Loop.Caps]) the operations on them are plain ones.
//
// A second call fails with EBUSY.
func (l *Loop) NewFixedBuffers(n, size int) (*FixedBuffers, error) {
	switch {
	case l.fixed != nil:
		return nil, fmt.Errorf("reactor: a loop has its fixed buffers already: %w", syscall.EBUSY)
	case n <= 0 || size <= 0 || n > maxTransfer/size:
		return nil, fmt.Errorf("reactor: %d fixed buffers of %d bytes: %w", n, size, syscall.EINVAL)
	}
	b := &FixedBuffers{mem: AlignedBuffer(n * size), size: size, index: noIndex}
	ring, ok := l.ring.(fixedBufferRing)
	if ok && l.ops.Has(uring.OpReadFixed) && l.ops.Has(uring.OpWriteFixed) {
		if err := ring.RegisterFixedBuffers([][]byte{b.mem}); err == nil {
			b.index = 0
		} else if !errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("reactor: cannot register fixed buffers: %w", err)
		}
	}
	l.fixed = b.mem
	return b, nil
}

// Len returns the number of buffers.
func (b *FixedBuffers) Len() int { return len(b.mem) / b.size }

// Buffer returns the buffer i, from 0.
func (b *FixedBuffers) Buffer(i int) FixedBuffer {
	return FixedBuffer{mem: b.mem[i*b.size : (i+1)*b.size : (i+1)*b.size], index: b.index}
}

// Bytes returns the memory of the buffer.
func (b FixedBuffer) Bytes() []byte { return b.mem }

// Slice returns the part of the buffer from byte i to before byte j.
func (b FixedBuffer) Slice(i, j int) FixedBuffer {
	return FixedBuffer{mem: b.mem[i:j:j], index: b.index}
}
