//go:build linux

package epoll

import "golang.org/x/sys/unix"

// call is a system call on a descriptor, with the arguments that follow the descriptor. A number of 64 bits takes a
// pair that begins with an odd one of these.
type call struct{ trap, b, c, d, e, f uintptr }

func (e *entry) callFallocate() call {
	return call{
		unix.SYS_FALLOCATE,
		uintptr(e.Len), uintptr(e.Off), uintptr(e.Off >> 32), uintptr(e.Addr), uintptr(e.Addr >> 32),
	}
}

func (e *entry) callFtruncate() call {
	return call{trap: unix.SYS_FTRUNCATE64, c: uintptr(e.Off), d: uintptr(e.Off >> 32)}
}
