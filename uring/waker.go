package uring

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
)

// Waker wakes a waiting ring from any thread through an eventfd(2).
//
// Wake is rare (at most once per sleep of a loop), so it takes a lock: that is what lets Close
// promise that no late Wake writes to a descriptor number which has since become another file.
type Waker struct {
	mu sync.RWMutex
	fd int
}

// Open creates the eventfd.
func (w *Waker) Open() error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	w.fd = fd
	return err
}

// Fd is the eventfd, for a ring to wait on. It is readable for ever after the first Wake; wait for
// its edges.
func (w *Waker) Fd() int { return w.fd }

var one = binary.NativeEndian.AppendUint64(nil, 1)

// Wake signals the eventfd. After Close it does nothing.
func (w *Waker) Wake() error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.fd < 0 {
		return nil
	}
	for {
		_, err := unix.Write(w.fd, one)
		if err != unix.EINTR {
			return err
		}
	}
}

// Close closes the eventfd.
func (w *Waker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fd := w.fd
	w.fd = -1
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}
