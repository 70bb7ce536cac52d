//go:build linux

package reactor_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// limitDescriptors gives the process a lower limit of descriptors. fill uses up all that it allows, and
// free gives those back; the limit stays until the test ends.
func limitDescriptors(t *testing.T) (fill, free func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	low := old
	low.Cur = 1024
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	})
	var files []int
	fill = func() {
		for {
			fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == unix.EMFILE {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, fd)
		}
	}
	free = func() {
		for _, fd := range files {
			unix.Close(fd)
		}
		files = nil
	}
	return fill, free
}

// Without descriptors accepting backs off, reports it, costs nothing meanwhile, and resumes.
func TestAcceptManyWithoutDescriptors(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		fill, free := limitDescriptors(t) // a ring may look at the limit when it is asked to accept
		for _, credit := range []int{10, reactor.Unlimited} {
			r := run(t, reactor.LoopConfig{Ring: kind})
			ln := r.listen()
			var op reactor.AcceptManyOp
			var backoffs atomic.Int32
			accepted, ended := make(chan int, 64), newResult()
			r.do(func() {
				in := seqSinkOf(t, ended, nil, func(fd int) { accepted <- fd })
				in.backsOff = func(err error) {
					if !errors.Is(err, unix.EMFILE) {
						t.Errorf("backs off because of %v", err)
					}
					backoffs.Add(1)
				}
				ln.AcceptMany(credit).Connect(&op, in)
				op.Start()
			})
			unix.Close(accept(ln, accepted)) // it works
			// Connecting needs descriptors, too.
			fds := [3]int{}
			for i := range fds {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				fds[i] = fd
			}
			fill()
			before := r.Stats()
			for _, fd := range fds {
				if err := unix.Connect(fd, ln.addr); err != nil {
					t.Error(err)
				}
			}
			const rest = 350 * time.Millisecond
			time.Sleep(rest)
			after := r.Stats()
			free()
			began := time.Now()
			for range fds {
				select {
				case fd := <-accepted:
					unix.Close(fd)
				case <-time.After(patience):
					t.Fatal("does not resume")
				}
			}
			if took := time.Since(began); took > 2*reactor.AcceptBackoff {
				t.Errorf("resumed after %v", took)
			}
			if n := backoffs.Load(); n < 1 || n > int32(rest/reactor.AcceptBackoff)+3 {
				t.Errorf("backed off %d times in %v", n, rest)
			}
			if n := after.Enters - before.Enters; n > 40 {
				t.Errorf("entered the ring %d times while there was nothing to do", n)
			}
			for _, fd := range fds {
				unix.Close(fd)
			}
			ln.hangUp()
			r.close(&ln.Socket)
			ended.expect(t, "error: use of a closed descriptor")
			r.end()
		}
	})
}

func accept(ln *listener, accepted chan int) int {
	ln.dial()
	return <-accepted
}

// While accepting backs off it can be stopped and closed, and its loop can be stopped; it backs off no longer
// then.
func TestAcceptManyEndsWhileItBacksOff(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, how := range []string{"stopped", "closed", "stopped inside OnAcceptBackoff", "closed inside OnAcceptBackoff"} {
			l, h := hook(t, kind, reactor.LoopConfig{})
			fail := failing(h, unix.EMFILE)
			r := runLoop(t, l)
			ln := r.listen()
			var op reactor.AcceptManyOp
			var closing reactor.CloseOp
			var source stop.Source
			rested, ended := newResult(), newResult()
			r.do(func() {
				fail.Store(true)
				ln.Close().Connect(&closing, sinkOf[struct{}](t, newResult(), nil))
				in := seqSinkOf(t, ended, &source, func(fd int) { t.Errorf("accepted %d", fd) })
				in.backsOff = func(error) {
					switch how {
					case "stopped inside OnAcceptBackoff":
						source.RequestStop()
					case "closed inside OnAcceptBackoff":
						closing.Start()
					}
					rested <- "backs off"
				}
				ln.AcceptMany(10).Connect(&op, in)
				op.Start()
			})
			ln.dial()
			rested.expect(t, "backs off")
			r.do(func() {
				switch how {
				case "stopped":
					source.RequestStop()
				case "closed":
					closing.Start()
				}
			})
			if how[0] == 's' {
				ended.expect(t, "stopped")
				r.close(&ln.Socket)
			} else {
				ended.expect(t, "error: use of a closed descriptor")
				r.settle()
			}
			ln.hangUp()
			r.end()
		}
	})
}

// failing makes every accept fail with errno from when the flag is set.
func failing(h *hooked, errno unix.Errno) *atomic.Bool {
	fail := new(atomic.Bool)
	accepts := map[uint64]bool{}
	h.push = func(sqe *uring.SQE) { accepts[sqe.UserData] = sqe.Opcode == uring.OpAccept }
	h.pop = func(cqe *uring.CQE) bool {
		if fail.Load() && accepts[cqe.UserData] && !cqe.More() && cqe.Res != -int32(unix.ECANCELED) {
			if cqe.Res >= 0 {
				unix.Close(int(cqe.Res))
			}
			cqe.Res = -int32(errno)
		}
		return true
	}
	return fail
}

// Whatever error accepting may meet again and again, it does not keep the loop busy.
func TestAcceptManyDoesNotSpin(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, errno := range []unix.Errno{unix.ECONNABORTED, unix.EPERM, unix.ENETDOWN, unix.EMFILE, unix.EAGAIN} {
			l, h := hook(t, kind, reactor.LoopConfig{})
			broken := errno
			h.push = func(sqe *uring.SQE) {
				if sqe.Opcode == uring.OpAccept {
					userData := sqe.UserData
					sqe.PrepNop()
					sqe.UserData = userData
				}
			}
			h.pop = func(cqe *uring.CQE) bool {
				if cqe.Res == 0 {
					cqe.Res = -int32(broken)
				}
				return true
			}
			r := runLoop(t, l)
			ln := r.listen()
			var op reactor.AcceptManyOp
			var source stop.Source
			ended := newResult()
			r.do(func() {
				ln.AcceptMany(10).Connect(&op, seqSinkOf(t, ended, &source, func(int) {}))
				op.Start()
			})
			before := r.Stats().Enters
			time.Sleep(2*reactor.AcceptBackoff + reactor.AcceptBackoff/2)
			if n := r.Stats().Enters - before; n > 4*32 {
				t.Errorf("%v: entered the ring %d times", errno, n)
			}
			r.do(func() { source.RequestStop() })
			ended.expect(t, "stopped")
			r.Stop()
			if err := r.wait(); err != nil {
				t.Error(err)
			}
			unix.Close(ln.Fd())
		}
	})
}

// A stop that comes together with an error that accepting would have skipped is a stop.
func TestAcceptManyStoppedWithAnError(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, errno := range []unix.Errno{unix.EMFILE, unix.ECONNABORTED} {
			l, h := hook(t, kind, reactor.LoopConfig{})
			fail := failing(h, errno)
			r := runLoop(t, l)
			ln := r.listen()
			var op reactor.AcceptManyOp
			var source stop.Source
			ended := newResult()
			r.do(func() {
				ln.AcceptMany(10).Connect(&op, seqSinkOf(t, ended, &source, func(fd int) { t.Errorf("accepted %d", fd) }))
				op.Start()
			})
			r.settle()
			r.do(func() {
				fail.Store(true)
				ln.dial()
				source.RequestStop()
			})
			ended.expect(t, "stopped")
			r.close(&ln.Socket)
			ln.hangUp()
			r.end()
		}
	})
}
