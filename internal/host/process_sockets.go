package host

import "golang.org/x/sys/unix"

func (Process) Socket(family, kind, protocol int) (int, error) {
	return unix.Socket(family, kind, protocol)
}

func (Process) Socketpair(family, kind, protocol int) ([2]int, error) {
	return unix.Socketpair(family, kind, protocol)
}

func (Process) Bind(fd int, sa unix.Sockaddr) error { return unix.Bind(fd, sa) }

func (Process) Listen(fd, backlog int) error { return unix.Listen(fd, backlog) }

func (Process) Accept4(fd, flags int) (int, unix.Sockaddr, error) { return unix.Accept4(fd, flags) }

func (Process) Shutdown(fd, how int) error { return unix.Shutdown(fd, how) }

func (Process) Getsockname(fd int) (unix.Sockaddr, error) { return unix.Getsockname(fd) }

func (Process) Getpeername(fd int) (unix.Sockaddr, error) { return unix.Getpeername(fd) }

func (Process) GetsockoptInt(fd, level, opt int) (int, error) {
	return unix.GetsockoptInt(fd, level, opt)
}

func (Process) GetsockoptUint64(fd, level, opt int) (uint64, error) {
	return unix.GetsockoptUint64(fd, level, opt)
}

func (Process) GetsockoptString(fd, level, opt int) (string, error) {
	return unix.GetsockoptString(fd, level, opt)
}

func (Process) GetsockoptUcred(fd, level, opt int) (*unix.Ucred, error) {
	return unix.GetsockoptUcred(fd, level, opt)
}

func (Process) GetsockoptTCPInfo(fd, level, opt int) (*unix.TCPInfo, error) {
	return unix.GetsockoptTCPInfo(fd, level, opt)
}

func (Process) SetsockoptInt(fd, level, opt, value int) error {
	return unix.SetsockoptInt(fd, level, opt, value)
}

func (Process) SetsockoptUint64(fd, level, opt int, value uint64) error {
	return unix.SetsockoptUint64(fd, level, opt, value)
}

func (Process) SetsockoptString(fd, level, opt int, s string) error {
	return unix.SetsockoptString(fd, level, opt, s)
}

func (Process) SetsockoptLinger(fd, level, opt int, l *unix.Linger) error {
	return unix.SetsockoptLinger(fd, level, opt, l)
}

func (Process) SetsockoptIPMreqn(fd, level, opt int, mreq *unix.IPMreqn) error {
	return unix.SetsockoptIPMreqn(fd, level, opt, mreq)
}

func (Process) SetsockoptIPv6Mreq(fd, level, opt int, mreq *unix.IPv6Mreq) error {
	return unix.SetsockoptIPv6Mreq(fd, level, opt, mreq)
}
