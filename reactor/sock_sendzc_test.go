//go:build linux

package reactor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// tcpPair is a TCP connection: one end is the loop's, the other the test's, which takes little in at a time if
// room is not 0.
func (r *running) tcpPair(room int) (*reactor.Socket, int) {
	r.t.Helper()
	ln := r.listen()
	defer r.close(&ln.Socket)
	if room != 0 {
		if err := ln.SetRecvBuffer(room); err != nil {
			r.t.Fatal(err)
		}
	}
	s := new(reactor.Socket)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, ln.addr)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		r.t.Fatal(err)
	}
	peer, _, err := unix.Accept4(ln.Fd(), unix.SOCK_CLOEXEC)
	if err != nil {
		testenv.Poll(r.t, ln.Fd(), unix.POLLIN, patience)
		if peer, _, err = unix.Accept4(ln.Fd(), unix.SOCK_CLOEXEC); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := unix.SetNonblock(peer, false); err != nil {
		r.t.Fatal(err)
	}
	s.Init(r.Loop, fd)
	return s, peer
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(data)
	return data
}

// read reads until there are n bytes.
func read(t testing.TB, fd, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	for got := 0; got < n; {
		m, err := unix.Read(fd, b[got:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 {
			t.Errorf("after %d bytes: %d, %v", got, m, err)
			return b[:got]
		}
		got += m
	}
	return b
}

// zeroCopies: the operation does not copy on this ring, and so waits for a notification.
func zeroCopies(r *running) bool {
	caps := r.Caps()
	return caps.Ring == "io_uring" && caps.Ops.Has(uring.OpSendZC)
}

// In one piece and in several, short and long, over what can do without copying and what cannot, everything
// arrives; and it can be sent again.
func TestSendZC(t *testing.T) {
	long := randomBytes(3 << 20)
	eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
		for name, pair := range map[string]func() (*reactor.Socket, int){
			"TCP": func() (*reactor.Socket, int) { return r.tcpPair(0) }, "unix": r.pair,
		} {
			s, peer := pair()
			for _, pieces := range [][][]byte{{[]byte("hello")}, {long}, {long[:5], long[5:999], long[999:]}, {nil}, {}} {
				op, sent := new(reactor.SendZCOp), newResult()
				whole := bytes.Join(pieces, nil)
				r.do(func() {
					if len(pieces) == 1 {
						s.SendZC(pieces[0]).Connect(op, sinkOf[int](t, sent, nil))
					} else {
						s.SendvZC(pieces).Connect(op, sinkOf[int](t, sent, nil))
					}
				})
				for range 2 {
					r.do(op.Start)
					if got := read(t, peer, len(whole)); !bytes.Equal(got, whole) {
						t.Errorf("%s: of %d bytes came others", name, len(whole))
					}
					sent.expect(t, fmt.Sprint(len(whole)))
				}
				if len(whole) != 0 && !op.Copied() {
					t.Errorf("%s: nothing was copied on this machine", name)
				}
			}
			r.close(s)
			unix.Close(peer)
		}
	})
}

// stalled is a zero-copy send that the socket has taken and the peer has not.
func (r *running) stalled(
	source *stop.Source,
) (s *reactor.Socket, peer int, op *reactor.SendZCOp, sent result, data []byte) {
	r.t.Helper()
	s, peer = r.tcpPair(4096)
	if err := s.SetSendBuffer(4 << 20); err != nil {
		r.t.Fatal(err)
	}
	op, sent, data = new(reactor.SendZCOp), newResult(), randomBytes(256<<10)
	r.do(func() {
		s.SendZC(data).Connect(op, sinkOf[int](r.t, sent, source))
		op.Start()
	})
	r.settle()
	return s, peer, op, sent, data
}

// The memory is the caller's again when the peer has taken the bytes, not before, whatever happens meanwhile: a
// stop, or that the socket is closed, which does not wait for it.
func TestSendZCKeepsItsMemory(t *testing.T) {
	for _, how := range []string{"left alone", "stopped", "closed"} {
		eachRing(t, func(t *testing.T, kind reactor.RingKind) {
			t.Run(how, func(t *testing.T) {
				r := run(t, reactor.LoopConfig{Ring: kind})
				source := new(stop.Source)
				s, peer, _, sent, data := r.stalled(source)
				if zeroCopies(r) {
					sent.none(t)
				}
				switch how {
				case "stopped":
					r.do(func() { source.RequestStop() })
				case "closed":
					r.close(s)
				}
				r.settle()
				if zeroCopies(r) {
					sent.none(t)
				}
				if got := read(t, peer, len(data)); !bytes.Equal(got, data) {
					t.Error("other bytes came")
				}
				sent.expect(t, fmt.Sprint(len(data)))
				if how != "closed" {
					r.close(s)
				}
				unix.Close(peer)
				r.end()
			})
		})
	}
}

// A reset gives the memory back.
func TestSendZCReset(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer, op, sent, data := r.stalled(nil)
		if err := unix.SetsockoptLinger(peer, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
			t.Fatal(err)
		}
		unix.Close(peer)
		sent.expect(t, fmt.Sprint(len(data))) // the socket had taken all of it
		r.do(op.Start)
		if got := <-sent; got != "error: connection reset by peer" && got != "error: broken pipe" {
			t.Errorf("on a connection that was reset: %s", got)
		}
		r.close(s)
		r.end()
	})
}

