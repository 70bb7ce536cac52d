//go:build linux

package epoll

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const anywhere = uring.FilePosition

func splice(from, to int, n, flags uint32) func(*uring.SQE) {
	return func(s *uring.SQE) { s.PrepSplice(from, anywhere, to, anywhere, n, flags) }
}

// TestSplice moves bytes between all kinds of files that allow it, and waits for the descriptor that is not ready.
func TestSplice(t *testing.T) {
	onBoth(t, func(g *rig) {
		rd, wr := g.pipe()
		rd2, wr2 := g.pipe()
		a, b := g.tcp()
		file := g.file()
		g.do(5, func(s *uring.SQE) { s.PrepWrite(file, ptr([]byte("bytes")), 5, 0) })

		g.do(3, func(s *uring.SQE) { s.PrepSplice(file, 2, wr, anywhere, 10, 0) })
		g.do(3, splice(rd, a, 10, 0))
		if got := g.read(b, 3); got != "tes" {
			g.Errorf("%q", got)
		}
		ud := g.push(splice(a, wr, 10, 0)) // the socket has nothing
		g.quiet()
		g.write(b, "from b")
		g.want(ud, 6, 0)
		ud = g.push(splice(rd2, file, 10, 0)) // the pipe has nothing
		g.quiet()
		g.write(wr2, "!")
		g.want(ud, 1, 0)
		g.do(6, func(s *uring.SQE) { s.PrepTee(rd, wr2, 100, 0) })
		g.do(6, splice(rd, file, 100, 0))
		if got := g.read(rd2, 6); got != "from b" {
			g.Errorf("%q", got)
		}
		ud = g.push(func(s *uring.SQE) { s.PrepTee(rd, wr2, 100, 0) })
		g.quiet()
		g.write(wr, "tee")
		g.want(ud, 3, 0)

		g.fails(g.push(splice(rd2, wr, 1<<20, 1<<9)), unix.EINVAL)
		g.fails(g.push(splice(a, file, 1, 0)), unix.EINVAL)
		g.fails(g.push(splice(-1, wr, 1, 0)), unix.EBADF)
		g.fails(g.push(func(s *uring.SQE) { s.PrepSplice(rd, 0, wr2, anywhere, 1, 0) }), unix.ESPIPE)
		g.read(rd, 3)
		g.fails(g.push(splice(rd, wr2, 1, unix.SPLICE_F_NONBLOCK)), unix.EAGAIN)
		g.close(wr)
		g.do(0, splice(rd, wr2, 10, 0))
	})
}

// TestSpliceBothEnds waits for the source, then for room, and completes.
func TestSpliceBothEnds(t *testing.T) {
	onBoth(t, func(g *rig) {
		rd, wr := g.pipe()
		rd2, wr2 := g.pipe()
		g.write(wr2, strings.Repeat("x", 64<<10))
		ud := g.push(splice(rd, wr2, 4096, 0))
		g.quiet()
		g.write(wr, "through")
		g.quiet()
		g.read(rd2, 64<<10)
		g.want(ud, 7, 0)
		if got := g.read(rd2, 7); got != "through" {
			g.Errorf("%q", got)
		}
	})
}

// TestSpliceUrgent fails, and does not try again and again, in front of urgent data: splice(2) does not pass it.
func TestSpliceUrgent(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, b := g.tcp()
		rd, wr := g.pipe()
		g.check(unix.SetNonblock(a, true)) // else the kernel says that it is at its end
		g.check(unix.Sendto(b, []byte("ab!"), unix.MSG_OOB, nil))
		g.write(b, "cd")
		g.want(g.push(splice(a, wr, 10, 0)), 2, 0)
		g.fails(g.push(splice(a, wr, 10, 0)), unix.EAGAIN)
		g.fails(g.push(splice(a, wr, 10, unix.SPLICE_F_NONBLOCK)), unix.EAGAIN)
		g.do(1, recvTo(a, g.bytes(1), 0)) // passes it
		g.do(1, splice(a, wr, 10, 0))
		if got := g.read(rd, 3); got != "abd" {
			g.Errorf("%q", got)
		}
	})
}

// TestSpliceFromFile waits for room in a pipe with a plain file as the source: the pool tries again.
func TestSpliceFromFile(t *testing.T) {
	onBoth(t, func(g *rig) {
		file := g.file()
		g.do(5, func(s *uring.SQE) { s.PrepWrite(file, ptr([]byte("bytes")), 5, 0) })
		rd, wr := g.pipe()
		g.write(wr, strings.Repeat("x", 64<<10))
		ud := g.push(func(s *uring.SQE) { s.PrepSplice(file, 0, wr, anywhere, 5, 0) })
		for range 10 {
			g.check(g.Enter(time.Millisecond))
			if g.Pop(&g.cqe) {
				g.Fatalf("%+v", g.cqe)
			}
		}
		g.read(rd, 64<<10)
		g.want(ud, 5, 0)
		if got := g.read(rd, 5); got != "bytes" {
			g.Errorf("%q", got)
		}
	})
}

// TestSpliceCancel cancels splices that wait, by a cancel, a Forget and a close.
func TestSpliceCancel(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	r := g.ring.(*Ring)
	rd, wr := g.pipe()
	rd2, wr2 := g.pipe()
	wait := func() uint64 {
		ud := g.push(splice(rd, wr2, 10, 0)) // in the lists of rd
		g.quiet()
		return ud
	}
	ud := wait()
	g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
	g.fails(ud, unix.ECANCELED)
	ud = wait()
	r.Forget(wr2)
	g.fails(ud, unix.ECANCELED)
	ud = wait()
	r.Forget(rd)
	g.fails(ud, unix.ECANCELED)

	ud = wait()
	other := g.push(recvLike(rd, g.bytes(4)))
	g.do(0, func(s *uring.SQE) { s.PrepClose(wr2) })
	g.do(0, func(s *uring.SQE) { s.PrepClose(rd) })
	g.write(wr, "ends")
	g.want(ud, 4, 0)
	if got := g.read(rd2, 4); got != "ends" {
		t.Errorf("%q", got)
	}
	g.write(wr, "read")
	g.want(other, 4, 0)
	if r.files.at(int32(rd)).inFlight != 0 || r.files.at(int32(wr2)).inFlight != 0 {
		t.Error("something is left in flight")
	}
}

func recvLike(fd int, b []byte) func(*uring.SQE) {
	return func(s *uring.SQE) { s.PrepRead(fd, ptr(b), uint32(len(b)), 0) }
}
