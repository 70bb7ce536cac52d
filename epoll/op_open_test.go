//go:build linux

package epoll

import (
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestFifo: opening one end of a FIFO does not wait for the other end, O_NONBLOCK does not stay set, and a read waits
// until the FIFO has been opened for writing.
func TestFifo(t *testing.T) {
	onBoth(t, func(g *rig) {
		name := filepath.Join(g.TempDir(), "fifo")
		g.check(unix.Mkfifo(name, 0o600))
		open := func(flags uint32) int32 {
			return g.wait2(g.push(func(s *uring.SQE) {
				s.PrepOpenat(unix.AT_FDCWD, g.path(name), flags|unix.O_CLOEXEC, 0)
			})).Res
		}
		if got := open(unix.O_WRONLY); got != -int32(unix.ENXIO) {
			g.Error("without a reader:", got)
		}
		rd := int(open(unix.O_RDONLY))
		g.open(rd)
		if flags, err := unix.FcntlInt(uintptr(rd), unix.F_GETFL, 0); flags&unix.O_NONBLOCK != 0 || err != nil {
			g.Errorf("flags %#x, %v", flags, err)
		}
		into := g.bytes(8)
		read := func(s *uring.SQE) { s.PrepRead(rd, ptr(into), 8, 0) }
		ud := g.push(read)
		g.quiet()
		wr := int(open(unix.O_WRONLY))
		g.open(wr)
		g.quiet()
		g.do(3, func(s *uring.SQE) { s.PrepWrite(wr, ptr([]byte("abc")), 3, 0) })
		g.want(ud, 3, 0)
		g.close(wr)
		g.do(0, read)
	})
}

// TestFifoOneWorker opens both ends of FIFOs in a pool of one worker: no open waits for another one.
func TestFifoOneWorker(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{Workers: 1}))
	name := filepath.Join(g.TempDir(), "fifo")
	for i := range 4 {
		fifo := fmt.Sprint(name, i)
		g.check(unix.Mkfifo(fifo, 0o600))
		for _, flags := range []uint32{unix.O_RDONLY, unix.O_WRONLY} {
			g.push(func(s *uring.SQE) {
				s.PrepOpenat(unix.AT_FDCWD, g.path(fifo), flags|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
			})
		}
	}
	for range 8 {
		c := g.wait()
		if c.Res < 0 {
			t.Fatalf("%+v", c)
		}
		g.open(int(c.Res))
	}
}

// TestCloseOpened closes a ring with an open that has succeeded: its completion is never posted.
func TestCloseOpened(t *testing.T) {
	g, let, begun := slowPool(t)
	r := g.ring.(*Ring)
	name := filepath.Join(g.TempDir(), "new")
	g.push(func(s *uring.SQE) { s.PrepOpenat(unix.AT_FDCWD, g.path(name), unix.O_CREAT|unix.O_CLOEXEC, 0o600) })
	g.check(g.Enter(0))
	g.waitFor(begun, 1)
	close(let)
	r.pool.close() // as Close does, to see what it has to close
	fd := r.pool.results[0].n
	g.check(r.Close())
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
		t.Error("it is open:", err)
	}
}
