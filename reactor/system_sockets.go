package reactor

import "golang.org/x/sys/unix"

// SocketSystem is what a Socket asks of the machine, besides its ring, that does not block.
type SocketSystem interface {
	Socket(family, kind, protocol int) (int, error)
	Socketpair(family, kind, protocol int) ([2]int, error)
	Bind(fd int, sa unix.Sockaddr) error
	Listen(fd, backlog int) error
	Accept4(fd, flags int) (int, unix.Sockaddr, error)
	Shutdown(fd, how int) error
	Getsockname(fd int) (unix.Sockaddr, error)
	Getpeername(fd int) (unix.Sockaddr, error)

	GetsockoptInt(fd, level, opt int) (int, error)
	GetsockoptUint64(fd, level, opt int) (uint64, error)
	GetsockoptString(fd, level, opt int) (string, error)
	GetsockoptUcred(fd, level, opt int) (*unix.Ucred, error)
	GetsockoptTCPInfo(fd, level, opt int) (*unix.TCPInfo, error)
	SetsockoptInt(fd, level, opt, value int) error
	SetsockoptUint64(fd, level, opt int, value uint64) error
	SetsockoptString(fd, level, opt int, s string) error
	SetsockoptLinger(fd, level, opt int, l *unix.Linger) error
	SetsockoptIPMreqn(fd, level, opt int, mreq *unix.IPMreqn) error
	SetsockoptIPv6Mreq(fd, level, opt int, mreq *unix.IPv6Mreq) error
}

func (process) Socket(family, kind, protocol int) (int, error) {
	return unix.Socket(family, kind, protocol)
}

func (process) Socketpair(family, kind, protocol int) ([2]int, error) {
	return unix.Socketpair(family, kind, protocol)
}

func (process) Bind(fd int, sa unix.Sockaddr) error { return unix.Bind(fd, sa) }

func (process) Listen(fd, backlog int) error { return unix.Listen(fd, backlog) }

func (process) Accept4(fd, flags int) (int, unix.Sockaddr, error) { return unix.Accept4(fd, flags) }

func (process) Shutdown(fd, how int) error { return unix.Shutdown(fd, how) }

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

func (process) GetsockoptTCPInfo(fd, level, opt int) (*unix.TCPInfo, error) {
	return unix.GetsockoptTCPInfo(fd, level, opt)
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

func (process) SetsockoptLinger(fd, level, opt int, l *unix.Linger) error {
	return unix.SetsockoptLinger(fd, level, opt, l)
}

func (process) SetsockoptIPMreqn(fd, level, opt int, mreq *unix.IPMreqn) error {
	return unix.SetsockoptIPMreqn(fd, level, opt, mreq)
}

func (process) SetsockoptIPv6Mreq(fd, level, opt int, mreq *unix.IPv6Mreq) error {
	return unix.SetsockoptIPv6Mreq(fd, level, opt, mreq)
}
