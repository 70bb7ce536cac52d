package simring

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// entry is an operation in flight.
type entry struct {
	uring.SQE
	ring  *Ring
	file  *file
	moved int  // bytes, by earlier attempts
	begun bool // a connect that was begun
	woken bool
	later bool // it was woken, but goes on a little later
	late  bool // a cancel has found it past stopping
	over  bool // its final completion is made
}

// describe is for the trace. Addresses are left out: they differ from run to run.
func describe(s *uring.SQE) string {
	if s.Opcode == uring.OpAsyncCancel && s.OpFlags == 0 {
		return fmt.Sprintf("%#x: cancel %#x", s.UserData, s.Addr)
	}
	return fmt.Sprintf("%#x: op %d fd %d len %d ioprio %d flags %#x", s.UserData, s.Opcode, s.Fd, s.Len, s.Ioprio, s.OpFlags)
}

func (e *entry) able() bool { return e.woken && !e.later && !e.over }

// wake lets the entry be gone on with, at once or later.
func (e *entry) wake() {
	if e.woken || e.over {
		return
	}
	e.woken = true
	if k := e.ring.k; k.chance(k.Odds.Late) {
		e.later = true
		k.soon(func() { e.later = false })
	}
}

// issue starts an entry that was submitted.
func (e *entry) issue() {
	k := e.ring.k
	switch e.Opcode {
	case uring.OpNop:
		e.finish(0, 0)
		return
	case uring.OpClose:
		k.log("close %d", e.Fd)
		e.finish(-int(k.close(int(e.Fd))), 0)
		return
	case uring.OpAsyncCancel:
		e.cancel()
		return
	}
	if e.file = k.file(int(e.Fd)); e.file == nil {
		e.finish(-int(unix.EBADF), 0)
		return
	}
	e.ring.entries = append(e.ring.entries, e)
	e.file.entries = append(e.file.entries, e)
	if first := e.Opcode != uring.OpPollAdd && e.Ioprio&uring.RecvsendPollFirst != 0 && e.Opcode != uring.OpAccept; first {
		const in, out = unix.POLLIN | unix.POLLERR | unix.POLLHUP, unix.POLLOUT | unix.POLLERR | unix.POLLHUP
		want := uint32(in)
		if e.Opcode == uring.OpSend || e.Opcode == uring.OpSendmsg {
			want = out
		}
		if e.file.events()&want != 0 {
			e.wake()
		}
		return
	}
	e.attempt()
}

// finish makes the final completion. If it is an error after bytes were moved, those are the result.
func (e *entry) finish(res int, flags uint32) {
	if res < 0 && e.moved != 0 {
		res = e.moved
	}
	e.over = true
	e.ring.entries = without(e.ring.entries, e)
	if e.file != nil {
		e.file.entries = without(e.file.entries, e)
	}
	e.ring.post(e, int32(res), flags)
}

