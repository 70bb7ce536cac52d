//go:build linux

package reactor_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// plain is a ring that has neither multishot recvmsg nor sends with an address.
type plain struct{ host.Ring }

func (p plain) Caps() uring.Caps {
	caps := p.Ring.Caps()
	caps.RecvmsgMultishot, caps.SendTo = false, false
	for _, op := range []uring.Op{uring.OpSendZC, uring.OpSendmsgZC} {
		caps.Ops[op>>6] &^= 1 << (op & 63)
	}
	return caps
}

// eachRingAndPlain runs f on each ring, as it is and without what older kernels lack.
func eachRingAndPlain(t *testing.T, cfg reactor.LoopConfig, f func(t *testing.T, r *running)) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, wrap := range map[string]func(host.Ring) host.Ring{
			"whole": func(r host.Ring) host.Ring { return r },
			"plain": func(r host.Ring) host.Ring { return plain{r} },
		} {
			t.Run(name, func(t *testing.T) {
				l, err := reactor.NewLoopOn(wrap(newRing(t, kind)), nil, cfg)
				if err != nil {
					t.Fatal(err)
				}
				r := runLoop(t, l)
				f(t, r)
				r.end()
			})
		}
	})
}

// udp is a UDP socket of the loop on the loopback interface, and where it is.
func (r *running) udp() (*reactor.Socket, reactor.Address) {
	r.t.Helper()
	s := new(reactor.Socket)
	if err := s.Open(r.Loop, unix.AF_INET, unix.SOCK_DGRAM, 0); err != nil {
		r.t.Fatal(err)
	}
	if err := s.Bind(ipAddress(r.t, "127.0.0.1:0")); err != nil {
		r.t.Fatal(err)
	}
	at, err := s.LocalAddress()
	if err != nil {
		r.t.Fatal(err)
	}
	return s, at
}

// udpPeer is a UDP socket of the test's that is connected to an address, and where it is.
func udpPeer(t testing.TB, to reactor.Address) (fd int, at reactor.Address) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ap := to.AddrPort()
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at4 := sa.(*unix.SockaddrInet4)
	return fd, ipAddress(t, fmt.Sprintf("127.0.0.1:%d", at4.Port))
}

// put sends one datagram, which may be empty.
func put(t testing.TB, fd int, b string) {
	t.Helper()
	if _, err := unix.Write(fd, []byte(b)); err != nil {
		t.Errorf("write: %v", err)
	}
}

// inbox is a sink that has what arrives said in words.
func inbox[T any](t testing.TB, r result, source *stop.Source, say func(*T) string) *sink[T] {
	s := sinkOf[T](t, r, source)
	s.value = func(v T) { r <- say(&v) }
	return s
}

func TestRecvFrom(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, at := r.udp()
		peer, from := udpPeer(t, at)
		got, buf := newResult(), make([]byte, 8)
		op := new(reactor.RecvMsgOp)
		s.RecvFrom(buf).Connect(op, inbox(t, got, nil, func(m *reactor.Message) string {
			if m.From != from {
				t.Errorf("it came from %v, want %v", m.From, from)
			}
			return fmt.Sprintf("%q truncated %v", buf[:m.N], m.Truncated())
		}))
		for _, c := range []struct{ sent, want string }{
			{"hello", `"hello" truncated false`},
			{"", `"" truncated false`}, // an empty datagram is no end
			{"more than 8", `"more tha" truncated true`},
			{"after", `"after" truncated false`},
		} {
			r.do(op.Start)
			r.settle()
			put(t, peer, c.sent)
			got.expect(t, c.want)
		}
		if n, err := s.Type(); n != unix.SOCK_DGRAM || err != nil {
			t.Errorf("kind %d, %v", n, err)
		}
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

func TestSendTo(t *testing.T) {
	eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
		s, at := r.udp()
		peer, to := udpPeer(t, at)
		op, sent := new(reactor.SendToOp), newResult()
		send := func(b string, want string) {
			t.Helper()
			r.do(func() {
				s.SendTo([]byte(b), to).Connect(op, sinkOf[int](t, sent, nil)).Start()
			})
			sent.expect(t, want)
		}
		buf := make([]byte, 1<<17)
		for _, b := range []string{"hello", "", "again"} {
			send(b, fmt.Sprint(len(b)))
			n, from, err := unix.Recvfrom(peer, buf, 0)
			if err != nil || string(buf[:n]) != b || addressIn(from) != at.String() {
				t.Errorf("the peer has got %q of %v, %v", buf[:n], from, err)
			}
		}
		send(string(buf), "error: message too long")
		unix.Close(peer)
		r.close(s)
	})
}

