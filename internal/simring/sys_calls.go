package simring

import "golang.org/x/sys/unix"

// The system calls of sockets, pipes and files that programs make next to a ring. None of them blocks.

// Socketpair simulates socketpair(2).
func (s System) Socketpair(family, kind, _ int) (fds [2]int, err error) {
	s.k.preempt()
	fds, errno := s.k.socketpair(family, kind)
	return fds, failure(errno)
}

// Pipe2 simulates pipe2(2).
func (s System) Pipe2(fds []int, flags int) error {
	s.k.preempt()
	made, errno := s.k.pipe2(flags)
	if errno == 0 {
		copy(fds, made[:])
	}
	return failure(errno)
}

// Eventfd simulates eventfd2(2).
func (s System) Eventfd(count uint, flags int) (int, error) {
	s.k.preempt()
	fd, errno := s.k.eventfd(uint32(count), flags)
	return fd, failure(errno)
}

// Connect simulates connect(2).
func (s System) Connect(fd int, sa unix.Sockaddr) error {
	return s.onSocket(fd, func(so socket) unix.Errno { return so.connect(addressOf(sa)) })
}

// Read simulates read(2).
func (s System) Read(fd int, p []byte) (int, error) {
	s.k.preempt()
	f := s.k.file(fd)
	if f == nil {
		return -1, unix.EBADF
	}
	if r, ok := f.object.(*regular); ok {
		n := r.pread([][]byte{p}, f.offset)
		f.offset += int64(max(n, 0))
		return result(n)
	}
	return result(f.readFrom([][]byte{p}))
}

// Write simulates write(2).
func (s System) Write(fd int, p []byte) (int, error) {
	f := s.k.file(fd)
	if f == nil {
		return -1, unix.EBADF
	}
	if r, ok := f.object.(*regular); ok {
		n := r.pwrite([][]byte{p}, f.offset)
		f.offset += int64(max(n, 0))
		return result(n)
	}
	return result(f.writeTo([][]byte{p}))
}

// Recvfrom simulates recvfrom(2) with MSG_DONTWAIT.
func (s System) Recvfrom(fd int, p []byte, flags int) (int, unix.Sockaddr, error) {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return -1, nil, errno
	}
	m := plain(p, flags)
	n := so.recv(m, 0)
	s.k.unref(m.files...)
	if n < 0 {
		return -1, nil, unix.Errno(-n)
	}
	if m.name.isZero() {
		return n, nil, nil
	}
	return n, m.name.sockaddr(so.base().family), nil
}

// Send simulates send(2) with MSG_DONTWAIT, on a connection.
func (s System) Send(fd int, p []byte, flags int) error {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return errno
	}
	_, err := result(so.send(plain(p, flags|unix.MSG_DONTWAIT), 0))
	return err
}

// Sendto simulates sendto(2) with MSG_DONTWAIT.
func (s System) Sendto(fd int, p []byte, to unix.Sockaddr) (int, error) {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return -1, errno
	}
	m := plain(p, unix.MSG_DONTWAIT)
	m.named, m.name = true, addressOf(to)
	return result(so.send(m, 0))
}
