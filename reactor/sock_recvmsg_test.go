//go:build linux

package reactor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

// openPair is a pair of the loop's sockets.
func (r *running) openPair(kind int) (a, b *reactor.Socket) {
	r.t.Helper()
	a, b = new(reactor.Socket), new(reactor.Socket)
	if err := reactor.OpenPair(r.Loop, kind, a, b); err != nil {
		r.t.Fatal(err)
	}
	return a, b
}

// What is peeked at stays; a receive that is to have all waits for all; one that must not wait does not.
func TestRecvFlags(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		buf, got := make([]byte, 8), newResult()
		op := new(reactor.RecvOp)
		start := func(flags int) {
			r.do(func() {
				in := sinkOf[int](t, got, nil)
				in.value = func(n int) { got <- string(buf[:n]) }
				s.RecvFlags(buf, flags).Connect(op, in)
				op.Start()
			})
		}
		start(unix.MSG_DONTWAIT)
		got.expect(t, "error: resource temporarily unavailable")
		write(t, peer, []byte("1234"))
		for range 2 {
			start(unix.MSG_PEEK)
			got.expect(t, "1234")
		}
		start(unix.MSG_WAITALL)
		r.settle()
		got.none(t)
		write(t, peer, []byte("567890"))
		got.expect(t, "12345678")
		start(unix.MSG_WAITALL)
		r.settle()
		got.none(t)
		unix.Close(peer)
		got.expect(t, "90") // EOF
		r.close(s)
		r.end()
	})
}

// A stop in the middle of a receive that is to have all leaves none behind.
func TestRecvWaitAllStopped(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		got, source := newResult(), new(stop.Source)
		op := new(reactor.RecvOp)
		write(t, peer, []byte("123"))
		r.do(func() {
			s.RecvFlags(make([]byte, 8), unix.MSG_WAITALL).Connect(op, sinkOf[int](t, got, source))
			op.Start()
		})
		r.settle()
		got.none(t)
		r.do(func() { source.RequestStop() })
		got.expect(t, "3")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// Messages keep their limits and are spread over the pieces; the control data says which were sent by whom.
func TestMessages(t *testing.T) {
	for _, kind := range []int{unix.SOCK_SEQPACKET, unix.SOCK_DGRAM} {
		eachRing(t, func(t *testing.T, ring reactor.RingKind) {
			r := run(t, reactor.LoopConfig{Ring: ring})
			a, b := r.openPair(kind)
			if err := b.SetPassCredentials(true); err != nil {
				t.Fatal(err)
			}
			send, recv := new(reactor.SendMsgOp), new(reactor.RecvMsgOp)
			sent, got := newResult(), newResult()
			one, two, control := make([]byte, 3), make([]byte, 3), make([]byte, 64)
			r.do(func() {
				a.SendMsg(nil, nil, reactor.Address{}).Connect(send, sinkOf[int](t, sent, nil))
				b.RecvMsg([][]byte{one, nil, two}, control, 0).Connect(recv, inbox(t, got, nil, func(m *reactor.Message) string {
					text := append(bytes.Clone(one[:min(m.N, 3)]), two[:max(m.N-3, 0)]...)
					return fmt.Sprintf("%q cut %v credentials %d", text, m.Truncated(), credentials(m.Control))
				}))
			})
			for _, c := range []struct{ pieces, want string }{
				{"12 3", `"123" cut false credentials 1`},
				{"1 2 3 4 5 6", `"123456" cut false credentials 1`},
				{"1234567", `"123456" cut true credentials 1`},
				{"12", `"12" cut false credentials 1`},
			} {
				r.do(func() {
					send.Reset()
					for piece := range bytes.FieldsSeq([]byte(c.pieces)) {
						send.Add(piece)
					}
					send.Start()
					recv.Start()
				})
				sent.expect(t, fmt.Sprint(len(bytes.ReplaceAll([]byte(c.pieces), []byte(" "), nil))))
				got.expect(t, c.want)
			}
			if kind == unix.SOCK_SEQPACKET {
				r.do(recv.Start)
				if err := a.CloseWrite(); err != nil {
					t.Fatal(err)
				}
				got.expect(t, `"" cut false credentials 0`)
			}
			r.close(a, b)
			r.end()
		})
	}
}

// credentials counts the messages in control data that carry some.
func credentials(control []byte) (n int) {
	for c := range reactor.ControlMessages(control) {
		if c.Level == unix.SOL_SOCKET && c.Type == unix.SCM_CREDENTIALS && len(c.Data) == unix.SizeofUcred {
			n++
		}
	}
	return n
}

// A long message through a stream arrives whole, in order, and its control data once; it may be sent again.
func TestLongMessageWithControlData(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		a, b := r.openPair(unix.SOCK_STREAM)
		data := make([]byte, 4<<20)
		for i := range data {
			data[i] = byte(rand.Uint32())
		}
		rights := reactor.AppendControl(nil, reactor.ControlMessage{Level: unix.SOL_SOCKET, Type: unix.SCM_RIGHTS,
			Data: []byte{byte(a.Fd()), byte(a.Fd() >> 8), 0, 0}})
		send, recv := new(reactor.SendMsgOp), new(reactor.RecvFDsOp)
		sent, over := newResult(), newResult()
		buf, got, fds := make([]byte, 100_000), []byte(nil), 0
		in := sinkOf[reactor.Rights](t, over, nil)
		in.value = func(x reactor.Rights) {
			got = append(got, buf[:x.N]...)
			fds += len(x.FDs)
			x.Close()
			if len(got) == len(data) {
				over <- "all"
				return
			}
			recv.Start()
		}
		r.do(func() {
			a.SendMsg([][]byte{data[:1], data[1:77], data[77 : 3<<20], data[3<<20:]}, rights, reactor.Address{}).
				Connect(send, sinkOf[int](t, sent, nil))
			b.RecvFDs(buf, 2).Connect(recv, in)
		})
		for range 2 {
			got, fds = nil, 0
			r.do(func() {
				recv.Start()
				send.Start()
			})
			over.expect(t, "all")
			sent.expect(t, fmt.Sprint(len(data)))
			if !bytes.Equal(got, data) || fds != 1 {
				t.Errorf("%d bytes, equal %v, and %d descriptors", len(got), bytes.Equal(got, data), fds)
			}
		}
		r.close(a, b)
		r.end()
	})
}