func addressIn(sa unix.Sockaddr) string {
	a := sa.(*unix.SockaddrInet4)
	return fmt.Sprintf("%d.%d.%d.%d:%d", a.Addr[0], a.Addr[1], a.Addr[2], a.Addr[3], a.Port)
}

// That no process receives there is reported to a connected socket by its next operation.
func TestSendToAClosedPort(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, _ := r.udp()
		gone, at := r.udp()
		r.close(gone)
		done := newResult()
		connect, send := new(reactor.DialOp), new(reactor.SendToOp)
		r.do(func() {
			s.DialTo(at).Connect(connect, sinkOf[struct{}](t, done, nil)).Start()
		})
		done.expect(t, "{}")
		for _, want := range []string{"5", "error: connection refused"} {
			r.do(func() {
				s.SendTo([]byte("hello"), reactor.Address{}).Connect(send, sinkOf[int](t, done, nil)).Start()
			})
			done.expect(t, want)
		}
		r.close(s)
		r.end()
	})
}

// What an earlier send has come to is nothing to a connect, which waits for no peer here.
func TestConnectAgainAfterAnError(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		gone, at := r.udp()
		r.close(gone)
		peer, there := udpPeer(t, at)
		defer unix.Close(peer)
		s, _ := r.udp()
		must[struct{}](r, s.DialTo(at), new(reactor.DialOp))
		put(t, s.Fd(), "hello")
		must[uint32](r, s.Poll(0), new(reactor.PollOp)) // an error is always reported
		must[struct{}](r, s.DialTo(there), new(reactor.DialOp))
		r.close(s)
	})
}

func TestRecvFromLease(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64}})
		s, at := r.udp()
		peer, from := udpPeer(t, at)
		got, op := newResult(), new(reactor.RecvFromLeaseOp)
		s.RecvFromLease().Connect(op, inbox(t, got, nil, func(d *reactor.Datagram) string {
			defer d.Release()
			if d.From != from {
				t.Errorf("it came from %v, want %v", d.From, from)
			}
			return fmt.Sprintf("%d bytes %.5q truncated %v", len(d.Bytes()), d.Bytes(), d.Truncated())
		}))
		for _, c := range []struct{ sent, want string }{
			{"hello", `5 bytes "hello" truncated false`},
			{"", `0 bytes "" truncated false`},
			{string(make([]byte, 65)), `64 bytes "\x00\x00\x00\x00\x00" truncated true`},
			{"after", `5 bytes "after" truncated false`},
		} {
			r.do(op.Start)
			r.settle()
			put(t, peer, c.sent)
			got.expect(t, c.want)
		}
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// inFlow receives datagrams on and on. Its items are for the test to take.
type inFlow struct {
	*reactor.RecvMsgManyOp
	items  chan reactor.Datagram
	ended  result
	source *stop.Source
}

func (r *running) flow(s seq.Sequence[reactor.Datagram, reactor.RecvMsgManyOp]) *inFlow {
	m := &inFlow{new(reactor.RecvMsgManyOp), make(chan reactor.Datagram, 4096), newResult(), new(stop.Source)}
	s.Connect(m.RecvMsgManyOp, seqSinkOf(r.t, m.ended, m.source, func(d reactor.Datagram) { m.items <- d }))
	r.do(m.Start)
	return m
}

