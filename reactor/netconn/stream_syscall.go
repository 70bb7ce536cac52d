//go:build linux

package netconn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cheap bounds the bytes that are moved without telling the Go scheduler: a call that does not block and takes
// microseconds need not give up its processor.
const cheap = 64 << 10

// readNow calls read(2) on a descriptor with O_NONBLOCK.
func readNow(fd int, p []byte) (int, syscall.Errno) {
	return transferNow(unix.SYS_READ, fd, p)
}

// writeNow calls write(2) on a descriptor with O_NONBLOCK. The Go runtime ignores its SIGPIPE.
func writeNow(fd int, p []byte) (int, syscall.Errno) {
	return transferNow(unix.SYS_WRITE, fd, p)
}

func transferNow(call uintptr, fd int, p []byte) (int, syscall.Errno) {
	size := min(len(p), maxTransfer)
	for {
		var n uintptr
		var errno syscall.Errno
		if size <= cheap {
			n, _, errno = unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(size))
		} else {
			n, _, errno = unix.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(size))
		}
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// maxTransfer is the most that one call is asked to move.
const maxTransfer = 1 << 30
