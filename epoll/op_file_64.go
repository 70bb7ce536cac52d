//go:build linux && !386 && !arm

package epoll

import "golang.org/x/sys/unix"

// call is a system call on a descriptor, with the arguments that follow the descriptor.
type call struct{ trap, b, c, d, e, f uintptr }

func (e *entry) callFallocate() call {
	return call{trap: unix.SYS_FALLOCATE, b: uintptr(e.Len), c: uintptr(e.Off), d: uintptr(e.Addr)}
}

func (e *entry) callFtruncate() call {
	return call{trap: unix.SYS_FTRUNCATE, b: uintptr(e.Off)}
}