// take takes the next item, and gives its buffer back.
func (m *inFlow) take(r *running) (text string, from reactor.Address) {
	r.t.Helper()
	select {
	case d := <-m.items:
		text, from = string(d.Bytes()), d.From
		r.do(d.Release)
	case <-time.After(patience):
		r.t.Fatal("nothing comes")
	}
	return text, from
}

// Datagrams arrive in order, each with its sender, empty ones among them; a sequence continues behind those.
func TestRecvFromMany(t *testing.T) {
	for name, credit := range map[string]int{"unlimited": reactor.Unlimited, "of 2": 2} {
		t.Run(name, func(t *testing.T) {
			eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
				s, at := r.udp()
				var peers [3]int
				var from [3]reactor.Address
				for i := range peers {
					peers[i], from[i] = udpPeer(t, at)
				}
				m := r.flow(s.RecvFromMany(credit))
				const n = 300
				for i := range n {
					text := fmt.Sprint(i)
					if i%7 == 0 {
						text = ""
					}
					put(t, peers[i%3], text)
					got, who := m.take(r)
					if got != text || who != from[i%3] {
						t.Fatalf("datagram %d is %q from %v, want %q from %v", i, got, who, text, from[i%3])
					}
					r.do(func() { m.Grant(1) })
				}
				r.do(func() { m.source.RequestStop() })
				m.ended.expect(t, "stopped")
				for _, fd := range peers {
					unix.Close(fd)
				}
				r.close(s)
			})
		})
	}
}

// Without credit a sequence waits, and what is sent meanwhile waits.
func TestRecvFromManyCredit(t *testing.T) {
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Window: 2, Limit: 64}}
	eachRingAndPlain(t, cfg, func(t *testing.T, r *running) {
		s, at := r.udp()
		peer, _ := udpPeer(t, at)
		m := r.flow(s.RecvFromMany(3))
		const n = 40
		for i := range n {
			put(t, peer, fmt.Sprint(i))
		}
		r.settle()
		if got := len(m.items); got < 3 || got > 3+16 { // those for which the ring had buffers
			t.Errorf("%d have arrived with a credit of 3", got)
		}
		for i := range n {
			if got, _ := m.take(r); got != fmt.Sprint(i) {
				t.Fatalf("datagram %d is %q", i, got)
			}
			r.do(func() { m.Grant(1) })
		}
		r.close(s)
		m.ended.expect(t, "error: use of a closed descriptor")
		unix.Close(peer)
	})
}

// A sequence that finds no buffer waits for one, and loses nothing.
func TestRecvFromManyShortOfBuffers(t *testing.T) {
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Window: 1, Limit: 2}}
	eachRingAndPlain(t, cfg, func(t *testing.T, r *running) {
		s, at := r.udp()
		peer, _ := udpPeer(t, at)
		m := r.flow(s.RecvFromMany(reactor.Unlimited))
		for i := range 20 {
			put(t, peer, fmt.Sprint(i))
		}
		r.settle()
		if got := len(m.items); got != 2 {
			t.Errorf("%d have arrived in 2 buffers", got)
		}
		for i := range 20 {
			if got, _ := m.take(r); got != fmt.Sprint(i) {
				t.Fatalf("datagram %d is %q", i, got)
			}
		}
		r.do(func() { m.source.RequestStop() })
		m.ended.expect(t, "stopped")
		r.close(s)
		unix.Close(peer)
	})
}

// Control data comes with each datagram, and it says when there was more than room.
func TestRecvMsgManyControl(t *testing.T) {
	eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
		s, at := r.udp()
		if err := s.SetPacketInfo(true); err != nil {
			t.Fatal(err)
		}
		peer, _ := udpPeer(t, at)
		for _, c := range []struct {
			room int
			want string
		}{
			{unix.CmsgSpace(unix.SizeofInet4Pktinfo), "to 127.0.0.1, cut false"},
			{8, "cut true"},
			{0, "cut true"},
		} {
			m := r.flow(s.RecvMsgMany(reactor.Unlimited, c.room))
			for _, text := range []string{"hello", "", "again"} {
				put(t, peer, text)
				d := <-m.items
				if got := packetInfo(&d) + fmt.Sprintf("cut %v", d.ControlTruncated()); got != c.want || string(d.Bytes()) != text {
					t.Errorf("with room for %d bytes: %q with %s, want %s", c.room, d.Bytes(), got, c.want)
				}
				r.do(d.Release)
			}
			r.do(func() { m.source.RequestStop() })
			m.ended.expect(t, "stopped")
		}
		r.close(s)
		unix.Close(peer)
	})
}

