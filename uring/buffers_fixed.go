//go:build linux

package uring

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limits of RegisterFixedBuffers.
const (
	MaxFixedBuffers = 1 << 14 // of them
	MaxFixedBuffer  = 1 << 30 // bytes of one
)

// RegisterFixedBuffers names memory that [SQE.PrepReadFixed] and [SQE.PrepWriteFixed] use by index: the kernel maps it
// once instead of at every operation, and it counts towards RLIMIT_MEMLOCK. It can be called once. The memory belongs
// to the caller and must stay valid until the ring is closed.
//
// The error matches unix.EINVAL for no or too many buffers, unix.EFAULT for one that is empty, too large or
// not mapped, unix.ENOMEM for too much memory and unix.EBUSY if there are some already. See
// io_uring_register_buffers(3).
func (r *Ring) RegisterFixedBuffers(buffers [][]byte) error {
	if len(buffers) == 0 || len(buffers) > MaxFixedBuffers {
		return fmt.Errorf("uring: 1 to %d fixed buffers can be registered, not %d: %w",
			MaxFixedBuffers, len(buffers), unix.EINVAL)
	}
	iov := make([]unix.Iovec, len(buffers))
	for i, b := range buffers {
		if len(b) == 0 || len(b) > MaxFixedBuffer {
			return fmt.Errorf("uring: fixed buffer %d has %d bytes: %w", i, len(b), unix.EFAULT)
		}
		iov[i].Base = unsafe.SliceData(b)
		iov[i].SetLen(len(b))
	}
	_, err := r.register(registerBuffers, unsafe.Pointer(&iov[0]), uintptr(len(iov)))
	runtime.KeepAlive(iov)
	if err != nil {
		return os.NewSyscallError("io_uring_register", err)
	}
	return nil
}
