//go:build linux

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

// twoLoops runs f on two loops of each pair of rings.
func twoLoops(t *testing.T, f func(t *testing.T, a, b *running)) {
	for _, kinds := range [][2]reactor.RingKind{
		{reactor.IOUring, reactor.IOUring}, {reactor.Epoll, reactor.Epoll},
		{reactor.IOUring, reactor.Epoll}, {reactor.Epoll, reactor.IOUring},
	} {
		t.Run(string(kinds[0])+" to "+string(kinds[1]), func(t *testing.T) {
			need(t, kinds[0])
			need(t, kinds[1])
			before := descriptors()
			f(t, run(t, reactor.LoopConfig{Ring: kinds[0]}), run(t, reactor.LoopConfig{Ring: kinds[1]}))
			if after := descriptors(); after != before {
				t.Errorf("%d descriptors were open before and %d are now", before, after)
			}
		})
	}
}

// moves starts a move of s on its loop.
func (r *running) moves(op *reactor.MoveOp, s *reactor.Socket, to *running, source *stop.Source) result {
	done := newResult()
	r.do(func() {
		s.MoveTo(to.Loop, s).Connect(op, sinkOf[struct{}](r.t, done, source))
		op.Start()
		done.none(r.t)
	})
	return done
}

// receive receives on the loop, into however many bytes.
func (r *running) receive(s *reactor.Socket, op *reactor.RecvOp, buf []byte) result {
	done := newResult()
	r.do(func() {
		s.Recv(buf).Connect(op, sinkOf[int](r.t, done, nil))
		op.Start()
	})
	return done
}

// A socket is used on one loop, moved with bytes unread, used on the other, and moved back.
func TestMoveToAnotherLoop(t *testing.T) {
	twoLoops(t, func(t *testing.T, a, b *running) {
		s, peer := a.pair()
		var recv reactor.RecvOp
		var move reactor.MoveOp
		buf := make([]byte, 4)
		from, to := a, b
		for range 4 {
			write(t, peer, []byte("abcdefg"))
			from.receive(s, &recv, buf).expect(t, "4")
			from.moves(&move, s, to, nil).expect(t, "{}")
			if s.Loop() != to.Loop {
				t.Fatal("the socket is not of the other loop")
			}
			to.receive(s, &recv, buf).expect(t, "3")
			done := to.receive(s, &recv, buf) // waits there, and is woken there
			to.settle()
			done.none(t)
			write(t, peer, []byte("hi"))
			done.expect(t, "2")
			from, to = to, from
		}
		from.close(s)
		unix.Close(peer)
		a.end()
		b.end()
	})
}

// A socket with an operation in flight stays where it is, and so does one that is stopped or closed.
func TestMoveThatIsRefused(t *testing.T) {
	twoLoops(t, func(t *testing.T, a, b *running) {
		s, peer := a.pair()
		var recv reactor.RecvOp
		var move reactor.MoveOp
		buf := make([]byte, 4)
		received := a.receive(s, &recv, buf)
		a.moves(&move, s, b, nil).expect(t, "error: device or resource busy")
		write(t, peer, []byte("x"))
		received.expect(t, "1")

		var source stop.Source
		source.RequestStop()
		a.moves(&move, s, b, &source).expect(t, "stopped")
		write(t, peer, []byte("y"))
		a.receive(s, &recv, buf).expect(t, "1")

		done, closed := newResult(), newResult()
		var op reactor.CloseOp
		a.do(func() { // closed under the move
			s.MoveTo(b.Loop, s).Connect(&move, sinkOf[struct{}](t, done, nil))
			move.Start()
			s.Close().Connect(&op, sinkOf[struct{}](t, closed, nil))
			op.Start()
		})
		done.expect(t, "error: use of a closed descriptor")
		closed.expect(t, "{}")
		a.moves(&move, s, b, nil).expect(t, "error: use of a closed descriptor")
		unix.Close(peer)
		a.end()
		b.end()
	})
}

// A move to a loop that has ended closes the descriptor, once: the peer sees the end.
func TestMoveToALoopThatHasEnded(t *testing.T) {
	twoLoops(t, func(t *testing.T, a, b *running) {
		b.end()
		s, peer := a.pair()
		var move reactor.MoveOp
		a.moves(&move, s, b, nil).expect(t, "error: use of a closed descriptor")
		if n := drain(peer); n != 0 {
			t.Errorf("%d bytes", n)
		}
		unix.Close(peer)
		a.end()
	})
}

// Both loops are stopped while sockets move: each socket is with one of them, or closed.
func TestMoveWhileLoopsStop(t *testing.T) {
	for range 10 {
		twoLoops(t, func(t *testing.T, a, b *running) {
			const n = 20
			sockets, peers := make([]*reactor.Socket, n), make([]int, n)
			ops := make([]reactor.MoveOp, n)
			closes := make([]reactor.CloseOp, n)
			done := newResult()
			for i := range sockets {
				sockets[i], peers[i] = a.pair()
			}
			a.do(func() {
				for i, s := range sockets {
					out := sinkOf[struct{}](t, done, nil)
					end := sinkOf[struct{}](t, done, nil)
					shut := func() { // on the loop that has it
						s.Close().Connect(&closes[i], end)
						closes[i].Start()
					}
					out.value = func(struct{}) { shut() }
					out.stopped = shut
					s.MoveTo(b.Loop, s).Connect(&ops[i], out)
					ops[i].Start()
					switch i {
					case n / 2:
						b.Stop()
					case n - 1:
						a.Stop()
					}
				}
			})
			if err := a.wait(); err != nil {
				t.Error(err)
			}
			if err := b.wait(); err != nil {
				t.Error(err)
			}
			for i, peer := range peers {
				drain(peer)
				unix.Close(peer)
				select {
				case <-done:
				default:
					t.Errorf("only %d of %d moves ended", i, n)
				}
			}
		})
	}
}

// The loop that gave a descriptor away has forgotten it: another file that has the number is waited for as any other.
func TestMovedDescriptorIsForgotten(t *testing.T) {
	twoLoops(t, func(t *testing.T, a, b *running) {
		var recv reactor.RecvOp
		var move reactor.MoveOp
		buf := make([]byte, 4)
		s, peer := a.pair()
		fd := s.Fd()
		done := a.receive(s, &recv, buf) // waits, so that the ring gets to know it
		a.settle()
		write(t, peer, []byte("x"))
		done.expect(t, "1")
		a.moves(&move, s, b, nil).expect(t, "{}")
		b.close(s)
		unix.Close(peer)

		next, peer := a.pair()
		if next.Fd() != fd {
			if err := unix.Dup3(next.Fd(), fd, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			unix.Close(next.Fd())
			next.Init(a.Loop, fd)
		}
		done = a.receive(next, &recv, buf)
		a.settle()
		write(t, peer, []byte("yz"))
		done.expect(t, "2")
		a.close(next)
		unix.Close(peer)
		a.end()
		b.end()
	})
}
