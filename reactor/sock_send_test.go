//go:build linux

package reactor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// kernelWorkers counts the kernel's worker threads of this process.
func kernelWorkers(t *testing.T) (n int) {
	t.Helper()
	names, err := filepath.Glob("/proc/self/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if comm, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(comm), "iou-wrk") {
			n++
		}
	}
	return n
}

// A peer that has ended its direction and does not read keeps a send waiting, but neither the loop nor
// a kernel thread busy with it; when it reads, everything arrives. The end comes before the send, or
// while that waits.
func TestSendToAPeerThatHasEnded(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, vectored := range []bool{false, true} {
			for _, endFirst := range []bool{true, false} {
				sendToEnded(t, kind, vectored, endFirst)
			}
		}
	})
}

func sendToEnded(t *testing.T, kind reactor.RingKind, vectored, endFirst bool) {
	r := run(t, reactor.LoopConfig{Ring: kind})
	ln := r.listen()
	peer := ln.dial()
	accepted, _, err := unix.Accept4(ln.Fd(), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	var s reactor.Socket
	var recv reactor.RecvManyOp
	var send reactor.SendOp
	var sendv reactor.SendvOp
	data := make([]byte, 16<<20)
	ended, sent := newResult(), newResult()
	r.do(func() {
		s.Init(r.Loop, accepted)
		s.RecvMany(4).Connect(&recv, seqSinkOf(t, ended, nil, func(l reactor.Lease) { l.Release() }))
		recv.Start()
	})
	end := func() {
		if err := unix.Shutdown(peer, unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		ended.expect(t, "{}")
	}
	if endFirst {
		end()
	}
	before := kernelWorkers(t)
	r.do(func() {
		if vectored {
			s.Sendv([][]byte{data[:1000], data[1000:]}).Connect(&sendv, sinkOf[int](t, sent, nil))
			sendv.Start()
		} else {
			s.SendAll(data).Connect(&send, sinkOf[int](t, sent, nil))
			send.Start()
		}
	})
	r.settle()
	if !endFirst {
		end()
	}
	enters := r.Stats().Enters
	time.Sleep(50 * time.Millisecond)
	if n := r.Stats().Enters - enters; n > 50 {
		t.Errorf("the loop was entered %d times while it had to wait", n)
	}
	if n := kernelWorkers(t); n > before && endFirst { // else one has been at it for a moment, and stays idle
		t.Errorf("%d kernel threads are at it", n-before)
	}
	sent.none(t)
	buf := make([]byte, 1<<20)
	for got := 0; got < len(data); {
		n, err := unix.Read(peer, buf)
		if err != nil || n == 0 {
			t.Fatalf("after %d bytes: %d, %v", got, n, err)
		}
		got += n
	}
	sent.expect(t, "16777216")
	r.close(&s, &ln.Socket)
	ln.hangUp()
	r.end()
}
