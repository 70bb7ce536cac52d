package simring

import "golang.org/x/sys/unix"

// The socket options that are not an int. Those of multicast are taken, and have no effect.

// GetsockoptUint64 is getsockopt(2) of a number.
func (s System) GetsockoptUint64(fd, level, opt int) (uint64, error) {
	value, err := s.GetsockoptInt(fd, level, opt)
	return uint64(value), err
}

// SetsockoptUint64 is setsockopt(2) with a number.
func (s System) SetsockoptUint64(fd, level, opt int, value uint64) error {
	return s.SetsockoptInt(fd, level, opt, int(value))
}

// GetsockoptString is getsockopt(2) of a name.
func (s System) GetsockoptString(fd, level, opt int) (string, error) {
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return "", errno
	}
	return so.base().texts[option{level, opt}], nil
}

// SetsockoptString is setsockopt(2) with a name.
func (s System) SetsockoptString(fd, level, opt int, value string) error {
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return errno
	}
	b := so.base()
	if b.texts == nil {
		b.texts = map[option]string{}
	}
	b.texts[option{level, opt}] = value
	return nil
}

// GetsockoptUcred is getsockopt(2) of SO_PEERCRED: there is one process, and it is root's.
func (s System) GetsockoptUcred(fd, _, _ int) (*unix.Ucred, error) {
	so, errno := s.k.socketOf(fd)
	switch {
	case errno != 0:
		return nil, errno
	case so.base().family != unix.AF_UNIX:
		return nil, unix.ENOPROTOOPT
	}
	return &unix.Ucred{Pid: 1}, nil
}

// SetsockoptIPMreqn is setsockopt(2) of a multicast group or interface.
func (s System) SetsockoptIPMreqn(fd, _, _ int, _ *unix.IPMreqn) error {
	return s.internet(fd, unix.AF_INET)
}

// SetsockoptIPv6Mreq is setsockopt(2) of a multicast group.
func (s System) SetsockoptIPv6Mreq(fd, _, _ int, _ *unix.IPv6Mreq) error {
	return s.internet(fd, unix.AF_INET6)
}

// internet says why a descriptor is no socket of the family.
func (s System) internet(fd, family int) error {
	so, errno := s.k.socketOf(fd)
	switch {
	case errno != 0:
		return errno
	case so.base().family != family:
		return unix.ENOPROTOOPT
	}
	return nil
}
