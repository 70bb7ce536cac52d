//go:build linux

package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
)

// TestClose closes a descriptor with a receive in flight: the receive stays in flight, the peer sees no EOF, and
// further entries find the descriptor closed.
func TestClose(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		ud := g.push(recvTo(a, g.bytes(4), 0))
		g.quiet()
		closeA := func(s *uring.SQE) { s.PrepClose(a) }
		g.do(0, closeA)
		g.fails(g.push(closeA), unix.EBADF)
		g.fails(g.push(recvTo(a, g.bytes(4), 0)), unix.EBADF)
		g.fails(g.push(sendFrom(a, g.bytes(4), 0)), unix.EBADF)
		g.fails(g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) }), unix.EBADF)
		g.quiet()
		g.write(b, "late")
		g.want(ud, 4, 0)
		if got, err := unix.Read(b, make([]byte, 1)); got != 0 || err != nil {
			g.Error("the file is still open:", got, err)
		}
		if _, err := unix.FcntlInt(uintptr(a), unix.F_GETFD, 0); err != unix.EBADF {
			g.Error("the number is still taken:", err)
		}
	})
}

// TestNumberReused closes descriptors in every way that the ring can know of, and immediately uses their numbers for
// other files.
func TestNumberReused(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		a, b := g.pair(unix.SOCK_STREAM)
		use := func() {
			g.Helper()
			ud := g.push(recvTo(a, g.bytes(4), 0))
			g.quiet()
			g.write(b, "abcd")
			g.want(ud, 4, 0)
		}
		replace := func() {
			g.Helper()
			fd, _ := g.pair(unix.SOCK_STREAM)
			if fd != a {
				g.Fatalf("got descriptor %d, not %d", fd, a)
			}
			b = g.fds[len(g.fds)-1]
		}
		for range 3 {
			use()
			g.do(0, func(s *uring.SQE) { s.PrepClose(a) })
			replace()
			use()
			g.close(a)
			replace()
		}
		// Closed without a word, and given out again by accept.
		use()
		g.check(unix.Close(a))
		c := g.dial(addr)
		if c != a {
			g.Fatal(c, a)
		}
		g.check(unix.Dup3(c, b, unix.O_CLOEXEC)) // b is the connection now; free a's number again
		g.check(unix.Close(a))
		ud := g.push(func(s *uring.SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC) })
		if got := int(g.wait2(ud).Res); got != a {
			g.Fatal(got, a)
		}
		use()
		// And by socket, to connect.
		g.check(unix.Close(a))
		if fd := g.socket(); fd != a {
			g.Fatal(fd, a)
		}
		sa, n := sockaddr(g, addr)
		g.do(0, func(s *uring.SQE) { s.PrepConnect(a, sa, n) })
		conn, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		g.check(err)
		g.open(conn)
		b = conn
		use()
	})
}

// TestForget gives a descriptor away with entries in flight.
func TestForget(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	r := g.ring.(*Ring)
	a, b := g.pair(unix.SOCK_STREAM)
	recv := g.push(recvTo(a, g.bytes(4), 0))
	poll := g.push(func(s *uring.SQE) { s.PrepPollMultishot(a, unix.POLLIN) })
	g.quiet()
	r.Forget(a)
	g.fails(recv, unix.ECANCELED)
	g.fails(poll, unix.ECANCELED)
	g.write(b, "abcd")
	if n, err := unix.EpollWait(r.poller.fd, make([]unix.EpollEvent, 1), 0); n != 0 || err != nil {
		t.Error("it is still in the epoll set:", n, err)
	}
	r.Forget(a)
	r.Forget(1 << 20)
	r.Forget(-1)
	g.do(4, recvTo(a, g.bytes(4), 0)) // and may come back
}

