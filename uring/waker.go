//go:build linux

package uring

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
)

// Waker wakes a waiting ring from any thread through an eventfd(2).
//
// Wake is rare (at most once for each sleep of a loop), so it takes a lock. The lock lets Close guarantee that no late
// Wake writes to a descriptor number that belongs to another file by then.
//
// The zero Waker has no eventfd: Wake and Close do nothing.
type Waker struct {
	mu     sync.RWMutex
	number int // of the eventfd, plus one; 0 without one
}

// Open creates the eventfd.
func (w *Waker) Open() error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	w.number = fd + 1
	return err
}

// Fd returns the eventfd, for a ring to wait on, or -1. After the first Wake it stays readable, so the ring waits for
// its edges.
func (w *Waker) Fd() int { return w.number - 1 }

var one = binary.NativeEndian.AppendUint64(nil, 1)

// Wake signals the eventfd. After Close it does nothing.
func (w *Waker) Wake() error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.number == 0 {
		return nil
	}
	for {
		_, err := unix.Write(w.Fd(), one)
		if err != unix.EINTR {
			return err
		}
	}
}

// Close closes the eventfd.
func (w *Waker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fd := w.Fd()
	w.number = 0
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}
