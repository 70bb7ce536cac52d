//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

// eventfds are n descriptors of the test's.
func eventfds(t testing.TB, n int) (fds []int) {
	t.Helper()
	for range n {
		fd, err := unix.Eventfd(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// pipeEnds are pipes whose read ends are passed. Their write ends stay with the test, and tell when no copy of a read
// end is left. To count the open descriptors of the process would also count what other tests open meanwhile.
type pipeEnds struct {
	t           testing.TB
	read, write []int
}

func pipes(t testing.TB, n int) *pipeEnds {
	t.Helper()
	e := &pipeEnds{t: t}
	for range n {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		e.read, e.write = append(e.read, fds[0]), append(e.write, fds[1])
	}
	return e
}

// closed reports whether no copy of the i-th is left, or will be in that time.
func (e *pipeEnds) closed(i int, within time.Duration) bool {
	return testenv.Poll(e.t, e.write[i], 0, within)&unix.POLLERR != 0
}

// gone closes what is left here, and expects there to be no copies.
func (e *pipeEnds) gone() {
	e.t.Helper()
	closeAll(e.read)
	for i := range e.write {
		if !e.closed(i, patience) {
			e.t.Errorf("descriptor %d of %d has leaked", i, len(e.write))
		}
	}
	closeAll(e.write)
}

// rights receives descriptors. What it has received is for the test to take.
type rights struct {
	*reactor.RecvFDsOp
	got    chan reactor.Rights
	over   result
	source *stop.Source
}

func (r *running) rights(s *reactor.Socket, most int) *rights {
	x := &rights{new(reactor.RecvFDsOp), make(chan reactor.Rights, 8), newResult(), new(stop.Source)}
	in := sinkOf[reactor.Rights](r.t, x.over, x.source)
	in.value = func(v reactor.Rights) { x.got <- v }
	s.RecvFDs(make([]byte, 8), most).Connect(x.RecvFDsOp, in)
	return x
}

// sendFDs sends descriptors with some bytes.
func (r *running) sendFDs(s *reactor.Socket, b string, fds []int, want string) {
	r.t.Helper()
	op, sent := new(reactor.SendFDsOp), newResult()
	r.do(func() {
		s.SendFDs([]byte(b), fds).Connect(op, sinkOf[int](r.t, sent, nil))
		op.Start()
	})
	sent.expect(r.t, want)
}

// What arrives are descriptors of the same files, closed by exec; there may be as many as the kernel takes.
func TestPassingDescriptors(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, how := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
			r := run(t, reactor.LoopConfig{Ring: kind})
			a, b := r.openPair(how)
			x := r.rights(b, reactor.MaxFDs)
			for _, n := range []int{1, 2, 3, 0, reactor.MaxFDs} {
				fds := eventfds(t, n)
				r.do(x.Start)
				r.settle()
				r.sendFDs(a, "hello", fds, "5")
				got := <-x.got
				if got.N != 5 || len(got.FDs) != n || got.Truncated {
					t.Errorf("of %d came %+v", n, got)
				}
				for i, fd := range got.FDs {
					flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
					if err != nil || flags != unix.FD_CLOEXEC {
						t.Errorf("descriptor %d: flags %#x, %v", i, flags, err)
					}
					if !sameFile(fd, fds[i], uint64(i+1)) {
						t.Errorf("descriptor %d is another file", i)
					}
				}
				got.Close()
				closeAll(fds)
			}
			fds := eventfds(t, 1)
			many := make([]int, reactor.MaxFDs+1)
			for i := range many {
				many[i] = fds[0]
			}
			r.sendFDs(a, "hello", many, "error: invalid argument")
			closeAll(fds)
			r.close(a, b)
			r.end()
		}
	})
}

// sameFile: what is written to one eventfd is read from the other.
func sameFile(a, b int, v uint64) bool {
	buf := [8]byte{byte(v), byte(v >> 8)}
	if _, err := unix.Write(a, buf[:]); err != nil {
		return false
	}
	var back [8]byte
	_, err := unix.Read(b, back[:])
	return err == nil && back == buf
}

// Descriptors for which there is no room are gone; those for which there is are delivered, and none leaks.
func TestPassingTooManyDescriptors(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		a, b := r.openPair(unix.SOCK_STREAM)
		for _, room := range []int{0, 1, 2, 3, 4} {
			ends := pipes(t, 5)
			x := r.rights(b, room)
			r.do(x.Start)
			r.sendFDs(a, "hello", ends.read, "5")
			got := <-x.got
			if len(got.FDs) != room || !got.Truncated {
				t.Errorf("with room for %d came %+v", room, got)
			}
			closeAll(ends.read)
			ends.read = nil
			for i := range ends.write {
				if i < room && ends.closed(i, 0) || i >= room && !ends.closed(i, patience) {
					t.Errorf("%d descriptors were delivered, and whether number %d is open is wrong", room, i)
				}
			}
			got.Close()
			ends.gone()
		}
		r.close(a, b)
		r.end()
	})
}

// A stop in the same turn as the arrival loses nothing: they are delivered, or stay in the socket.
func TestPassedDescriptorsOutliveAStop(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		a, b := r.openPair(unix.SOCK_STREAM)
		for _, inFlight := range []bool{false, true} {
			ends := pipes(t, 1)
			x := r.rights(b, 1)
			if inFlight {
				r.do(x.Start)
				r.settle()
			}
			send, sent := new(reactor.SendFDsOp), newResult()
			r.do(func() {
				a.SendFDs([]byte("x"), ends.read).Connect(send, sinkOf[int](t, sent, nil))
				send.Start()
				if !inFlight {
					x.Start()
				}
				x.source.RequestStop()
			})
			sent.expect(t, "1")
			r.settle()
			select {
			case got := <-x.got:
				if len(got.FDs) != 1 {
					t.Errorf("%+v", got)
				}
				got.Close()
			case how := <-x.over:
				if how != "stopped" {
					t.Errorf("completed with %s", how)
				}
				y := r.rights(b, 1)
				r.do(y.Start)
				got := <-y.got
				if len(got.FDs) != 1 {
					t.Errorf("after the stop: %+v", got)
				}
				got.Close()
			}
			ends.gone()
		}
		r.close(a, b)
		r.end()
	})
}

// What was sent and not received is closed with the socket, and what a loop that ends has received is delivered.
func TestPassedDescriptorsAtTheEnd(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		a, b := r.openPair(unix.SOCK_STREAM)
		ends := pipes(t, 2)
		r.sendFDs(a, "kept", ends.read, "4")
		x := r.rights(b, 2)
		r.do(func() {
			x.Start()
			r.Stop()
		})
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		select {
		case got := <-x.got:
			got.Close()
		case how := <-x.over:
			if how != "stopped" {
				t.Errorf("completed with %s", how)
			}
		}
		for _, s := range []*reactor.Socket{a, b} {
			unix.Close(s.Fd())
		}
		ends.gone()
	})
}

// Receiving descriptors ends as receiving does.
func TestRecvFDsEnds(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		a, b := r.openPair(unix.SOCK_STREAM)
		x := r.rights(b, 1)
		r.do(x.Start)
		r.settle()
		r.close(a)
		if got := <-x.got; got.N != 0 || len(got.FDs) != 0 {
			t.Errorf("%+v", got)
		}
		a, c := r.openPair(unix.SOCK_STREAM)
		y := r.rights(c, 1)
		r.do(y.Start)
		r.settle()
		r.close(c)
		y.over.expect(t, "error: use of a closed descriptor")
		r.close(a, b)
		r.end()
	})
}
