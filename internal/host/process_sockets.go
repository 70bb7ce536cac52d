package host

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func (process) Socket(family, kind, protocol int) (int, error) {
	return unix.Socket(family, kind, protocol)
}

func (process) Socketpair(family, kind, protocol int) ([2]int, error) {
	return unix.Socketpair(family, kind, protocol)
}

func (process) Bind(fd int, sa unix.Sockaddr) error { return unix.Bind(fd, sa) }

func (process) Listen(fd, backlog int) error { return unix.Listen(fd, backlog) }

// Accept4 makes the bare call. That of package unix also asks for the protocol, and allocates the address.
func (process) Accept4(fd, flags int, from []byte) (conn, n int, err error) {
	size := uint32(len(from))
	got, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(from))),
		uintptr(unsafe.Pointer(&size)), uintptr(flags), 0, 0)
	if errno != 0 {
		return -1, 0, errno
	}
	return int(got), min(int(size), len(from)), nil
}

func (process) Shutdown(fd, how int) error { return unix.Shutdown(fd, how) }

func (process) Recvfrom(fd int, p []byte, flags int) (int, unix.Sockaddr, error) {
	return unix.Recvfrom(fd, p, flags)
}

func (process) Getsockname(fd int) (unix.Sockaddr, error) { return unix.Getsockname(fd) }

func (process) Getpeername(fd int) (unix.Sockaddr, error) { return unix.Getpeername(fd) }

func (process) GetsockoptInt(fd, level, opt int) (int, error) {
	return unix.GetsockoptInt(fd, level, opt)
}

func (process) GetsockoptUint64(fd, level, opt int) (uint64, error) {
	return unix.GetsockoptUint64(fd, level, opt)
}

func (process) GetsockoptString(fd, level, opt int) (string, error) {
	return unix.GetsockoptString(fd, level, opt)
}

func (process) GetsockoptUcred(fd, level, opt int) (*unix.Ucred, error) {
	return unix.GetsockoptUcred(fd, level, opt)
}

// GetsockoptTCPInfo makes the bare call. That of package unix allocates.
func (process) GetsockoptTCPInfo(fd, level, opt int) (info unix.TCPInfo, err error) {
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(opt),
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return info, errno
	}
	return info, nil
}

func (process) SetsockoptInt(fd, level, opt, value int) error {
	return unix.SetsockoptInt(fd, level, opt, value)
}

func (process) SetsockoptUint64(fd, level, opt int, value uint64) error {
	return unix.SetsockoptUint64(fd, level, opt, value)
}

func (process) SetsockoptString(fd, level, opt int, s string) error {
	return unix.SetsockoptString(fd, level, opt, s)
}

func (process) SetsockoptLinger(fd, level, opt int, l unix.Linger) error {
	return unix.SetsockoptLinger(fd, level, opt, &l)
}

func (process) SetsockoptIPMreqn(fd, level, opt int, mreq *unix.IPMreqn) error {
	return unix.SetsockoptIPMreqn(fd, level, opt, mreq)
}

func (process) SetsockoptIPv6Mreq(fd, level, opt int, mreq *unix.IPv6Mreq) error {
	return unix.SetsockoptIPv6Mreq(fd, level, opt, mreq)
}