// Unix sockets for datagrams are found by their names, abstract ones and paths, and tell them.
func TestUnixDatagrams(t *testing.T) {
	eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
		var sockets [3]*reactor.Socket
		var at [3]reactor.Address
		for i, name := range []string{t.TempDir() + "/socket", "@" + t.TempDir(), ""} {
			s := new(reactor.Socket)
			if err := s.Open(r.Loop, unix.AF_UNIX, unix.SOCK_DGRAM, 0); err != nil {
				t.Fatal(err)
			}
			if i < 2 {
				if err := s.Bind(unixAddress(t, name)); err != nil {
					t.Fatal(err)
				}
			}
			sockets[i], at[i] = s, unixAddress(t, name)
		}
		at[2] = reactor.Address{} // that has no name
		m := r.flow(sockets[0].RecvFromMany(reactor.Unlimited))
		recv, got, buf := new(reactor.RecvMsgOp), newResult(), make([]byte, 8)
		r.do(func() {
			sockets[1].RecvFrom(buf).Connect(recv, inbox(t, got, nil, func(m *reactor.Message) string {
				return fmt.Sprintf("%s from %v", buf[:m.N], m.From)
			}))
			recv.Start()
		})
		send, sent := new(reactor.SendToOp), newResult()
		for i := range 3 {
			r.do(func() {
				sockets[i].SendTo([]byte("hello"), at[0]).Connect(send, sinkOf[int](t, sent, nil))
				send.Start()
			})
			sent.expect(t, "5")
			if text, from := m.take(r); text != "hello" || from != at[i] {
				t.Errorf("%q from %v, want it from %v", text, from, at[i])
			}
		}
		r.do(func() {
			sockets[0].SendTo([]byte("you"), at[1]).Connect(send, sinkOf[int](t, sent, nil))
			send.Start()
		})
		sent.expect(t, "3")
		got.expect(t, "you from "+at[0].String())
		r.close(sockets[:]...)
		m.ended.expect(t, "error: use of a closed descriptor")
	})
}

// Connections of unix sockets are accepted as others are.
func TestUnixConnections(t *testing.T) {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		for _, name := range []string{t.TempDir() + "/socket", "@" + t.TempDir()} {
			eachRing(t, func(t *testing.T, ring reactor.RingKind) {
				r := run(t, reactor.LoopConfig{Ring: ring})
				var ln reactor.Socket
				if err := ln.OpenListener(r.Loop, reactor.ListenConfig{Address: unixAddress(t, name), Type: kind}); err != nil {
					t.Fatal(err)
				}
				fds, over, source := make(chan int, 8), newResult(), new(stop.Source)
				accept := new(reactor.AcceptManyOp)
				r.do(func() {
					ln.AcceptMany(reactor.Unlimited).Connect(accept, seqSinkOf(t, over, source, func(fd int) { fds <- fd }))
					accept.Start()
				})
				for range 3 {
					client, server, done := new(reactor.Socket), new(reactor.Socket), newResult()
					if err := client.Open(r.Loop, unix.AF_UNIX, kind, 0); err != nil {
						t.Fatal(err)
					}
					connect := new(reactor.DialOp)
					r.do(func() {
						client.DialTo(unixAddress(t, name)).Connect(connect, sinkOf[struct{}](t, done, nil))
						connect.Start()
					})
					done.expect(t, "{}")
					fd := <-fds
					r.do(func() { server.Init(r.Loop, fd) })
					if at, err := server.LocalAddress(); err != nil || at.String() != name {
						t.Errorf("accepted at %v, %v", at, err)
					}
					r.close(client, server)
				}
				r.do(func() { source.RequestStop() })
				over.expect(t, "stopped")
				r.close(&ln)
				_ = unix.Unlink(name)
				r.end()
			})
		}
	}
}

func TestControlMessages(t *testing.T) {
	var control []byte
	for i := range 4 {
		control = reactor.AppendControl(control,
			reactor.ControlMessage{Level: i, Type: 2 * i, Data: []byte("12345678901234567"[:5*i])})
	}
	parsed, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(parsed) != 4 {
		t.Fatalf("%v, %v", parsed, err)
	}
	i := 0
	for c := range reactor.ControlMessages(control) {
		if p := parsed[i]; c.Level != int(p.Header.Level) || c.Type != int(p.Header.Type) || !bytes.Equal(c.Data, p.Data) {
			t.Errorf("message %d is %+v, to package unix %+v", i, c, p)
		}
		i++
	}
	if i != 4 {
		t.Errorf("%d messages", i)
	}
	for c := range reactor.ControlMessages(control) {
		if c.Level == 1 {
			break
		}
	}
}

// Whatever control data is, nothing outside of it is looked at.
func FuzzControlMessages(f *testing.F) {
	f.Add(reactor.AppendControl(nil, reactor.ControlMessage{Level: 1, Type: 2, Data: []byte("123")}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, control []byte) {
		total := 0
		for c := range reactor.ControlMessages(control) {
			total += len(c.Data) + unix.SizeofCmsghdr
		}
		if total > len(control) {
			t.Errorf("%d bytes of %d", total, len(control))
		}
	})
}
