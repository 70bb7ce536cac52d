package simring

import "golang.org/x/sys/unix"

// FcntlInt simulates fcntl(2): F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, and F_GETPIPE_SZ; F_SETPIPE_SZ changes nothing.
func (s System) FcntlInt(fd uintptr, cmd, arg int) (int, error) {
	s.k.preempt()
	f := s.k.file(int(fd))
	if f == nil {
		return -1, unix.EBADF
	}
	switch cmd {
	case unix.F_GETFD:
		return unix.FD_CLOEXEC, nil
	case unix.F_GETFL:
		return f.flags, nil
	case unix.F_SETFL:
		const can = unix.O_NONBLOCK | unix.O_APPEND | unix.O_DIRECT
		f.flags = f.flags&^can | arg&can
		return 0, nil
	case unix.F_DUPFD_CLOEXEC:
		if errno := s.k.open(f); errno != 0 {
			return -1, errno
		}
		return f.fd, nil
	case unix.F_GETPIPE_SZ, unix.F_SETPIPE_SZ:
		if p, ok := f.object.(*pipeEnd); ok {
			return p.capacity(), nil
		}
		return -1, unix.EBADF
	}
	return -1, unix.EINVAL
}

// Getdents simulates getdents64(2).
func (s System) Getdents(fd int, buf []byte) (int, error) {
	s.k.preempt()
	r, errno := s.k.regularOf(fd)
	if errno != 0 {
		return -1, errno
	}
	if s.k.chance(s.k.Odds.IOError) {
		return -1, unix.EIO
	}
	return result(r.getdents(buf))
}

// Ftruncate simulates ftruncate(2).
func (s System) Ftruncate(fd int, length int64) error {
	s.k.preempt()
	r, errno := s.k.regularOf(fd)
	if errno == 0 {
		errno = unix.Errno(-r.truncate(length))
	}
	return failure(errno)
}

// regularOf returns the file or directory of a descriptor.
func (k *Kernel) regularOf(fd int) (*regular, unix.Errno) {
	f := k.file(fd)
	if f == nil {
		return nil, unix.EBADF
	}
	if r, ok := f.object.(*regular); ok {
		return r, 0
	}
	return nil, unix.EINVAL
}
