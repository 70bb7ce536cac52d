//go:build linux

package reactor_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
)

// flaky is a system whose accept4 fails in a row, in these ways or forever in the last.
type flaky struct {
	host.System
	errs  []unix.Errno
	after int // calls after which it succeeds
	calls int
}

func (f *flaky) Accept4(int, int, []byte) (conn, n int, err error) {
	f.calls++
	if f.calls > f.after && f.after > 0 {
		return 7, 0, nil
	}
	return -1, 0, f.errs[min(f.calls, len(f.errs))-1]
}

// A connection that is gone is skipped, but not forever.
func TestTryAcceptPassesOver(t *testing.T) {
	for _, test := range []struct {
		sys  flaky
		fd   int
		err  error
		most int
	}{
		{flaky{errs: []unix.Errno{unix.ECONNABORTED, unix.EINTR, unix.EPROTO}, after: 3}, 7, nil, 4},
		{flaky{errs: []unix.Errno{unix.ECONNABORTED, unix.EAGAIN}}, -1, unix.EAGAIN, 2},
		{flaky{errs: []unix.Errno{unix.EMFILE}}, -1, unix.EMFILE, 1},
		{flaky{errs: []unix.Errno{unix.ECONNABORTED}}, -1, unix.ECONNABORTED, 100},
	} {
		sys := test.sys
		sys.System = host.Process()
		l, err := reactor.NewLoopOn(newRing(t, reactor.Epoll), &sys, reactor.LoopConfig{})
		if err != nil {
			t.Fatal(err)
		}
		var ln reactor.Socket
		ln.Init(l, 0)
		if fd, err := ln.TryAccept(); fd != test.fd || !errors.Is(err, test.err) || sys.calls > test.most {
			t.Errorf("%v: %d, %v after %d calls", test.sys.errs, fd, err, sys.calls)
		}
		if err := l.Discard(); err != nil {
			t.Error(err)
		}
	}
}

// A TCP socket that is given as one receives as any other does, and the listener tells that it is one.
func TestInitTCP(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		ln := r.listen()
		peer := ln.dial()
		var s reactor.Socket
		var recv reactor.RecvManyOp
		received, ended := newResult(), newResult()
		r.do(func() {
			fd, err := ln.TryAccept()
			if err != nil || !ln.IsTCP() {
				t.Errorf("%d, %v, TCP: %t", fd, err, ln.IsTCP())
				return
			}
			s.InitTCP(r.Loop, fd)
			s.RecvMany(reactor.Unlimited).Connect(&recv, seqSinkOf(t, ended, nil, func(l reactor.Lease) {
				received <- string(l.Bytes())
				l.Release()
			}))
			recv.Start()
		})
		if _, err := unix.Write(peer, []byte("ping")); err != nil {
			t.Fatal(err)
		}
		received.expect(t, "ping")
		local, fd := r.pair()
		if local.IsTCP() {
			t.Error("a unix socket is one of TCP")
		}
		unix.Close(fd)
		r.close(&s, local, &ln.Socket)

		closed := newResult()
		r.do(func() {
			if err := s.Open(r.Loop, unix.AF_INET, unix.SOCK_STREAM, 0); err != nil {
				t.Error(err)
			}
			s.Discard()
			s.RecvMany(reactor.Unlimited).Connect(&recv, seqSinkOf(t, closed, nil, func(reactor.Lease) {}))
			recv.Start()
		})
		closed.expect(t, "error: use of a closed descriptor")
		ln.hangUp()
		r.end()
	})
}
