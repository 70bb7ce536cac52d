//go:build linux

package epoll

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// fixedBuffers are the registered buffers, by their indexes.
type fixedBuffers [][]byte

var errFixed = errors.New("epoll: fixed buffers cannot be registered")

// RegisterFixedBuffers names memory that READ_FIXED and WRITE_FIXED entries use by index; see
// [uring.Ring.RegisterFixedBuffers]. This ring only checks that entries stay within it; nothing becomes faster.
func (r *Ring) RegisterFixedBuffers(buffers [][]byte) error {
	switch {
	case len(buffers) == 0 || len(buffers) > uring.MaxFixedBuffers:
		return fmt.Errorf("%w: %d of them: %w", errFixed, len(buffers), unix.EINVAL)
	case r.fixed != nil:
		return fmt.Errorf("%w: there are some already: %w", errFixed, unix.EBUSY)
	}
	for i, b := range buffers {
		if len(b) == 0 || len(b) > uring.MaxFixedBuffer {
			return fmt.Errorf("%w: number %d has %d bytes: %w", errFixed, i, len(b), unix.EFAULT)
		}
	}
	r.fixed = append(r.fixed, buffers...)
	return nil
}

// holds reports whether the memory of an entry lies in the registered buffer that it names, if it names one.
func (bs fixedBuffers) holds(e *entry) bool {
	if e.Opcode != uring.OpReadFixed && e.Opcode != uring.OpWriteFixed {
		return true
	}
	if int(e.BufIndex) >= len(bs) || e.Len > maxTransfer {
		return false
	}
	b := bs[e.BufIndex]
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	return e.Addr >= start && e.Addr-start <= uint64(len(b)) && uint64(e.Len) <= uint64(len(b))-(e.Addr-start)
}
