package simring

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// The calls below are for threads without a loop: they wait, on the thread.

// Listen makes a listener.
func (t *Thread) Listen(addr netip.AddrPort) int { return t.listen(ip(addr)) }

// ListenUnix makes a listener of a unix socket: a path, or "@" and an abstract name. It replaces a file that is there.
func (t *Thread) ListenUnix(name string) int {
	if name[0] != '@' {
		_ = t.k.disk.unlink(absolute(name), 0)
	}
	return t.listen(addressOf(&unix.SockaddrUnix{Name: name}))
}

// listen makes a listener. The disk has no fault for it.
func (t *Thread) listen(a address) int {
	fd := t.Socket(family(a))
	p := t.k.Process()
	p.spared(func() {
		if err := p.Bind(fd, a.sockaddr(family(a))); err != nil {
			t.k.Errorf("bind: %v", err)
		}
		if err := p.Listen(fd, 128); err != nil {
			t.k.Errorf("listen: %v", err)
		}
	})
	return fd
}

// family returns the family of sockets with such an address.
func family(a address) int {
	switch {
	case a.name != "":
		return unix.AF_UNIX
	case a.Addr().Is6():
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// Socket makes a stream socket. It retries until there is a descriptor.
func (t *Thread) Socket(family int) int {
	for {
		fd, err := t.k.System().Socket(family, unix.SOCK_STREAM, 0)
		if err == nil {
			return fd
		}
		t.Sleep(1e6)
	}
}

// Accept accepts a connection. It returns -1 if none waits and ended reports true.
func (t *Thread) Accept(fd int, ended func() bool) int {
	f := t.k.file(fd)
	for {
		waits := func() bool { return f.events()&unix.POLLIN != 0 }
		t.Until(func() bool { return waits() || ended() })
		if !waits() {
			return -1
		}
		if n, _ := f.accept(0); n >= 0 {
			return n
		}
		t.Sleep(1e6)
	}
}

// Dial connects a TCP socket.
func (t *Thread) Dial(addr netip.AddrPort) (fd int, err error) {
	a := ip(addr)
	fd = t.Socket(family(a))
	s := t.k.file(fd).object.(socket)
	errno := s.connect(a)
	if errno == unix.EINPROGRESS {
		t.Until(func() bool { return s.events()&unix.POLLOUT != 0 })
		errno, _ = s.outcome()
	}
	if errno != 0 {
		_ = t.k.System().Close(fd)
		return -1, errno
	}
	return fd, nil
}

// Await waits until the descriptor can be read, or also until it can be written.
func (t *Thread) Await(fd int, write bool) {
	events := uint32(unix.POLLIN)
	if write {
		events |= unix.POLLOUT
	}
	f := t.k.file(fd)
	if f == nil {
		t.k.Errorf("simring: %v waits for descriptor %d, which another thread has closed", t, fd)
		return
	}
	t.Until(func() bool { return f.events()&events != 0 })
}

// Recv simulates recv(2) with MSG_DONTWAIT.
func (t *Thread) Recv(fd int, p []byte) (int, error) {
	return result(t.k.file(fd).readFrom([][]byte{p}))
}

// Send simulates send(2) with MSG_DONTWAIT.
func (t *Thread) Send(fd int, p []byte) (int, error) {
	return result(t.k.file(fd).writeTo([][]byte{p}))
}

// Reset closes the descriptor, and resets the connection.
func (t *Thread) Reset(fd int) {
	t.k.file(fd).object.(socket).base().linger = true
	_ = t.k.System().Close(fd)
}

// Ready reports whether a descriptor has one of the events, or is in error, or is not open.
func (k *Kernel) Ready(fd int, events uint32) bool {
	f := k.file(fd)
	return f == nil || f.events()&(events|unix.POLLERR|unix.POLLHUP) != 0
}

// DescribeFd describes the open file of a descriptor, for errors.
func (k *Kernel) DescribeFd(fd int) string {
	if f := k.file(fd); f != nil {
		return f.String()
	}
	return "what is closed"
}