func packetInfo(d *reactor.Datagram) (s string) {
	for c := range reactor.ControlMessages(d.Control) {
		if c.Level == unix.IPPROTO_IP && c.Type == unix.IP_PKTINFO {
			s += fmt.Sprintf("to %d.%d.%d.%d, ", c.Data[8], c.Data[9], c.Data[10], c.Data[11])
		}
	}
	return s
}

// A buffer that has no room for more than the description of a message is too small.
func TestRecvFromManyInTooSmallBuffers(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: reactor.BufferConfig{Size: 64}})
		s, at := r.udp()
		peer, _ := udpPeer(t, at)
		m := r.flow(s.RecvMsgMany(reactor.Unlimited, 64))
		put(t, peer, "hello")
		m.ended.expect(t, "error: message too long")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// On a connection a sequence of messages ends where the peer does.
func TestRecvFromManyEnds(t *testing.T) {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
			a, b := new(reactor.Socket), new(reactor.Socket)
			if err := reactor.OpenPair(r.Loop, kind, a, b); err != nil {
				t.Fatal(err)
			}
			m := r.flow(a.RecvFromMany(reactor.Unlimited))
			put(t, b.Fd(), "hello")
			if got, from := m.take(r); got != "hello" || !from.IsZero() {
				t.Errorf("%q from %v", got, from)
			}
			if err := b.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			m.ended.expect(t, "{}")
			r.close(a, b)
		})
	}
}

// A sequence of received bytes on a socket for datagrams continues behind an empty one.
func TestRecvManyOfDatagrams(t *testing.T) {
	for name, credit := range map[string]int{"unlimited": reactor.Unlimited, "of 4": 4} {
		t.Run(name, func(t *testing.T) {
			eachRing(t, func(t *testing.T, kind reactor.RingKind) {
				r := run(t, reactor.LoopConfig{Ring: kind})
				s, at := r.udp()
				peer, _ := udpPeer(t, at)
				got, ended, source := newResult(), newResult(), new(stop.Source)
				op := new(reactor.RecvManyOp)
				s.RecvMany(credit).Connect(op, seqSinkOf(t, ended, source, func(l reactor.Lease) {
					got <- string(l.Bytes())
					l.Release()
					op.Grant(1)
				}))
				r.do(op.Start)
				for _, text := range []string{"hello", "", "", "again", ""} {
					put(t, peer, text)
					got.expect(t, text)
				}
				r.do(func() { source.RequestStop() })
				ended.expect(t, "stopped")
				r.close(s)
				unix.Close(peer)
				r.end()
			})
		})
	}
}

// A deadline ends a receive of datagrams, and leaves what comes later to the next one.
func TestRecvFromTimeout(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, at := r.udp()
		peer, _ := udpPeer(t, at)
		done, buf := newResult(), make([]byte, 8)
		op := new(sender.TimeoutOp[reactor.Message, reactor.RecvMsgOp, sender.ScheduleAtOp])
		limited := sender.Timeout(s.RecvFrom(buf), sender.ScheduleAfter(r.Loop, time.Millisecond))
		limited.Connect(op, inbox(t, done, nil, func(m *reactor.Message) string { return string(buf[:m.N]) }))
		r.do(op.Start)
		done.expect(t, "error: i/o timeout")
		put(t, peer, "late")
		r.do(func() {
			sender.Timeout(s.RecvFrom(buf), sender.ScheduleAfter(r.Loop, time.Hour)).
				Connect(op, inbox(t, done, nil, func(m *reactor.Message) string { return string(buf[:m.N]) }))
			op.Start()
		})
		done.expect(t, "late")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}
