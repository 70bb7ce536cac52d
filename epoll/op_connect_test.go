//go:build linux

package epoll

import (
	"fmt"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// unixListener makes a listener with an abstract name that takes one connection and lets no other one wait. It
// returns the raw address as well.
func (g *rig) unixListener(name string) (fd int, sa unsafe.Pointer, n uint32) {
	g.Helper()
	fd = g.unixSocket(0)
	g.check(unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name}))
	g.check(unix.Listen(fd, 0))
	raw := &unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for i, c := range []byte(name) {
		raw.Path[i+1] = int8(c)
	}
	g.keep = append(g.keep, raw)
	return fd, unsafe.Pointer(raw), uint32(unsafe.Offsetof(raw.Path)) + 1 + uint32(len(name))
}

func (g *rig) unixSocket(flags int) int {
	g.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags, 0)
	g.check(err)
	g.open(fd)
	return fd
}

// TestConnectBacklog: a connect to a Unix socket whose backlog is full waits until there is room.
func TestConnectBacklog(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, sa, n := g.unixListener(fmt.Sprintf("reactord-%d-%s", os.Getpid(), g.Name()))
		fds := [2]int{g.unixSocket(0), g.unixSocket(0)}
		g.do(0, func(s *uring.SQE) { s.PrepConnect(fds[0], sa, n) })
		ud := g.push(func(s *uring.SQE) { s.PrepConnect(fds[1], sa, n) })
		g.quiet()
		fd, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		g.check(err)
		g.open(fd)
		g.want(ud, 0, 0)
	})
}

// TestConnectBacklogNonblocking: if the caller's socket has O_NONBLOCK, such a connect does not wait, and may be
// tried again.
func TestConnectBacklogNonblocking(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, sa, n := g.unixListener(fmt.Sprintf("reactord-%d-%s", os.Getpid(), g.Name()))
		fds := [2]int{g.unixSocket(unix.SOCK_NONBLOCK), g.unixSocket(unix.SOCK_NONBLOCK)}
		g.do(0, func(s *uring.SQE) { s.PrepConnect(fds[0], sa, n) })
		for range 2 {
			g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(fds[1], sa, n) }), unix.EAGAIN)
		}
		fd, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		g.check(err)
		g.open(fd)
		g.do(0, func(s *uring.SQE) { s.PrepConnect(fds[1], sa, n) })
	})
}

// TestAcceptShut: when a Unix listener is shut down for reading, an accept completes, whether it waits already or
// not.
func TestAcceptShut(t *testing.T) {
	onBoth(t, func(g *rig) {
		for nonblocking, errno := range map[bool]unix.Errno{true: unix.EAGAIN, false: unix.EINVAL} {
			l, _, _ := g.unixListener(fmt.Sprintf("reactord-%d-%s-%v", os.Getpid(), g.Name(), nonblocking))
			g.check(unix.SetNonblock(l, nonblocking))
			waiting := g.push(func(s *uring.SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC) })
			g.quiet()
			g.check(unix.Shutdown(l, unix.SHUT_RD))
			g.fails(waiting, errno)
			g.fails(g.push(func(s *uring.SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC) }), errno)
		}
	})
}

// TestConnectBacklogCancelled cancels such a connect while it waits. The retry that is still due must not affect the
// next file with its number, here one with a write in the pool.
func TestConnectBacklogCancelled(t *testing.T) {
	g, let, begun := slowPool(t)
	r := g.ring.(*Ring)
	_, sa, n := g.unixListener(fmt.Sprintf("reactord-%d-cancel", os.Getpid()))
	first, second := g.unixSocket(0), g.unixSocket(0)
	g.do(0, func(s *uring.SQE) { s.PrepConnect(first, sa, n) })
	ud := g.push(func(s *uring.SQE) { s.PrepConnect(second, sa, n) })
	g.quiet()
	g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
	g.fails(ud, unix.ECANCELED)
	g.do(0, func(s *uring.SQE) { s.PrepClose(second) })
	file, err := unix.Open(t.TempDir()+"/file", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil || file != second {
		t.Fatalf("descriptor %d, not %d: %v", file, second, err)
	}
	data := g.bytes(8)
	write := func(s *uring.SQE) { s.PrepWrite(file, ptr(data), 8, 0) }
	one, two := g.push(write), g.push(write)
	g.waitFor(begun, 1)
	for r.retries.pending() {
		g.check(g.Enter(0))
	}
	if !r.pool.queue.Empty() {
		t.Error("both writes are in the pool")
	}
	close(let)
	g.want(one, 8, 0)
	g.want(two, 8, 0)
}

func TestConnect(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		sa, n := sockaddr(g, addr)
		fd := g.socket()
		dial := func(s *uring.SQE) { s.PrepConnect(fd, sa, n) }
		g.do(0, dial)
		conn, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		g.check(err)
		g.open(conn)
		g.fails(g.push(dial), unix.EISCONN)
		ud := g.push(recvTo(fd, g.bytes(4), 0))
		g.quiet()
		g.write(conn, "ping")
		g.want(ud, 4, 0)

		g.close(l)
		refused := g.socket()
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(refused, sa, n) }), unix.ECONNREFUSED)
		g.do(0, recvTo(refused, g.bytes(4), 0))
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(refused, sa, n) }), unix.ECONNREFUSED)
		bad := g.socket()
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(bad, sa, 3) }), unix.EINVAL)
		far, n := sockaddr(g, &unix.SockaddrInet4{Addr: [4]byte{255, 255, 255, 255}, Port: 1})
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(g.socket(), far, n) }), unix.ENETUNREACH)
	})
}

// TestConnectAgain: a socket that was connected, and then dissolved its association, connects to another address.
func TestConnectAgain(t *testing.T) {
	onBoth(t, func(g *rig) {
		fd := g.socket()
		for range 3 {
			l, addr := g.listen()
			sa, n := sockaddr(g, addr)
			g.do(0, func(s *uring.SQE) { s.PrepConnect(fd, sa, n) })
			conn, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
			g.check(err)
			g.open(conn)
			g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(fd, sa, n) }), unix.EISCONN)
			none := g.bytes(16) // AF_UNSPEC
			g.do(0, func(s *uring.SQE) { s.PrepConnect(fd, unsafe.Pointer(&none[0]), 16) })
		}
	})
}

// TestConnectPending cancels a connect that gets no answer: the backlog of its listener is full.
func TestConnectPending(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		g.check(unix.Listen(l, 0))
		sa, n := sockaddr(g, addr)
		var waiting uint64
		for range 4 {
			fd := g.socket()
			ud := g.push(func(s *uring.SQE) { s.PrepConnect(fd, sa, n) })
			g.check(g.Enter(0))
			g.check(g.Enter(0))
			if g.Pop(&g.cqe) {
				if g.cqe.Res != 0 {
					g.Fatalf("%+v", g.cqe)
				}
				continue
			}
			waiting = ud
			break
		}
		if waiting == 0 {
			g.Skip("the kernel takes any number of connections")
		}
		g.do(0, func(s *uring.SQE) { s.PrepCancel(waiting) })
		g.fails(waiting, unix.ECANCELED)
	})
}
