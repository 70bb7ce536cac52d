package simring

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// socketOperations are the operations of sockets.
var socketOperations = map[uring.Op]operation{
	uring.OpAccept:    {try: (*entry).accept},
	uring.OpConnect:   {try: (*entry).connect},
	uring.OpRecv:      {try: (*entry).recv, wait: unix.POLLIN},
	uring.OpRecvmsg:   {try: (*entry).recv, wait: unix.POLLIN},
	uring.OpSend:      {try: (*entry).send, wait: unix.POLLOUT},
	uring.OpSendmsg:   {try: (*entry).send, wait: unix.POLLOUT},
	uring.OpSendZC:    {try: (*entry).send, wait: unix.POLLOUT},
	uring.OpSendmsgZC: {try: (*entry).send, wait: unix.POLLOUT},
}

// onSocket returns the entry's socket. If the file is no socket, it fails the entry and returns nil.
func (e *entry) onSocket() socket {
	s, ok := e.file.object.(socket)
	if !ok {
		e.fail(unix.ENOTSOCK)
	}
	return s
}

func (e *entry) accept() {
	for e.state != completed {
		n, _ := e.file.accept(int(e.OpFlags))
		if n >= 0 && e.ring.k.flawed(LoseAccepts) {
			n = -int(unix.ECONNABORTED)
		}
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
	s := e.onSocket()
	if s == nil {
		return
	}
	if !e.connecting {
		a, errno := decode(memory(e.Addr, int(e.Off)))
		if binary.NativeEndian.Uint16(memory(e.Addr, 2)) == unix.AF_UNSPEC {
			a, errno = address{}, 0
		}
		if errno == 0 {
			errno = s.connect(a)
		}
		switch {
		case errno == unix.EAGAIN && !e.file.nonblocking(): // a unix socket's: no room in the backlog
			e.wait()
			return
		case errno != unix.EINPROGRESS:
			e.fail(errno)
			return
		}
		e.connecting = true
		return
	}
	if errno, ok := s.outcome(); ok {
		if errno != 0 && e.ring.k.chance(e.ring.k.Odds.SilentConnectError) {
			s.base().err, errno = errno, 0
		}
		e.fail(errno)
	}
}

func (e *entry) recv() {
	s := e.onSocket()
	for s != nil && e.state != completed {
		r := receive{e: e, s: s}
		if !r.room() {
			return
		}
		n := s.recv(r.msg, e.moved)
		switch {
		case n == -int(unix.EAGAIN) && e.OpFlags&unix.MSG_DONTWAIT != 0:
			e.fail(unix.EAGAIN)
			return
		case n == -int(unix.EAGAIN):
			e.wait()
			return
		}
		if n > 0 && e.incomplete(s, r.msg, n) {
			continue
		}
		res, flags := r.result(n)
		if t, ok := s.(*tcp); ok && t.in.len() != 0 {
			flags |= uring.CQESockNonempty
		}
		if n <= 0 || e.Ioprio&uring.RecvMultishot == 0 || e.limitReached(n) {
			e.finish(res, flags)
			return
		}
		e.item(res, flags)
	}
}

// incomplete reports whether a receive with MSG_WAITALL has not filled its buffer yet. It counts the n bytes.
func (e *entry) incomplete(s socket, m *message, n int) bool {
	const all = unix.MSG_WAITALL
	if m.flags&(all|unix.MSG_PEEK) != all || s.base().kind == unix.SOCK_DGRAM || e.Flags&uring.SQEBufferSelect != 0 {
		return false
	}
	if e.moved+n >= m.size() || len(m.files) != 0 {
		return false
	}
	e.moved += n
	return true
}

// receive is one attempt to receive.
type receive struct {
	e      *entry
	s      socket
	msg    *message
	group  *group
	index  int // of the buffer among those that are free
	buffer []byte
}

// room finds memory for a receive: the entry's own, or a provided buffer. False: there is no memory, and the entry has
// failed.
func (r *receive) room() bool {
	e := r.e
	flags := int(e.OpFlags)
	if e.Flags&uring.SQEBufferSelect == 0 {
		if e.Opcode == uring.OpRecvmsg {
			r.msg = incoming(header(e.Addr), flags)
		} else {
			r.msg = plain(memory(e.Addr, int(e.Len)), flags)
		}
		return true
	}
	var ok bool
	if r.group, r.index, r.buffer, ok = e.choose(); !ok {
		return false
	}
	switch {
	case e.Opcode != uring.OpRecvmsg:
		if e.Len != 0 && int(e.Len) < len(r.buffer) {
			r.buffer = r.buffer[:e.Len]
		}
		r.msg = plain(r.buffer, flags)
	case e.Ioprio&uring.RecvMultishot != 0:
		h := header(e.Addr)
		_, _, payload := out(r.buffer, h)
		if payload == nil {
			e.fail(unix.EFAULT)
			return false
		}
		r.msg = plain(payload, flags)
		r.msg.rights = roomForRights(int(h.Controllen))
	default:
		h := header(e.Addr)
		if h.Iovlen == 1 && int(h.Iov.Len) < len(r.buffer) {
			r.buffer = r.buffer[:h.Iov.Len]
		}
		r.msg = plain(r.buffer, flags)
		r.msg.rights = roomForRights(int(h.Controllen))
	}
	return true
}

// choose chooses one of the provided buffers. False: no buffer is free, and the entry has failed.
func (e *entry) choose() (g *group, index int, buffer []byte, ok bool) {
	k := e.ring.k
	g = e.ring.groups[e.BufIndex]
	if g == nil || len(g.free) == 0 || k.chance(k.Odds.NoBuffer) {
		e.fail(unix.ENOBUFS)
		return nil, 0, nil, false
	}
	index = k.rng.IntN(len(g.free))
	return g, index, g.bytes(g.free[index]), true
}

// result returns the completion of a receive that returned n: a count or a negative errno.
func (r *receive) result(n int) (res int, flags uint32) {
	e, k := r.e, r.e.ring.k
	family := r.s.base().family
	multishot := e.Ioprio&uring.RecvMultishot != 0
	if n < 0 {
		return n, 0
	}
	switch {
	case e.Opcode == uring.OpRecvmsg && multishot:
		n = k.tellOut(r.buffer, header(e.Addr), r.msg, n, family)
	case e.Opcode == uring.OpRecvmsg:
		k.tell(header(e.Addr), r.msg, family)
	}
	k.unref(r.msg.files...) // there was no room for them
	if n != 0 && r.group != nil {
		flags = r.group.take(k, r.index)
	}
	return e.moved + n, flags
}

// limitReached counts n bytes towards the limit of a multishot receive, if it has one.
func (e *entry) limitReached(n int) bool {
	switch {
	case e.FileIndex == 0 || e.Opcode != uring.OpRecv:
		return false
	case n >= int(e.FileIndex):
		return true
	}
	e.FileIndex -= int32(n)
	return false
}

// outgoing reads what the entry sends. It is called once for each entry.
func (e *entry) outgoing() unix.Errno {
	k := e.ring.k
	var errno unix.Errno
	switch e.Opcode {
	case uring.OpSendmsg, uring.OpSendmsgZC:
		e.msg, errno = k.outgoing(header(e.Addr), int(e.OpFlags))
		return errno
	}
	p := memory(e.Addr, int(e.Len))
	e.msg = plain(p, int(e.OpFlags))
	if e.Off != 0 {
		e.msg.named = true
		e.msg.name, errno = decode(memory(e.Off, int(uint16(e.FileIndex))))
	}
	return errno
}

// sender returns the socket to send on, and reads e.msg. Where that fails, it fails the entry and returns nil.
func (e *entry) sender() socket {
	s := e.onSocket()
	if s == nil {
		return nil
	}
	if e.msg == nil {
		if errno := e.outgoing(); errno != 0 {
			e.fail(errno)
			return nil
		}
	}
	if e.zeroCopy() && s.base().family == unix.AF_UNIX {
		e.fail(unix.EOPNOTSUPP)
		return nil
	}
	return s
}

func (e *entry) send() {
	s := e.sender()
	if s == nil {
		return
	}
	k, total := e.ring.k, e.msg.size()
	all := e.OpFlags&unix.MSG_WAITALL != 0 && s.base().kind != unix.SOCK_DGRAM
	mayWait := e.OpFlags&unix.MSG_DONTWAIT == 0
	for {
		n := s.send(e.msg, e.moved)
		e.moved += max(n, 0)
		switch {
		case n == -int(unix.EAGAIN) && mayWait && (e.moved == 0 || all):
			if b := s.base(); b.family == unix.AF_UNIX && b.kind == unix.SOCK_DGRAM {
				e.msg.pieces = nil // unix_dgram_sendmsg() has taken them before it finds no room
			}
			e.awaitRoom()
		case n < 0: // if a part was sent before, the error is never reported
			e.finish(n, 0)
		case e.moved < total && all && !k.chance(k.Odds.ShortTransfer):
			continue
		case k.Odds.Flaw == UnderreportSend && e.moved > 1 && e.moved < total:
			e.finish(e.moved-1, 0)
		default:
			e.finish(e.moved, 0)
		}
		return
	}
}

func (e *entry) zeroCopy() bool { return e.Opcode == uring.OpSendZC || e.Opcode == uring.OpSendmsgZC }

// usageCopied says in a notification that the bytes were copied after all: IORING_NOTIF_USAGE_ZC_COPIED.
const usageCopied = 1 << 31

// notify makes the second completion of a zero-copy send, when its memory is no longer read. Until then the memory must
// not have changed.
func (e *entry) notify() {
	r := e.ring
	k := r.k
	var before []byte
	if e.msg != nil {
		before = append(before, e.msg.bytes(0)[:e.moved]...)
	}
	res := uint32(0)
	if e.Ioprio&uring.SendZCReportUsage != 0 && k.rng.IntN(2) == 0 {
		res = usageCopied
	}
	if k.Odds.Flaw == LoseNotifications && k.chance(0.2) {
		return
	}
	r.held++
	k.soon(func() {
		r.held--
		if e.msg != nil && string(before) != string(e.msg.bytes(0)[:e.moved]) {
			k.Errorf("simring: the memory of a zero-copy send was changed before its notification: %s", Describe(&e.SQE))
		}
		r.post(e, int32(res), uring.CQENotif)
	})
}
