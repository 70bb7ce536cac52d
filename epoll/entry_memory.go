//go:build linux

package epoll

import (
	runtimedebug "runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pointer reads an address out of a submission entry.
func pointer(addr *uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(addr)) }

// copyIn copies what an entry points to. It reports false if that is not mapped.
func copyIn(into []byte, from uint64) (ok bool) {
	if len(into) == 0 || from == 0 {
		return len(into) == 0
	}
	defer runtimedebug.SetPanicOnFault(runtimedebug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	copy(into, unsafe.Slice((*byte)(pointer(&from)), len(into)))
	return true
}

// copyOut copies to where an entry points. It reports false if that is not mapped.
func copyOut(to uint64, from []byte) (ok bool) {
	if to == 0 {
		return false
	}
	defer runtimedebug.SetPanicOnFault(runtimedebug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	copy(unsafe.Slice((*byte)(pointer(&to)), len(from)), from)
	return true
}

// appendString appends the zero-terminated string at an address, with its zero.
func appendString(text []byte, from uint64) (out []byte, errno unix.Errno) {
	defer runtimedebug.SetPanicOnFault(runtimedebug.SetPanicOnFault(true))
	out = text
	defer func() {
		if recover() != nil {
			errno = unix.EFAULT
		}
	}()
	for range unix.PathMax {
		c := *(*byte)(pointer(&from))
		if out = append(out, c); c == 0 {
			return out, 0
		}
		from++
	}
	return out, unix.ENAMETOOLONG
}