// A loop that ends asks for the end of a send of which a part was sent, whose number is delivered when the peer
// has taken that.
func TestSendZCLoopEnds(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.tcpPair(4096)
		op, sent := new(reactor.SendZCOp), newResult()
		data := randomBytes(16 << 20) // more than there is room for
		r.do(func() {
			s.SendZC(data).Connect(op, sinkOf[int](t, sent, nil))
			op.Start()
		})
		r.settle()
		sent.none(t)
		r.Stop()
		var n int
		drained := make(chan int)
		go func() { drained <- drain(peer) }()
		if _, err := fmt.Sscan(<-sent, &n); err != nil || n <= 0 || n > len(data) {
			t.Errorf("%d of %d bytes were sent, %v", n, len(data), err)
		}
		if err := unix.Shutdown(s.Fd(), unix.SHUT_WR); err != nil {
			t.Error(err)
		}
		if got := <-drained; got != n {
			t.Errorf("%d bytes were sent, and the peer has got %d", n, got)
		}
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		unix.Close(s.Fd())
		unix.Close(peer)
	})
}

// A socket is closed without waiting for the peer to take what was sent of it, also if that is a part only.
func TestSendZCClosedInTheMiddle(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.tcpPair(4096)
		op, sent := new(reactor.SendZCOp), newResult()
		recv, ended := new(reactor.RecvOp), newResult()
		data := randomBytes(16 << 20) // more than there is room for
		r.do(func() {
			s.Recv(make([]byte, 1)).Connect(recv, sinkOf[int](t, ended, nil))
			recv.Start()
			s.SendZC(data).Connect(op, sinkOf[int](t, sent, nil))
			op.Start()
		})
		r.settle()
		if err := unix.Shutdown(peer, unix.SHUT_WR); err != nil { // takes the entry back
			t.Fatal(err)
		}
		ended.expect(t, "0")
		r.settle()
		sent.none(t)
		r.close(s)
		if zeroCopies(r) {
			sent.none(t)
		}
		got := drain(peer)
		sent.expect(t, fmt.Sprint(got))
		unix.Close(peer)
		r.end()
	})
}

// The end of the peer takes back a send that waits for room, also if the ring is just trying it again, which is when
// a cancel does not find it.
func TestPeersEndTakesTheSendBack(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, zero := range []bool{false, true} {
			t.Run(map[bool]string{false: "copies", true: "zero copies"}[zero], func(t *testing.T) {
				l, h := hook(t, kind, reactor.LoopConfig{})
				var send, cancels uint64 // the user_data, and how many
				took := newResult()
				h.push = func(sqe *uring.SQE) {
					switch op := sqe.Opcode; {
					case op == uring.OpAsyncCancel:
						cancels++
					case sqe.OpFlags&unix.MSG_WAITALL != 0 && (op == uring.OpSend || op == uring.OpSendZC):
						send = sqe.UserData
					}
				}
				h.pop = func(cqe *uring.CQE) bool {
					if cqe.UserData == send && send != 0 && cqe.Res > 0 {
						took <- "a part"
						send = 0
					}
					return true
				}
				r := runLoop(t, l)
				s, peer := r.tcpPair(4096)
				recv, ended, sent := new(reactor.RecvOp), newResult(), newResult()
				data := randomBytes(16 << 20) // more than there is room for
				r.do(func() {
					s.Recv(make([]byte, 1)).Connect(recv, sinkOf[int](t, ended, nil))
					recv.Start()
					if zero {
						op := new(reactor.SendZCOp)
						s.SendZC(data).Connect(op, sinkOf[int](t, sent, nil))
						op.Start()
					} else {
						op := new(reactor.SendOp)
						s.SendAll(data).Connect(op, sinkOf[int](t, sent, nil))
						op.Start()
					}
				})
				r.settle()
				if err := unix.Shutdown(peer, unix.SHUT_WR); err != nil {
					t.Fatal(err)
				}
				ended.expect(t, "0")
				took.expect(t, "a part")
				var before uint64
				r.do(func() { before = cancels })
				time.Sleep(20 * time.Millisecond)
				r.do(func() {
					if cancels != before {
						t.Errorf("%d more cancels of what was taken back", cancels-before)
					}
				})
				sent.none(t)
				if got := read(t, peer, len(data)); !bytes.Equal(got, data) {
					t.Error("other bytes came")
				}
				sent.expect(t, fmt.Sprint(len(data)))
				r.close(s)
				unix.Close(peer)
				r.end()
			})
		}
	})
}

// A send without copying continues after the peer has closed its write side, as others do.
func TestSendZCToAPeerThatHasEnded(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.tcpPair(4096)
		recv, ended := new(reactor.RecvOp), newResult()
		r.do(func() {
			s.Recv(make([]byte, 1)).Connect(recv, sinkOf[int](t, ended, nil))
			recv.Start()
		})
		if err := unix.Shutdown(peer, unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		ended.expect(t, "0")
		op, sent, data := new(reactor.SendZCOp), newResult(), randomBytes(16<<20)
		r.do(func() {
			s.SendZC(data).Connect(op, sinkOf[int](t, sent, nil))
			op.Start()
		})
		r.settle()
		sent.none(t)
		if got := read(t, peer, len(data)); !bytes.Equal(got, data) {
			t.Error("other bytes came")
		}
		sent.expect(t, fmt.Sprint(len(data)))
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}
