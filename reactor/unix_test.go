//go:build linux

package reactor_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// listenUnix makes a listener of the loop with an abstract name.
func (r *running) listenUnix(kind, backlog int) (*reactor.Socket, reactor.Address) {
	r.t.Helper()
	at := unixAddress(r.t, fmt.Sprintf("@reactord-%d-%s", os.Getpid(), r.t.Name()))
	s := new(reactor.Socket)
	if err := s.OpenListener(r.Loop, reactor.ListenConfig{Address: at, Type: kind, Backlog: backlog}); err != nil {
		r.t.Fatal(err)
	}
	return s, at
}

// Accepting from a unix listener that is shut down for receiving ends, as from any other, and keeps no loop busy.
func TestAcceptFromAShutListener(t *testing.T) {
	eachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
			for _, waiting := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d/%v", kind, waiting), func(t *testing.T) {
					r := run(t, reactor.LoopConfig{Ring: ring})
					defer r.Stop()
					ln, _ := r.listenUnix(kind, 1)
					one, many := new(reactor.AcceptOp), new(reactor.AcceptManyOp)
					done := newResult()
					shut := func() {
						if err := unix.Shutdown(ln.Fd(), unix.SHUT_RD); err != nil {
							t.Error(err)
						}
					}
					r.do(func() {
						if !waiting {
							shut()
						}
						ln.Accept().Connect(one, sinkOf[int](t, done, nil))
						one.Start()
						ln.AcceptMany(reactor.Unlimited).Connect(many, seqSinkOf(t, done, nil, func(int) { t.Error("an item") }))
						many.Start()
					})
					if waiting {
						r.settle()
						done.none(t)
						shut()
					}
					done.expect(t, "error: invalid argument")
					done.expect(t, "error: invalid argument")
					r.close(ln)
					r.end()
				})
			}
		}
	})
}

// A connect to a unix listener without room in its backlog fails immediately, and may be tried again.
func TestConnectToACrowdedListener(t *testing.T) {
	eachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: ring})
		ln, at := r.listenUnix(unix.SOCK_STREAM, 1)
		done := newResult()
		op := new(reactor.DialOp)
		var clients []*reactor.Socket
		connect := func(want string) {
			r.do(func() {
				clients[len(clients)-1].DialTo(at).Connect(op, sinkOf[struct{}](t, done, nil))
				op.Start()
			})
			done.expect(t, want)
		}
		open := func() {
			s := new(reactor.Socket)
			if err := s.Open(r.Loop, unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
				t.Fatal(err)
			}
			clients = append(clients, s)
		}
		for range 2 { // a backlog of one has room for two
			open()
			connect("{}")
		}
		open()
		connect("error: resource temporarily unavailable")
		fd, err := ln.TryAccept()
		if err != nil {
			t.Fatal(err)
		}
		connect("{}")
		unix.Close(fd)
		r.close(append(clients, ln)...)
		r.end()
	})
}

// A send to a unix socket without room retries once in a millisecond: no poll tells when the receiver has room.
func TestSendToFullUnixSocket(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		open := func(flags int) int {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|flags, 0)
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}
		receiver, other := open(0), open(unix.SOCK_NONBLOCK)
		defer unix.Close(receiver)
		defer unix.Close(other)
		if err := unix.Bind(receiver, &unix.SockaddrUnix{}); err != nil { // the kernel chooses the name
			t.Fatal(err)
		}
		sa, err := unix.Getsockname(receiver)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			err = unix.Sendto(other, []byte("x"), 0, sa)
		}
		to, err := reactor.UnixAddress(sa.(*unix.SockaddrUnix).Name)
		if err != nil {
			t.Fatal(err)
		}
		s := new(reactor.Socket)
		s.Init(r.Loop, open(unix.SOCK_NONBLOCK))
		began, before := time.Now(), r.Stats().Entries
		sent := begin[int](r, s.SendMsg([][]byte{[]byte("hel"), []byte("lo")}, nil, to), new(reactor.SendMsgOp), nil)
		must[struct{}](r, r.SleepFor(50*time.Millisecond), new(reactor.SleepOp))
		const first = 10 // attempts and polls before the first backoff
		if n, most := r.Stats().Entries-before, uint64(first+time.Since(began)/time.Millisecond); n > most {
			t.Errorf("%d entries while there was no room, want %d at most", n, most)
		}
		sent.none(t)
		for n, buf := 0, make([]byte, 10); string(buf[:n]) != "hello"; {
			if n, err = unix.Read(receiver, buf); err != nil || n == 0 {
				t.Fatalf("%d bytes have arrived, %v", n, err)
			}
		}
		sent.expect(t, "5")
		r.close(s)
	})
}
