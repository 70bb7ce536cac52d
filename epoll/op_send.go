package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issueSend starts a send. It tries at once: there mostly is room.
func (r *Ring) issueSend(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.badAddress():
		r.fail(i, unix.EINVAL)
	default:
		r.tryOut(i, e.OpFlags&unix.MSG_DONTWAIT != 0)
	}
}

// maxAddress is the size of the longest address, struct sockaddr_storage.
const maxAddress = 128

// badAddress reports whether what an entry says of the address to send to cannot be.
func (e *entry) badAddress() bool {
	if e.Opcode == uring.OpSendmsg || e.Opcode == uring.OpSendmsgZC {
		return e.Off != 0 || e.FileIndex != 0
	}
	return uint32(e.FileIndex)>>16 != 0 || e.Off != 0 && e.FileIndex > maxAddress
}

// tryOut attempts an entry that sends, behind those that wait already, and parks it if it must wait.
func (r *Ring) tryOut(i uint32, dontWait bool) {
	e := r.slab.at(i)
	if f := r.file(e.Fd); f != nil {
		switch {
		case f.state&closing != 0:
			r.fail(i, unix.EBADF)
			return
		case f.out.head != 0 && !dontWait:
			r.park(i, waitingOut)
			return
		}
	}
	switch {
	case dontWait:
		r.now(i, false)
	case r.until(i) == wouldBlock:
		r.awaitRoom(i)
	}
}

// awaitRoom parks an entry that found no room. If the descriptor has none by now only since that
// attempt, registering it reports so; if it was registered before, there will be an edge.
func (r *Ring) awaitRoom(i uint32) {
	fd := r.slab.at(i).Fd
	if errno := r.arm(fd, true); errno != 0 {
		r.fail(i, errno)
		return
	}
	r.files.at(fd).state |= blocked
	r.park(i, waitingOut)
}

// send is one send(2) or sendto(2).
func (r *Ring) send(i uint32) verdict {
	e := r.slab.at(i)
	want := e.Len - e.done
	n := raw(unix.SYS_SENDTO, uintptr(e.Fd), uintptr(e.Addr)+uintptr(e.done), uintptr(want),
		uintptr(e.OpFlags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), uintptr(e.Off), uintptr(uint16(e.FileIndex)))
	return r.sent(i, n, int(want), e.OpFlags&unix.MSG_WAITALL != 0)
}

// sendmsg is one sendmsg(2).
func (r *Ring) sendmsg(i uint32) verdict {
	e := r.slab.at(i)
	header := (*unix.Msghdr)(pointer(&e.Addr))
	if e.msg != 0 {
		header = &r.messages[e.msg].header
	}
	whole, want := e.OpFlags&unix.MSG_WAITALL != 0, 0
	if whole {
		want = messageLen(header)
	}
	n := raw(unix.SYS_SENDMSG, uintptr(e.Fd), uintptr(unsafe.Pointer(header)),
		uintptr(e.OpFlags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), 0, 0, 0)
	v := r.sent(i, n, want, whole)
	if v == progress && n > 0 {
		var m *message
		if e.msg != 0 {
			m = r.messages[e.msg]
		} else {
			m = r.copyMessage(i, header)
		}
		m.advance(n)
		m.header.Control = nil // it went with the first part
		m.header.SetControllen(0)
	}
	return v
}

// sent judges the result of a send of want bytes; whole says that it is to go on until all are sent.
func (r *Ring) sent(i uint32, n, want int, whole bool) verdict {
	e := r.slab.at(i)
	r.unseen += max(n, 0)
	switch {
	case n == again:
		return wouldBlock
	case n == interrupted:
		return progress
	case n < 0:
		r.fail(i, unix.Errno(-n))
	case whole && n < want && n > 0:
		e.done += uint32(n)
		return progress
	default:
		r.finish(i, int32(e.done)+int32(n), 0)
	}
	return finished
}
