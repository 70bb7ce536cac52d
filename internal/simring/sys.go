package simring

import "golang.org/x/sys/unix"

// System is a kernel's system calls. None of them blocks. It is a host.System.
type System struct{ k *Kernel }

// System returns the kernel's system calls.
func (k *Kernel) System() System { return System{k} }

// BindThread returns the id of the calling thread.
func (s System) BindThread() int { return s.Thread() }

// Yield does nothing: time is simulated, and all threads are coroutines of one goroutine.
func (s System) Yield() {}

// Pin does nothing: threads have no CPUs. Packets are received on some: see [Odds].
func (s System) Pin([]int) error { return nil }

// Thread returns the id of the calling thread; 0 if it is no thread of the kernel.
func (s System) Thread() int {
	if t := s.k.current; t != nil {
		return t.id
	}
	return 0
}

// Clock returns the kernel's time.
func (s System) Clock() int64 {
	s.k.preempt()
	return s.k.now
}

// ThreadTime returns 0: the CPU time of threads is not simulated.
func (s System) ThreadTime(int) int64 { return 0 }

// Socket simulates socket(2).
func (s System) Socket(family, kind, protocol int) (int, error) {
	s.k.preempt()
	return result(s.k.socket(family, kind, protocol))
}

// Bind simulates bind(2).
func (s System) Bind(fd int, sa unix.Sockaddr) error {
	return s.onSocket(fd, func(so socket) unix.Errno { return so.bind(addressOf(sa)) })
}

// Listen simulates listen(2).
func (s System) Listen(fd, backlog int) error {
	return s.onSocket(fd, func(so socket) unix.Errno { return so.listen(backlog) })
}

// Accept4 simulates accept4(2).
func (s System) Accept4(fd, flags int, from []byte) (conn, n int, err error) {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return -1, 0, errno
	}
	conn, peer := s.k.file(fd).accept(flags)
	if conn < 0 {
		return -1, 0, unix.Errno(-conn)
	}
	return conn, copy(from, peer.encode(so.base().family)), nil
}

// Shutdown simulates shutdown(2).
func (s System) Shutdown(fd, how int) error {
	return s.onSocket(fd, func(so socket) unix.Errno {
		s.k.log("shutdown %d %d", fd, how)
		return so.shutdown(how)
	})
}

// Close simulates close(2).
func (s System) Close(fd int) error {
	s.k.preempt()
	s.k.log("close %d", fd)
	return failure(s.k.close(fd))
}

// Getsockname simulates getsockname(2).
func (s System) Getsockname(fd int) (unix.Sockaddr, error) {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return nil, errno
	}
	return so.base().local.sockaddr(so.base().family), nil
}

// Getpeername simulates getpeername(2).
func (s System) Getpeername(fd int) (unix.Sockaddr, error) {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return nil, errno
	}
	if !so.linked() {
		return nil, unix.ENOTCONN
	}
	return so.base().remote.sockaddr(so.base().family), nil
}

// IoctlGetInt knows SIOCOUTQ and SIOCATMARK.
func (s System) IoctlGetInt(fd int, req uint) (int, error) {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return 0, errno
	}
	if u, ok := so.(*unixSocket); ok && req == unix.SIOCOUTQ {
		return u.unread(), nil
	}
	t, ok := so.(*tcp)
	switch {
	case ok && req == unix.SIOCOUTQ:
		return t.out.len(), nil
	case ok && req == unix.SIOCATMARK && t.atMark():
		return 1, nil
	case ok && req == unix.SIOCATMARK:
		return 0, nil
	}
	return 0, unix.ENOTTY
}

// onSocket makes a call on the socket that is open as fd.
func (s System) onSocket(fd int, call func(so socket) unix.Errno) error {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno == 0 {
		errno = call(so)
	}
	return failure(errno)
}

// failure returns an errno as an error, or nil.
func failure(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// result returns a count, or a negative errno as an error.
func result(n int) (int, error) {
	if n < 0 {
		return -1, unix.Errno(-n)
	}
	return n, nil
}
