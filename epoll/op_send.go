//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issueSend starts a send. It tries immediately: mostly there is room.
func (r *Ring) issueSend(e *entry) {
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.badAddress():
		r.fail(e, unix.EINVAL)
	default:
		r.tryOut(e)
	}
}

// maxAddress is the size of the longest address, struct sockaddr_storage.
const maxAddress = 128

// badAddress reports whether the fields of an entry for the address to send to are invalid.
func (e *entry) badAddress() bool {
	if e.Opcode == uring.OpSendmsg || e.Opcode == uring.OpSendmsgZC {
		return e.Off != 0 || e.FileIndex != 0
	}
	return uint32(e.FileIndex)>>16 != 0 || e.Off != 0 && e.FileIndex > maxAddress
}

// tryOut attempts an entry that sends, and parks it if it must wait: for room, or for the entries that wait already.
func (r *Ring) tryOut(e *entry) {
	dontWait := !e.writes() && e.OpFlags&unix.MSG_DONTWAIT != 0
	f := r.files.find(e.Fd)
	switch {
	case f != nil && f.is(closeRequested):
		r.fail(e, unix.EBADF)
	case dontWait:
		r.attemptNow(e)
	case f != nil && f.out.head != 0:
		r.park(e, waitsForOutput)
	case r.attemptAll(e) == wouldBlock:
		r.awaitRoom(e)
	}
}

// awaitRoom parks an entry that found no room. If the descriptor was registered before, its next event reports room.
// If not, and there is room by now, registering it makes such an event.
func (r *Ring) awaitRoom(e *entry) {
	if errno := r.arm(e.Fd, true); errno != 0 {
		r.fail(e, errno)
		return
	}
	r.files.at(e.Fd).fillOutput()
	r.park(e, waitsForOutput)
}

// send makes one send(2) or sendto(2).
func (r *Ring) send(e *entry) verdict {
	want := e.Len - e.done
	n := raw(unix.SYS_SENDTO, uintptr(e.Fd), uintptr(e.Addr)+uintptr(e.done), uintptr(want),
		uintptr(e.OpFlags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), uintptr(e.Off), uintptr(uint16(e.FileIndex)))
	return r.sent(e, n, int(want), e.OpFlags&unix.MSG_WAITALL != 0)
}

// sendmsg makes one sendmsg(2).
func (r *Ring) sendmsg(e *entry) verdict {
	header := (*unix.Msghdr)(pointer(&e.Addr))
	if e.msg != 0 {
		header = &r.messages.of(e).header
	}
	whole, want := e.OpFlags&unix.MSG_WAITALL != 0, 0
	if whole {
		want = messageLen(header)
	}
	n := raw(unix.SYS_SENDMSG, uintptr(e.Fd), uintptr(unsafe.Pointer(header)),
		uintptr(e.OpFlags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), 0, 0, 0)
	v := r.sent(e, n, want, whole)
	if v == tryAgain && n > 0 {
		if e.msg == 0 {
			r.messages.copyHeader(e, header)
		}
		m := r.messages.of(e)
		m.advance(n)
		m.header.Control = nil // it was sent with the first part
		m.header.SetControllen(0)
	}
	return v
}

// sent deals with the result of a send of want bytes. whole says that the send continues until all are sent.
func (r *Ring) sent(e *entry, n, want int, whole bool) verdict {
	r.sinceTurn += max(n, 0)
	switch {
	case n == again:
		return wouldBlock
	case n == interrupted:
		return tryAgain
	case n < 0:
		r.fail(e, unix.Errno(-n))
	case whole && n < want && n > 0:
		e.done += uint32(n)
		return tryAgain
	default:
		r.finish(e, int32(e.done)+int32(n), 0)
	}
	return completed
}