func without(list []*entry, e *entry) []*entry {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// item makes a completion of a multishot entry. False: the entry has ended with it.
func (e *entry) item(res int, flags uint32) bool {
	if k := e.ring.k; e.ring.full() || k.chance(k.Odds.Early) {
		e.finish(res, flags)
		return false
	}
	e.ring.post(e, int32(res), flags|uring.CQEMore)
	return true
}

// wait leaves the entry waiting, unless it gives up.
func (e *entry) wait() {
	if k := e.ring.k; k.chance(k.Odds.Vain / 10) {
		e.finish(-int(unix.EAGAIN), 0)
	}
}

// attempt goes on with the entry.
func (e *entry) attempt() {
	switch e.Opcode {
	case uring.OpRecv:
		e.recv()
	case uring.OpSend:
		e.send([]unix.Iovec{iovec(e.Addr, int(e.Len))})
	case uring.OpSendmsg:
		h := *(**unix.Msghdr)(unsafe.Pointer(&e.Addr))
		e.send(unsafe.Slice(h.Iov, h.Iovlen))
	case uring.OpAccept:
		e.accept()
	case uring.OpConnect:
		e.connect()
	case uring.OpPollAdd:
		e.poll()
	default:
		e.finish(-int(unix.EINVAL), 0)
	}
}

func iovec(addr uint64, n int) unix.Iovec {
	v := unix.Iovec{Base: *(**byte)(unsafe.Pointer(&addr))}
	v.SetLen(n)
	return v
}

func (e *entry) recv() {
	if e.file.listens {
		e.finish(-int(unix.ENOTCONN), 0)
		return
	}
	for !e.over {
		p, id, flags := []byte(nil), uint16(0), uint32(0)
		if e.Flags&uring.SQEBufferSelect != 0 {
			g, k := &e.ring.group, e.ring.k
			if len(g.free) == 0 || k.chance(k.Odds.NoBuffer) {
				e.finish(-int(unix.ENOBUFS), 0)
				return
			}
			id = g.free[0]
			p = g.bytes(id)
		} else {
			v := iovec(e.Addr, int(e.Len))
			p = unsafe.Slice(v.Base, v.Len)
		}
		if e.Flags&uring.SQEBufferSelect != 0 && len(e.file.end.in) != 0 {
			id = e.ring.group.take(e.ring.k)
			p = e.ring.group.bytes(id)
			flags = uring.CQEBuffer | uint32(id)<<uring.CQEBufferShift
		}
		n := e.file.end.recv(p)
		if n == -int(unix.EAGAIN) {
			e.wait()
			return
		}
		if len(e.file.end.in) != 0 {
			flags |= uring.CQESockNonempty
		}
		if n <= 0 || e.Ioprio&uring.RecvMultishot == 0 || e.limitReached(n) {
			e.finish(n, flags)
			return
		}
		e.item(n, flags)
	}
}

// limitReached counts n bytes towards the limit of a multishot receive, if it has one.
func (e *entry) limitReached(n int) bool {
	switch {
	case e.FileIndex == 0:
		return false
	case n >= int(e.FileIndex):
		return true
	}
	e.FileIndex -= int32(n)
	return false
}

func (e *entry) send(pieces []unix.Iovec) {
	k := e.ring.k
	for {
		skip, n, total := e.moved, 0, 0
		for _, v := range pieces {
			total += int(v.Len)
			if skip >= int(v.Len) {
				skip -= int(v.Len)
				continue
			}
			if n = e.file.end.send(unsafe.Slice(v.Base, v.Len)[skip:]); n >= 0 {
				e.moved += n
			}
			if n < int(v.Len)-skip {
				break
			}
			skip = 0
		}
		if total == 0 {
			n = e.file.end.send(nil)
		}
		switch {
		case n == -int(unix.EAGAIN) && e.OpFlags&unix.MSG_DONTWAIT != 0:
			e.finish(n, 0)
		case n == -int(unix.EAGAIN) && (e.moved == 0 || e.OpFlags&unix.MSG_WAITALL != 0):
			e.wait()
		case n < 0:
			if e.moved != 0 && n != -int(unix.EPIPE) {
				e.file.end.err = unix.Errno(-n) // the next call is told
			}
			e.finish(n, 0)
		case e.moved < total && e.OpFlags&unix.MSG_WAITALL != 0 && !k.chance(k.Odds.Short):
			continue
		case k.Odds.Flaw == Duplicate && e.moved > 1 && e.moved < total:
			e.finish(e.moved-1, 0)
		default:
			e.finish(e.moved, 0)
		}
		return
	}
}

func (e *entry) accept() {
	for !e.over {
		n := e.file.accept()
		switch {
		case n == -int(unix.EAGAIN):
			e.wait()
			return
		case n < 0 || e.Ioprio&uring.AcceptMultishot == 0:
			e.finish(n, 0)
			return
		}
		e.item(n, 0)
	}
}

func (e *entry) connect() {
	end, k := e.file.end, e.ring.k
	switch {
	case !e.begun && end.state == connected:
		e.finish(-int(unix.EISCONN), 0)
	case !e.begun:
		sa := *(**unix.RawSockaddrInet4)(unsafe.Pointer(&e.Addr))
		k.port++
		e.begun = true
		end.local = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), k.port)
		e.file.local = end.local
		end.connect(netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, sa.Port))))
	case end.err != 0:
		e.finish(end.takeErr(), 0)
	case end.state == connected:
		e.finish(0, 0)
	}
}

// connect sends a connection request.
func (e *end) connect(to netip.AddrPort) {
	e.state, e.remote = connecting, to
	e.k.soon(func() { e.request(0) })
}

func (e *entry) poll() {
	const always = unix.POLLERR | unix.POLLHUP | unix.POLLRDHUP
	events := e.file.events() & (e.OpFlags | always)
	switch {
	case events == 0:
	case e.Len&uring.PollAddMulti != 0:
		e.item(int(events), 0)
	default:
		e.finish(int(events), 0)
	}
}
