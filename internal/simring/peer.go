package simring

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// The calls below are those of a program that has no loop: they wait, on the thread.

// Listen makes a listener.
func (t *Thread) Listen(addr netip.AddrPort) int {
	sys := t.k.System()
	fd := t.Socket()
	if err := sys.Bind(fd, sockaddr(addr)); err != nil {
		t.k.Errorf("bind: %v", err)
	}
	if err := sys.Listen(fd, 128); err != nil {
		t.k.Errorf("listen: %v", err)
	}
	return fd
}

// Socket makes a socket, sooner or later.
func (t *Thread) Socket() int {
	for {
		fd, err := t.k.System().Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err == nil {
			return fd
		}
		t.Sleep(1e6)
	}
}

// Accept takes a connection. It returns -1 when over says so, and none waits.
func (t *Thread) Accept(fd int, over func() bool) int {
	f := t.k.file(fd)
	for {
		t.Until(func() bool { return len(f.backlog) != 0 || over() })
		if len(f.backlog) == 0 {
			return -1
		}
		if n := f.accept(); n >= 0 {
			return n
		}
		t.Sleep(1e6)
	}
}

// Dial connects.
func (t *Thread) Dial(addr netip.AddrPort) (fd int, err error) {
	fd = t.Socket()
	t.k.port++
	e := t.k.file(fd).end
	e.local = netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), t.k.port)
	e.connect(addr)
	t.Until(func() bool { return e.state != connecting })
	if e.state != connected {
		err = unix.Errno(-e.takeErr())
		_ = t.k.System().Close(fd)
		return -1, err
	}
	return fd, nil
}

// Await waits until the descriptor can be read, or, if that is asked for, written.
func (t *Thread) Await(fd int, write bool) {
	e := t.k.file(fd).end
	t.Until(func() bool { return e.readable() || write && e.writable() })
}

// Recv is recv(2) with MSG_DONTWAIT.
func (t *Thread) Recv(fd int, p []byte) (int, error) { return result(t.k.file(fd).end.recv(p)) }

// Send is send(2) with MSG_DONTWAIT.
func (t *Thread) Send(fd int, p []byte) (int, error) { return result(t.k.file(fd).end.send(p)) }

func result(n int) (int, error) {
	if n < 0 {
		return 0, unix.Errno(-n)
	}
	return n, nil
}

// Reset closes the descriptor with a reset.
func (t *Thread) Reset(fd int) {
	t.k.file(fd).end.linger = true
	_ = t.k.System().Close(fd)
}
