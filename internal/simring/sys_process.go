package simring

import (
	"errors"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// Process is the system calls of code that has no loop, with the names and signatures of package unix: those of
// [System], and calls that wait, on the calling thread, unless the descriptor has O_NONBLOCK. They have no faults, and
// return when what they have sent has arrived, as on the loopback interface of a real kernel.
type Process struct{ System }

// Process returns the system calls of code without a loop.
func (k *Kernel) Process() Process { return Process{k.System()} }

// Wait waits until what reports true, on the calling thread. False: it did not within that time.
func (p Process) Wait(what func() bool, atMost time.Duration) bool {
	p.k.current.wait(what, p.k.now+int64(atMost))
	return what()
}

// Deliver waits until nothing is under way: no bytes, no FIN, no completion.
func (p Process) Deliver() { p.k.current.Until(func() bool { return p.k.underWay == 0 }) }

// Descriptors counts the open descriptors.
func (p Process) Descriptors() (n int) {
	for _, f := range p.k.files {
		if f != nil {
			n++
		}
	}
	return n
}

// spared makes a call without faults.
func (p Process) spared(call func()) {
	p.k.spare++
	call()
	p.k.spare--
}

// retry repeats a call that does not wait, until it returns something else than EAGAIN. In between it waits for events.
func (p Process) retry(fd int, events uint32, dontWait bool, call func() error) (err error) {
	for {
		p.spared(func() { err = call() })
		f := p.k.file(fd)
		if !errors.Is(err, unix.EAGAIN) || dontWait || f == nil || f.nonblocking() {
			return err
		}
		p.k.current.Until(func() bool { return f.events()&(events|unix.POLLERR|unix.POLLHUP) != 0 })
	}
}

// Socket simulates socket(2).
func (p Process) Socket(family, kind, protocol int) (fd int, err error) {
	p.spared(func() { fd, err = p.System.Socket(family, kind, protocol) })
	return fd, err
}

// Accept4 simulates accept4(2).
func (p Process) Accept4(fd, flags int, from []byte) (conn, n int, err error) {
	err = p.retry(fd, unix.POLLIN, false, func() (err error) {
		conn, n, err = p.System.Accept4(fd, flags, from)
		return err
	})
	return conn, n, err
}

// Connect simulates connect(2).
func (p Process) Connect(fd int, sa unix.Sockaddr) (err error) {
	p.spared(func() { err = p.System.Connect(fd, sa) })
	f := p.k.file(fd)
	if !errors.Is(err, unix.EINPROGRESS) || f.nonblocking() {
		return err
	}
	p.k.current.Until(func() bool { return f.events()&unix.POLLOUT != 0 })
	if errno, err := p.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || errno == 0 {
		return err
	} else {
		return unix.Errno(errno)
	}
}

// Shutdown simulates shutdown(2).
func (p Process) Shutdown(fd, how int) error {
	defer p.Deliver()
	return p.System.Shutdown(fd, how)
}

// Close simulates close(2).
func (p Process) Close(fd int) error {
	defer p.Deliver()
	return p.System.Close(fd)
}

// Read simulates read(2).
func (p Process) Read(fd int, b []byte) (n int, err error) {
	err = p.retry(fd, unix.POLLIN, false, func() (err error) {
		n, err = p.System.Read(fd, b)
		return err
	})
	return n, err
}

// Open simulates open(2) of a path that begins at the root.
func (p Process) Open(name string, flags int, perm uint32) (fd int, err error) {
	p.spared(func() {
		f, errno := p.k.disk.open(absolute(name), flags, perm)
		if errno == 0 {
			errno = p.k.open(f)
		}
		if fd, err = -1, failure(errno); err == nil {
			fd = f.fd
		}
	})
	return fd, err
}

// Mkdir simulates mkdir(2) of a path that begins at the root.
func (p Process) Mkdir(name string, perm uint32) error {
	return failure(p.k.disk.mkdir(absolute(name), perm))
}

// absolute returns the name of a path that begins at the root.
func absolute(p string) string { return path.Clean("/" + p) }

// Recvfrom simulates recvfrom(2). Of the flags it knows MSG_DONTWAIT.
func (p Process) Recvfrom(fd int, b []byte, flags int) (n int, from unix.Sockaddr, err error) {
	err = p.retry(fd, unix.POLLIN, flags&unix.MSG_DONTWAIT != 0, func() (err error) {
		n, from, err = p.System.Recvfrom(fd, b, flags)
		return err
	})
	if err != nil {
		return -1, nil, err
	}
	return n, from, nil
}

// Send simulates send(2), on a connection.
func (p Process) Send(fd int, b []byte, flags int) error {
	defer p.Deliver()
	return p.retry(fd, unix.POLLOUT, flags&unix.MSG_DONTWAIT != 0, func() error {
		return p.System.Send(fd, b, flags)
	})
}

// Write simulates write(2).
func (p Process) Write(fd int, b []byte) (n int, err error) {
	defer p.Deliver()
	for n == 0 || n < len(b) && !p.k.file(fd).nonblocking() {
		moved := 0
		err := p.retry(fd, unix.POLLOUT, false, func() (err error) {
			moved, err = p.System.Write(fd, b[n:])
			return err
		})
		switch {
		case err != nil && n != 0:
			return n, nil
		case err != nil:
			return -1, err
		case len(b) == 0:
			return 0, nil
		}
		n += moved
		p.Deliver()
	}
	return n, nil
}

// Poll simulates poll(2).
func (p Process) Poll(fds []unix.PollFd, timeout int) (n int, err error) {
	ready := func() bool {
		n = 0
		for i := range fds {
			fd := &fds[i]
			fd.Revents = unix.POLLNVAL
			if f := p.k.file(int(fd.Fd)); f != nil {
				fd.Revents = int16(f.events()) & (fd.Events | unix.POLLERR | unix.POLLHUP)
			}
			if fd.Revents != 0 {
				n++
			}
		}
		return n != 0
	}
	deadline := int64(never)
	if timeout >= 0 {
		deadline = p.k.now + int64(timeout)*int64(time.Millisecond)
	}
	p.k.current.wait(ready, deadline)
	ready()
	return n, nil
}
