//go:build linux

package reactor_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// TCP_INFO of a connection has its round-trip time and its bytes, and other sockets have none.
func TestTCPInfo(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		ln := r.listen()
		defer ln.hangUp()
		peer := ln.dial()
		s := acceptNow(t, r, ln)
		if _, err := unix.Write(peer, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		var info unix.TCPInfo
		r.do(func() {
			var err error
			if info, err = s.TCPInfo(); err != nil {
				t.Error(err)
			}
			if n := testing.AllocsPerRun(100, func() { _, _ = s.TCPInfo() }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
		if info.State != 1 || info.Bytes_received != 5 || info.Rtt == 0 || info.Min_rtt == 0 || info.Total_retrans != 0 {
			t.Errorf("%+v", info)
		}
		other, far := r.pair()
		defer unix.Close(far)
		r.do(func() {
			if _, err := other.TCPInfo(); !errors.Is(err, syscall.EOPNOTSUPP) {
				t.Errorf("of a unix socket: %v", err)
			}
		})
		r.close(s, other, &ln.Socket)
	})
}

// acceptNow accepts a connection that is queued.
func acceptNow(t testing.TB, r *running, ln *listener) *reactor.Socket {
	t.Helper()
	fd, _, err := unix.Accept4(ln.Fd(), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	s := new(reactor.Socket)
	s.InitTCP(r.Loop, fd)
	return s
}

// BenchmarkTCPInfo asks about one of a thousand connections after the other.
func BenchmarkTCPInfo(b *testing.B) {
	r := run(b, reactor.LoopConfig{Ring: reactor.Epoll, SlowTurn: time.Hour})
	defer r.end()
	ln := r.listen()
	defer ln.hangUp()
	var all []*reactor.Socket
	for range 1000 {
		ln.dial()
		all = append(all, acceptNow(b, r, ln))
	}
	defer func() { r.close(append(all, &ln.Socket)...) }()
	i := 0
	r.do(func() {
		for b.Loop() {
			if _, err := all[i%len(all)].TCPInfo(); err != nil {
				b.Error(err)
				return
			}
			i++
		}
	})
}
