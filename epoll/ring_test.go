//go:build linux

package epoll

import (
	"errors"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// TestNops pushes far more entries than queues of several sizes hold.
func TestNops(t *testing.T) {
	for _, entries := range []int{0, 1, 3, 256} {
		g := newRig(t, newEpoll(t, Config{Entries: entries}))
		const n = 5000
		for range n {
			g.push((*uring.SQE).PrepNop)
		}
		if entries != 0 && len(g.ring.(*Ring).queued) > 2*entries {
			t.Errorf("%d entries are queued of %d", len(g.ring.(*Ring).queued), entries)
		}
		for i := range uint64(n) {
			g.want(i+1, 0, 0)
		}
		g.quiet()
	}
}

func TestPushBeforeEnable(t *testing.T) {
	r := newEpoll(t, Config{Entries: 1})
	var s uring.SQE
	for i := range uint64(3) {
		s.PrepNop()
		s.UserData = i + 100
		r.Push(&s)
	}
	g := newRig(t, r)
	for i := range uint64(3) {
		g.want(i+100, 0, 0)
	}
}

// TestTimeout: an Enter without a completion takes at least its timeout.
func TestTimeout(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		r := newEpoll(t, Config{})
		r.poller.coarse = coarse
		g := newRig(t, r)
		a, b := g.pair(unix.SOCK_STREAM)
		g.push(func(s *uring.SQE) { s.PrepRecv(a, ptr(g.bytes(8)), 8, 0) })
		g.quiet()
		for _, d := range []time.Duration{0, time.Nanosecond, 1500 * time.Microsecond, 20 * time.Millisecond} {
			// An event that makes no completion must not end the wait.
			g.push(func(s *uring.SQE) { s.PrepSend(b, ptr(g.bytes(0)), 0, 0) })
			g.wait()
			start := time.Now()
			g.check(g.Enter(d))
			if took := time.Since(start); took < d {
				t.Errorf("coarse %v: Enter(%v) returned after %v", coarse, d, took)
			}
		}
	}
}

func TestMilliseconds(t *testing.T) {
	for limit, want := range map[time.Duration]int{
		-1: -1, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 1 << 62: 1 << 30,
	} {
		if got := milliseconds(limit); got != want {
			t.Errorf("%v: %d, want %d", limit, got, want)
		}
	}
}

// TestWake wakes a ring before it waits and while it does.
func TestWake(t *testing.T) {
	onBoth(t, func(g *rig) {
		g.check(g.Wake())
		g.check(g.Enter(-1))
		for range 100 {
			done := make(chan error, 1)
			go func() { done <- g.Wake() }()
			g.check(g.Enter(-1))
			g.check(<-done)
			g.check(g.Enter(0)) // the wake may have come late or been seen early: take what is left
		}
	})
}

