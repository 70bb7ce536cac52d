//go:build linux

package reactor_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

func TestSplicePipe(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		from, source := r.pair()
		to, sink := r.pair()
		defer unix.Close(source)
		defer unix.Close(sink)
		expect := func(what string, n int, err error, wantN int, wantErr error) {
			if n != wantN || !errors.Is(err, wantErr) {
				t.Errorf("%s: %d, %v; want %d, %v", what, n, err, wantN, wantErr)
			}
		}
		r.do(func() {
			var p reactor.SplicePipe
			if err := p.Open(r.Loop, 1<<16); err != nil {
				t.Error(err)
				return
			}
			n, err := p.Fill(from)
			expect("Fill of nothing", n, err, 0, syscall.EAGAIN)
			write(t, source, []byte("hello"))
			n, err = p.Fill(from)
			expect("Fill", n, err, 5, nil)
			if p.Held() != 5 {
				t.Errorf("%d bytes are held, want 5", p.Held())
			}
			n, err = p.Drain(to)
			expect("Drain", n, err, 5, nil)
			got := make([]byte, 9)
			if n, err = unix.Read(sink, got); err != nil || string(got[:n]) != "hello" {
				t.Errorf("%q arrived, %v", got[:max(n, 0)], err)
			}
			for err == nil { // until the receiver is full
				if p.Held() == 0 {
					write(t, source, make([]byte, 1<<12))
					_, _ = p.Fill(from)
				}
				_, err = p.Drain(to)
			}
			expect("Drain into what is full", 0, err, 0, syscall.EAGAIN)
			if p.Held() == 0 {
				t.Error("nothing is held")
			}
			p.Close()
		})
		r.do(func() {
			var p reactor.SplicePipe
			if err := p.Open(r.Loop, 1<<16); err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			write(t, source, []byte("last"))
			n, err := p.Fill(from)
			expect("Fill", n, err, 4, nil)
			_ = unix.Shutdown(sink, unix.SHUT_RD)
			n, err = p.Drain(to)
			expect("Drain into what takes no more", n, err, 0, syscall.EPIPE)
			p.Close()
			if err := p.Open(r.Loop, 1<<16); err != nil {
				t.Error(err)
				return
			}
			_ = unix.Shutdown(source, unix.SHUT_WR)
			n, err = p.Fill(from)
			expect("Fill at the end", n, err, 0, nil)
		})
		r.close(from, to)
		r.do(func() {
			var p reactor.SplicePipe
			if err := p.Open(r.Loop, 1<<16); err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			n, err := p.Fill(from)
			expect("Fill from a closed socket", n, err, 0, net.ErrClosed)
		})
	})
}

// Urgent data in front of the FIN is not taken for the end: there may be bytes between.
func TestSplicePipeUrgent(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		from, source := r.tcpPair(0)
		defer unix.Close(source)
		if err := unix.Sendto(source, []byte("!"), unix.MSG_OOB, nil); err != nil {
			t.Fatal(err)
		}
		write(t, source, []byte("hello"))
		if err := unix.Shutdown(source, unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		ended := must[uint32](r, from.Poll(unix.POLLRDHUP), new(reactor.PollOp))
		if ended&unix.POLLRDHUP == 0 {
			t.Fatalf("the poll reported %#x", ended)
		}
		r.do(func() {
			var p reactor.SplicePipe
			if err := p.Open(r.Loop, 1<<16); err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			if n, err := p.Fill(from); n != 0 || !errors.Is(err, syscall.EAGAIN) {
				t.Errorf("Fill in front of urgent data: %d, %v", n, err)
			}
		})
		buf := make([]byte, 10)
		if n := must[int](r, from.Recv(buf), new(reactor.RecvOp)); string(buf[:n]) != "hello" {
			t.Errorf("received %q", buf[:n])
		}
		r.close(from)
	})
}

// A System without splice(2) says so.
func TestSplicePipeUnsupported(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, _ := runVirtual(t, kind)
		defer r.end()
		r.do(func() {
			var p reactor.SplicePipe
			if err := p.Open(r.Loop, 1<<16); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("Open: %v", err)
			}
		})
	})
}