// TestExpectTCP: the ring knows of a socket what it was told, once.
func TestExpectTCP(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	l, addr := g.listen()
	sa, n := sockaddr(g, addr)
	fd := g.socket()
	g.check(unix.SetNonblock(fd, true))
	r.ExpectTCP(fd)
	g.do(0, func(s *uring.SQE) { s.PrepConnect(fd, sa, n) })
	peer, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
	g.check(err)
	g.open(peer)
	if f := r.files.at(int32(fd)); f.kind != tcp || !f.is(nonblocking) || !f.is(canZeroCopy) || f.is(expectedTCP) {
		t.Errorf("%+v", *f)
	}
	g.do(4, sendFrom(fd, []byte("ping"), 0))
	r.ExpectTCP(fd)
	if r.files.at(int32(fd)).is(expectedTCP) {
		t.Error("it expects what it knows")
	}
	g.close(fd)
	if a, _ := g.pair(unix.SOCK_DGRAM); a != fd {
		g.check(unix.Dup3(a, fd, unix.O_CLOEXEC))
		g.open(fd)
	}
	g.push(recvTo(fd, g.bytes(8), 0))
	g.quiet()
	if f := r.files.at(int32(fd)); f.kind != datagrams {
		t.Errorf("the next file with the number: %+v", *f)
	}
}

// TestDuplicateOfExpectedTCP: events of a duplicate are ignored, and only the first duplicate has some.
func TestDuplicateOfExpectedTCP(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	for _, first := range []bool{true, false} {
		a, b := g.tcp()
		g.check(unix.SetNonblock(a, true))
		r.ExpectTCP(a)
		g.write(b, "ping")
		g.do(4, recvTo(a, g.bytes(8), 0))
		kept, err := unix.FcntlInt(uintptr(a), unix.F_DUPFD_CLOEXEC, 0)
		g.check(err)
		g.open(kept)
		g.do(0, func(s *uring.SQE) { s.PrepClose(a) })
		g.quiet()
		g.write(b, "ping")
		n, err := unix.EpollWait(r.poller.fd, make([]unix.EpollEvent, 1), 0)
		g.check(err)
		if (n == 1) != first {
			t.Errorf("first duplicate %t: %d events", first, n)
		}
		g.write(b, "ping") // the event was taken
		g.quiet()
		if !r.duplicates {
			t.Error("the ring does not know that there are duplicates")
		}
		g.close(kept)
	}
}

// TestExpectTCPMisused tells the ring of a socket that is something else.
func TestExpectTCPMisused(t *testing.T) {
	if !assert.Enabled {
		t.Skip("it is not noticed without assertions")
	}
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	a, _ := g.pair(unix.SOCK_DGRAM)
	r.ExpectTCP(a)
	g.push(recvTo(a, g.bytes(8), 0))
	defer func() {
		if recover() == nil {
			t.Error("there was no panic")
		}
	}()
	_ = g.Enter(0)
}

// TestStaleEvent: a number belongs to a new file, but a duplicate keeps the old file and its registration alive.
// Events of the old file must be ignored.
func TestStaleEvent(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	a, b := g.tcp()
	p, q := g.tcp()
	ud := g.push(recvTo(a, g.bytes(8), 0))
	g.quiet()
	g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
	g.fails(ud, unix.ECANCELED)
	old, err := unix.FcntlInt(uintptr(a), unix.F_DUPFD_CLOEXEC, 0)
	g.check(err)
	g.open(old)
	g.check(unix.Dup3(p, a, unix.O_CLOEXEC))
	poll := g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) }) // finds that a is another file
	g.push(recvTo(a, g.bytes(8), 0))
	g.quiet()
	g.write(b, "old")
	events := r.poller.events[:r.poller.wait(0)]
	if len(events) == 0 {
		t.Fatal("the old file is not in the epoll set any more")
	}
	for _, ev := range events {
		r.signal(ev.Fd, uint32(ev.Pad), ev.Events)
	}
	if r.files.anyReady() {
		t.Error("an event of another file was taken for its own")
	}
	g.write(q, "new")
	g.want(poll, unix.POLLIN, 0)
}