func TestWakeAfterClose(t *testing.T) {
	r := newEpoll(t, Config{})
	if err := errors.Join(r.Enable(), r.Close(), r.Wake(), r.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestCaps submits an entry of every opcode: those that Caps does not have are refused.
func TestCaps(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	caps := g.Caps()
	for op := range 256 {
		if caps.Ops.Has(uring.Op(op)) {
			continue
		}
		g.do(-int32(unix.EINVAL), func(s *uring.SQE) { *s = uring.SQE{Opcode: uring.Op(op)} })
	}
}

// TestRefusals submits entries that cannot work, and compares their errors with the kernel's.
func TestRefusals(t *testing.T) {
	onBoth(t, func(g *rig) {
		sock, _ := g.pair(unix.SOCK_STREAM)
		listener, _ := g.listen()
		rd, _ := g.pipe()
		file := g.file()
		b := g.bytes(16)
		recv := func(fd, flags int) func(*uring.SQE) {
			return func(s *uring.SQE) { s.PrepRecv(fd, ptr(b), 16, flags) }
		}
		with := func(prep, more func(*uring.SQE)) func(*uring.SQE) {
			return func(s *uring.SQE) { prep(s); more(s) }
		}
		nop := (*uring.SQE).PrepNop
		for _, c := range []struct {
			name  string
			errno unix.Errno
			prep  func(*uring.SQE)
		}{
			{"unknown opcode", unix.EINVAL, func(s *uring.SQE) { *s = uring.SQE{Opcode: 200} }},
			{"unknown flag", unix.EINVAL, with(nop, func(s *uring.SQE) { s.Flags = 0x80 })},
			{"unknown personality", unix.EINVAL, with(nop, func(s *uring.SQE) { s.Personality = 3 })},
			{"ioprio of a nop", unix.EINVAL, with(nop, func(s *uring.SQE) { s.Ioprio = 1 })},
			{"buffer for a nop", unix.EOPNOTSUPP, with(nop, func(s *uring.SQE) { s.Flags = uring.SQEBufferSelect })},

			{"recv, bad descriptor", unix.EBADF, recv(999, 0)},
			{"recv, -1", unix.EBADF, recv(-1, 0)},
			{"recv, pipe", unix.ENOTSOCK, recv(rd, 0)},
			{"recv, file", unix.ENOTSOCK, recv(file, 0)},
			{"recv, listener", unix.ENOTCONN, recv(listener, 0)},
			{"recv, DONTWAIT", unix.EAGAIN, recv(sock, unix.MSG_DONTWAIT)},
			{"recv, unknown ioprio", unix.EINVAL, with(recv(sock, 0), func(s *uring.SQE) { s.Ioprio = 1 << 12 })},
			{"recv, addr2", unix.EINVAL, with(recv(sock, 0), func(s *uring.SQE) { s.Off = 1 })},
			{"recv, multishot without buffers", unix.EINVAL, with(recv(sock, 0),
				func(s *uring.SQE) { s.Ioprio = uring.RecvMultishot })},
			{"recv, multishot WAITALL", unix.EINVAL, func(s *uring.SQE) {
				s.PrepRecvMultishot(sock, 0, unix.MSG_WAITALL)
			}},
			{"recv, no buffer", unix.ENOBUFS, func(s *uring.SQE) { s.PrepRecvSelect(sock, 0, 0, 0) }},
			{"recv, no group", unix.ENOBUFS, func(s *uring.SQE) { s.PrepRecvSelect(sock, 7, 0, 0) }},
			{"recv multishot, no buffer", unix.ENOBUFS, func(s *uring.SQE) { s.PrepRecvMultishot(sock, 0, 0) }},

			{"send, bad descriptor", unix.EBADF, func(s *uring.SQE) { s.PrepSend(999, ptr(b), 16, 0) }},
			{"send, pipe", unix.ENOTSOCK, func(s *uring.SQE) { s.PrepSend(rd, ptr(b), 16, 0) }},
			{"send, file", unix.ENOTSOCK, func(s *uring.SQE) { s.PrepSend(file, ptr(b), 16, 0) }},
			{"sendmsg, buffer", unix.EOPNOTSUPP, func(s *uring.SQE) {
				s.PrepSendmsg(sock, ptr(g.bytes(64)), 0)
				s.Flags = uring.SQEBufferSelect
			}},

			{"accept, bad descriptor", unix.EBADF, func(s *uring.SQE) { s.PrepAccept(999, 0) }},
			{"accept, pipe", unix.ENOTSOCK, func(s *uring.SQE) { s.PrepAccept(rd, 0) }},
			{"accept, file", unix.ENOTSOCK, func(s *uring.SQE) { s.PrepAccept(file, 0) }},
			{"accept, not listening", unix.EINVAL, func(s *uring.SQE) { s.PrepAcceptMultishot(sock, 0) }},
			{"accept, unknown flags", unix.EINVAL, func(s *uring.SQE) { s.PrepAccept(listener, 7) }},
			{"accept, length", unix.EINVAL, func(s *uring.SQE) { s.PrepAccept(listener, 0); s.Len = 1 }},
			{"recv, listener in use", unix.ENOTCONN, recv(listener, 0)},

			{"connect, bad descriptor", unix.EBADF, func(s *uring.SQE) { s.PrepConnect(999, ptr(b), 16) }},
			{"connect, pipe", unix.ENOTSOCK, func(s *uring.SQE) { s.PrepConnect(rd, ptr(b), 16) }},
			{"connect, file", unix.ENOTSOCK, func(s *uring.SQE) { s.PrepConnect(file, ptr(b), 16) }},
			{"close, bad descriptor", unix.EBADF, func(s *uring.SQE) { s.PrepClose(999) }},
			{"close, address", unix.EINVAL, func(s *uring.SQE) { s.PrepClose(999); s.Addr = 1 }},
			{"poll, bad descriptor", unix.EBADF, func(s *uring.SQE) { s.PrepPollAdd(999, unix.POLLIN) }},
			{"poll, level", unix.EINVAL, func(s *uring.SQE) {
				s.PrepPollMultishot(sock, unix.POLLIN)
				s.Len |= 1 << 3
			}},
			{"fsync, bad descriptor", unix.EBADF, func(s *uring.SQE) { s.PrepFsync(999, 0) }},
			{"fsync, pipe", unix.EINVAL, func(s *uring.SQE) { s.PrepFsync(rd, 0) }},
			{"fsync, unknown flag", unix.EINVAL, func(s *uring.SQE) { s.PrepFsync(file, 0); s.OpFlags = 2 }},
			{"read, bad descriptor", unix.EBADF, func(s *uring.SQE) { s.PrepRead(999, ptr(b), 16, 0) }},
			{"write, read end", unix.EBADF, func(s *uring.SQE) { s.PrepWrite(rd, ptr(b), 16, 0) }},

			{"cancel, nothing there", unix.ENOENT, func(s *uring.SQE) { s.PrepCancel(1 << 60) }},
			{"cancel, unknown flag", unix.EINVAL, func(s *uring.SQE) { s.PrepCancel(1 << 60); s.OpFlags = 1 << 9 }},
		} {
			ud := g.push(c.prep)
			if got := g.wait(); got.UserData != ud || got.Res != -int32(c.errno) || got.Flags != 0 {
				g.Errorf("%s: got %+v, want %v", c.name, got, c.errno)
			}
		}
		g.quiet()
	})
}

// TestAllocations runs what a busy loop runs in steady state: nothing of it allocates.
func TestAllocations(t *testing.T) {
	if assert.Enabled {
		t.Skip("the checks allocate")
	}
	g := newRig(t, newEpoll(t, Config{}))
	g.provide()
	a, b := g.tcp()
	p, q := g.tcp()
	data, into := g.bytes(32), g.bytes(32)
	multi := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(p, 0, 0) })
	iov := &unix.Iovec{Base: &data[0], Len: 32}
	msg := &unix.Msghdr{Iov: iov, Iovlen: 1}
	x, y := g.udpPair(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}, true)
	room := g.multiHeader(16, 0)
	named := g.push(func(s *uring.SQE) { s.PrepRecvmsgMultishot(x, 0, room, 0) })
	messages := func() {
		zc := g.push(func(s *uring.SQE) { s.PrepSendZC(y, ptr(data), 32, 0, 0) })
		for range 3 {
			if c := g.wait(); c.UserData == named {
				if id, ok := c.BufferID(); ok {
					g.ProvideBuffer(0, id)
				}
			} else if c.UserData != zc || c.Res != 32 && c.Flags != uring.CQENotif {
				t.Fatalf("%+v", c)
			}
		}
		ud := g.push(func(s *uring.SQE) { s.PrepPollMultishot(a, unix.POLLPRI) })
		g.push(func(s *uring.SQE) { s.PrepCancel(ud) })
		for range 2 {
			g.wait()
		}
	}
	turn := func() {
		g.push(func(s *uring.SQE) { s.PrepRecv(a, ptr(into), 32, 0) })
		g.push(func(s *uring.SQE) { s.PrepSend(b, ptr(data), 32, unix.MSG_WAITALL) })
		g.push(func(s *uring.SQE) { s.PrepSendmsg(q, unsafe.Pointer(msg), 0) })
		for range 4 {
			if c := g.wait(); c.Res != 32 {
				t.Fatalf("%+v", c)
			} else if c.UserData == multi {
				id, _ := c.BufferID()
				g.ProvideBuffer(0, id)
			}
		}
		ud := g.push(func(s *uring.SQE) { s.PrepRecv(a, ptr(into), 32, 0) })
		g.push(func(s *uring.SQE) { s.PrepCancel(ud) })
		ud = g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) })
		g.push(func(s *uring.SQE) { s.PrepCancel(ud) })
		for range 4 {
			g.wait()
		}
		messages()
		g.check(g.Enter(0))
	}
	if n := testing.AllocsPerRun(1000, turn); n != 0 {
		t.Errorf("%v allocations a turn", n)
	}
}

// TestUserDataTable compares the user_data table with a plain list.
func TestUserDataTable(t *testing.T) {
	var table userDataTable
	table.init(2)
	all := new(entries)
	for i := range uint32(2000) {
		all.make(i)
		all.at(i).index = i
	}
	var in []*entry
	check := func(userData uint64) {
		var got, want []*entry
		for e := table.find(all, userData); e != nil; e = all.find(e.chain) {
			if e.UserData == userData {
				got = append(got, e)
			}
		}
		for _, e := range slices.Backward(in) {
			if e.UserData == userData {
				want = append(want, e)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("user_data %d: %v, want %v", userData, got, want)
		}
	}
	for i := uint32(1); i < 2000; i++ {
		e := all.at(i)
		e.UserData = uint64(i * i % 97)
		table.insert(all, e)
		in = append(in, e)
		if i%3 == 0 {
			at := int(i*7) % len(in)
			table.remove(all, in[at])
			in = slices.Delete(in, at, at+1)
		}
		check(uint64(i % 97))
	}
	if table.count != len(in) {
		t.Errorf("count %d, want %d", table.count, len(in))
	}
}
