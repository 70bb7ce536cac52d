//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// maxBatch is the most datagrams that one system call receives or sends.
const maxBatch = 32

// firstBatch is the number that it receives when the number of waiting ones is unknown. There is mostly one, and room
// for a second one lets the call find that there is no other.
const firstBatch = 4

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	unix.Msghdr
	Len uint32
}

// batch holds what recvmmsg(2) and sendmmsg(2) point to, and the buffers that they receive into.
type batch struct {
	messages [maxBatch]mmsghdr
	iov      [maxBatch]unix.Iovec
	bufs     [maxBatch]uint16
}

// takesBatch reports whether a multishot recvmsg may take several messages with one call: they are datagrams, no other
// receive is to have the next one, and taking one takes it away.
func (r *Ring) takesBatch(e *entry) bool {
	const harmless = unix.MSG_CMSG_CLOEXEC | unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL | unix.MSG_TRUNC
	f := r.files.at(e.Fd)
	return f.kind == datagrams && f.in.head == e.index && e.next == 0 && e.Len == 0 && e.OpFlags&^harmless == 0 &&
		!e.is(holdsBuffer) && r.groups.available(e.BufIndex) != nil && uint64(r.groups[e.BufIndex].size) >= e.before()
}

// recvmmsg makes one recvmmsg(2). If it gets fewer messages than there was room for, nothing is left, unless an event
// has reported an error.
func (r *Ring) recvmmsg(e *entry) verdict {
	g, b := r.groups[e.BufIndex], &r.several
	want := firstBatch
	if e.is(postedItem) {
		want = maxBatch
	}
	want = min(want, len(g.free))
	room := 0
	for i := range want {
		b.bufs[i] = g.take()
		room = e.layOut(&b.messages[i].Msghdr, &b.iov[i], g.at(b.bufs[i]), g.size)
	}
	n := raw(unix.SYS_RECVMMSG, uintptr(e.Fd), uintptr(unsafe.Pointer(&b.messages)), uintptr(want),
		uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0)
	for i := want - 1; i >= max(n, 0); i-- {
		g.give(b.bufs[i])
	}
	if n <= 0 {
		return r.receivedNothing(e, n)
	}
	for i := range n {
		m := &b.messages[i]
		describe(&m.Msghdr, g.at(b.bufs[i]), int(m.Len))
		e.buf = b.bufs[i]
		e.flags |= holdsBuffer
		r.receivedMessage(e, int(m.Len), room)
	}
	if n < want && r.files.at(e.Fd).input != inputSignalled {
		e.flags &^= postedItem
		return wouldBlock
	}
	return tryAgain
}

// sendBatch sends the first of the queued entries by one sendmmsg(2), if they are messages that one socket for
// datagrams sends to addresses. (On a connected socket, an error of an earlier message would be lost.) It returns how
// many of them it has dealt with.
func (r *Ring) sendBatch(queued []uint32) int {
	first := r.entries.at(queued[0])
	if len(queued) < 2 || !r.sendsDatagram(first) {
		return 0
	}
	b, n := &r.several, 0
	for n < min(len(queued), maxBatch) {
		e := r.entries.at(queued[n])
		if n != 0 && (e.Fd != first.Fd || e.OpFlags != first.OpFlags || !r.sendsDatagram(e)) {
			break
		}
		b.messages[n].Msghdr = *(*unix.Msghdr)(pointer(&e.Addr))
		n++
	}
	if n < 2 {
		return 0
	}
	sent := raw(unix.SYS_SENDMMSG, uintptr(first.Fd), uintptr(unsafe.Pointer(&b.messages)), uintptr(n),
		uintptr(first.OpFlags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), 0, 0)
	for i := range max(sent, 0) {
		e := r.entries.at(queued[i])
		e.to(issued)
		r.sinceTurn += int(b.messages[i].Len)
		r.finish(e, int32(b.messages[i].Len), 0)
	}
	for i := range n {
		b.messages[i].Msghdr = unix.Msghdr{} // it would keep the caller's memory alive
	}
	return max(sent, 0)
}

// sendsDatagram reports whether a queued entry sends a message to an address from a socket for datagrams that has room.
func (r *Ring) sendsDatagram(e *entry) bool {
	if e.Opcode != uring.OpSendmsg || e.Flags != 0 || e.Personality != 0 || e.Ioprio != 0 || e.Addr == 0 ||
		e.badAddress() {
		return false
	}
	f := r.files.find(e.Fd)
	return f != nil && f.phase == polled && f.kind == datagrams && f.out.head == 0 && f.output == outputOpen &&
		!f.is(closeRequested) && (*unix.Msghdr)(pointer(&e.Addr)).Namelen != 0
}
