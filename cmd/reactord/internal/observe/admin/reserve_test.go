package admin

import (
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A connection is served although the process has no descriptor left, and so is the next one.
func TestReserve(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newReserved(ln)
	defer r.Close()
	clients := make([]int, 3) // their sockets are open before descriptors run out
	for i := range clients {
		if clients[i], err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(clients[i])
	}
	exhaustDescriptors(t)
	port := ln.Addr().(*net.TCPAddr).Port
	for _, fd := range clients[:2] {
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			t.Fatal(err)
		}
		_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
		c, err := r.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte{1}); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	if r.kept == nil {
		t.Error("the reserve was not opened again")
	}
}

// exhaustDescriptors leaves no descriptor to the process until the test ends.
func exhaustDescriptors(t *testing.T) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = 256
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var fds []int
	t.Cleanup(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	})
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			if err != syscall.EMFILE {
				t.Fatal(err)
			}
			return
		}
		fds = append(fds, fd)
	}
}
