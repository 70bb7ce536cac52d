//go:build linux

package epoll

import (
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// busy reports whether an entry of the direction is in flight on an endpoint.
func (w *world) busy(end int, in bool) bool {
	for _, p := range w.all {
		if !p.done && p.end == end && p.op != poll && p.op != pollMulti && isIn(p.op) == in {
			return true
		}
	}
	return false
}

// receives reports whether an entry of one kind is in flight on an endpoint.
func (w *world) receives(end, op int) bool {
	for _, p := range w.all {
		if !p.done && p.end == end && p.op == op {
			return true
		}
	}
	return false
}

func (w *world) watched(end int) bool {
	for _, p := range w.all {
		if !p.done && p.end == end && (p.op == poll || p.op == pollMulti) {
			return true
		}
	}
	return false
}

func isIn(op int) bool {
	switch op {
	case recv, recvSelect, recvMulti, recvLimit, recvMsg, recvMsgMulti, recvNamed, recvOOB, accept, acceptMulti, read:
		return true
	}
	return false
}

// hasBoundaries reports whether an end has message boundaries and no connection to end.
func hasBoundaries(end int) bool {
	return end == datagram || end == udp || end == udpFree || end == queue
}

// allowed reports whether the outcome of a step is determined.
func (w *world) allowed(what, end, arg int) bool {
	if end == dialer && w.refused {
		return what == closeNear && w.near[end] >= 0 // after an error it can only be closed
	}
	switch what {
	case recv, recvSelect, recvMulti, recvLimit, recvMsg, recvMsgMulti, recvNamed, accept, acceptMulti, read:
		if what == recvSelect && arg >= 128 && (end == pipeRead || end == pipeWrite || end == dialer) {
			return false // the kernel waits, to find only then that it cannot receive
		}
		if what == recvSelect && arg >= 128 && w.shut[end] {
			return false // any wake-up, be there something or not, makes the kernel look for a buffer
		}
		if (what == recvSelect || what == recvMsgMulti) && hasBoundaries(end) && w.shut[end] {
			return false // done by a worker thread of the kernel's, which lets the end carry a buffer
		}
		if what == recvMsgMulti && hasBoundaries(end) && w.empty[end] {
			return false // an empty datagram is the last one of the kernel's, and one of many of this ring's
		}
		return w.near[end] >= 0 && !w.busy(end, true) && !w.urgent[end] &&
			(end != listener || what == accept || what == acceptMulti)
	case sendNow, sendMsgNow:
		return w.near[end] >= 0 && !w.busy(end, false)
	case send, sendMsg, write, sendTo, sendZC, sendMsgZC:
		if end == queue {
			return false // when the queue is full, the kernel sends an empty datagram later
		}
		// If there is nothing more to receive, the kernel takes a full socket for ready, and blocks a worker thread.
		return w.near[end] >= 0 && !w.busy(end, false) && (!w.shut[end] || w.sent[end] == w.got[end])
	case sendBig:
		return w.near[end] >= 0 && !w.busy(end, false) && !w.shut[end] &&
			(end == unixA || end == unixB || end == pipeWrite)
	case connect:
		return end == dialer && w.near[end] >= 0 && !w.busy(end, false) && w.near[listener] >= 0 &&
			!(w.answeredByICMP(arg) && w.watched(end))
	case shutdown:
		switch {
		case w.near[end] < 0 || w.busy(end, false):
			return false
		case w.busy(end, true) && (hasBoundaries(end) || len(w.spare) == bufCount):
			return false // spurious wake-ups make a difference to the kernel here
		case (end == listener || end == dialer) && w.watched(end):
			return false // the kernel reports no event at all
		}
	case recvOOB:
		return w.near[end] >= 0 && !w.busy(end, true) && !w.watched(end) && !(hasBoundaries(end) && w.shut[end])
	case poll, pollMulti:
		for _, p := range w.all {
			if !p.done && p.end == end && p.op == recvOOB {
				return false // which of them sees it first is open
			}
		}
		return w.near[end] >= 0
	case closeNear, cancelEnd:
		return w.near[end] >= 0
	case listen:
		return end != listener && w.near[end] >= 0 && !w.busy(end, true) && !w.busy(end, false)
	case peerUrgent:
		return w.near[end] >= 0 && w.far[end] >= 0 && !w.shut[end] && (end == tcpA || end == tcpB) &&
			!w.watched(end) && !w.busy(end, true)
	case peerPass:
		return w.near[end] >= 0 && w.far[end] >= 0 && !w.shut[end] &&
			(end == unixA || end == unixB || end == datagram || end == seqpacket)
	case peerWrite:
		if end == queue {
			return false // it has no name
		}
		if end == listener {
			return w.peers < 20 && w.near[end] >= 0
		}
		return w.near[end] >= 0 && w.far[end] >= 0 && !w.shut[end] && end != pipeWrite
	case peerShut:
		return w.near[end] >= 0 && w.far[end] >= 0 && !w.shut[end] && (end < datagram || end == seqpacket) &&
			!w.busy(end, false)
	case peerRead, peerClose:
		return w.near[end] >= 0 && w.far[end] >= 0
	}
	return true
}

// answeredByICMP: the step is a connect that is answered by ICMP.
func (w *world) answeredByICMP(arg int) bool { return arg%4 == 3 && !w.used }

// faultyTimestamps are IP options, a timestamp for which there is no room, that setsockopt(2) takes and the receiver
// does not: it answers what carries them with an ICMP message, on the loopback interface inside of connect(2).
const faultyTimestamps = "\x44\x0a\x05\x00\x00\x00\x00\x00\x00\x00"

// add pushes an entry.
func (w *world) add(op, end int, into []byte, prep func(*uring.SQE)) {
	w.all[w.next] = &pending{op: op, end: end, into: into}
	w.push(prep)
}

var (
	recvFlags = []int{0, 0, 0, unix.MSG_WAITALL, unix.MSG_DONTWAIT, unix.MSG_PEEK, unix.MSG_TRUNC}
	// rareFlags are those of large arguments.
	rareFlags = []int{unix.MSG_PEEK | unix.MSG_TRUNC, unix.MSG_PEEK | unix.MSG_DONTWAIT,
		unix.MSG_WAITALL | unix.MSG_DONTWAIT}
)

// step takes one step.
func (w *world) step(what, end, arg int) {
	fd := w.near[end]
	flags := recvFlags[arg%len(recvFlags)]
	many := flags & unix.MSG_WAITALL
	if arg >= 224 {
		flags = rareFlags[arg%len(rareFlags)]
		many = flags &^ unix.MSG_DONTWAIT
	}
	into := w.bytes(arg)
	switch what {
	case recv:
		w.add(what, end, into, recvTo(fd, into, flags))
	case recvSelect:
		w.add(what, end, nil, func(s *uring.SQE) {
			s.PrepRecvSelect(fd, 0, uint32(arg%100), flags)
			s.Ioprio = uint16(arg>>7) * uring.RecvsendPollFirst
		})
	case recvMulti:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepRecvMultishot(fd, 0, many) })
	case recvLimit:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepRecvMultishot(fd, 0, 0); s.LimitRecv(uint32(arg)) })
	case recvMsg:
		h := header(w.rig, into[:arg/3], into[arg/3:])
		w.add(what, end, into, func(s *uring.SQE) { s.PrepRecvmsg(fd, h, flags) })
	case send, sendBig, sendMsg, write, shutdown, connect, closeNear, sendTo, sendZC, sendMsgZC, sendNow, sendMsgNow,
		listen:
		w.stepOut(what, end, arg)
	case recvMsgMulti:
		name, control := arg%3*14, arg%2*24
		h := w.multiHeader(name, control)
		w.add(what, end, nil, func(s *uring.SQE) {
			s.PrepRecvmsgMultishot(fd, 0, h, flags&(unix.MSG_TRUNC|unix.MSG_PEEK))
		})
		w.all[w.next-1].name = name
	case recvNamed:
		m := w.named(into)
		w.add(what, end, into, func(s *uring.SQE) {
			s.PrepRecvmsg(fd, unsafe.Pointer(&m.header), flags|unix.MSG_CMSG_CLOEXEC)
		})
		w.all[w.next-1].msg = m
	case recvOOB:
		w.add(what, end, into, recvTo(fd, into, []int{unix.MSG_OOB, unix.MSG_ERRQUEUE}[arg&1]))
	case accept:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepAccept(fd, unix.SOCK_CLOEXEC) })
	case acceptMulti:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepAcceptMultishot(fd, unix.SOCK_CLOEXEC) })
	case poll:
		events := []uint32{unix.POLLIN, unix.POLLOUT, unix.POLLPRI, unix.POLLIN}[arg%4]
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepPollAdd(fd, events) })
	case pollMulti:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepPollMultishot(fd, unix.POLLIN) })
	case read:
		w.add(what, end, into, func(s *uring.SQE) { s.PrepRead(fd, ptr(into), uint32(arg), 0) })
	case cancelOne:
		target := w.next - min(uint64(arg), w.next)
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepCancel(target) })
	case cancelEnd:
		w.cancelEnd(end)
	case provideAll:
		for _, id := range w.spare {
			w.ProvideBuffer(0, id)
		}
		w.spare = nil
	default:
		w.peer(what, end, arg)
	}
}

// cancelEnd cancels every entry in flight on an endpoint.
func (w *world) cancelEnd(end int) {
	for target, last := uint64(1), w.next; target < last; target++ {
		if p := w.all[target]; p != nil && !p.done && p.end == end {
			w.add(cancelEnd, end, nil, func(s *uring.SQE) { s.PrepCancel(target) })
		}
	}
}

// stepOut is step for what changes the world outside the ring.
func (w *world) stepOut(what, end, arg int) {
	fd := w.near[end]
	data := pattern(w.rig, arg)
	switch what {
	case send:
		w.add(what, end, nil, sendFrom(fd, data, unix.MSG_WAITALL*(arg&1)))
	case sendBig:
		data = pattern(w.rig, 300<<10)
		if end == pipeWrite {
			w.add(write, end, nil, func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), uint32(len(data)), 0) })
			return
		}
		w.add(what, end, nil, sendFrom(fd, data, unix.MSG_WAITALL*(arg&1)))
	case sendMsg:
		h := header(w.rig, data[:arg/2], data[arg/2:])
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepSendmsg(fd, h, 0) })
	case write:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), uint32(arg), 0) })
	case sendTo:
		sa, n := sockaddr(w.rig, w.freeAddr)
		w.add(what, end, nil, func(s *uring.SQE) {
			sendFrom(fd, data, unix.MSG_WAITALL*(arg&1))(s)
			s.To(sa, uint16(n))
		})
	case sendZC:
		w.add(what, end, nil, func(s *uring.SQE) {
			s.PrepSendZC(fd, ptr(data), uint32(arg), 0, uring.SendZCReportUsage*uint16(arg&1))
			if end == udpFree {
				s.To(sockaddr16(w.rig, w.freeAddr))
			}
		})
	case sendNow:
		w.add(what, end, nil, sendFrom(fd, data, unix.MSG_DONTWAIT))
	case sendMsgNow:
		h := header(w.rig, data[:arg/2], data[arg/2:])
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepSendmsg(fd, h, unix.MSG_DONTWAIT) })
	case sendMsgZC:
		h := header(w.rig, data[:arg/2], data[arg/2:])
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepSendmsgZC(fd, h, 0, uring.SendZCReportUsage*uint16(arg&1)) })
	case listen:
		w.used = w.used || end == dialer
		_ = unix.Listen(fd, arg%10)
	case shutdown:
		w.shut[end] = true
		_ = unix.Shutdown(fd, arg%3)
	case connect:
		if w.refused = w.answeredByICMP(arg); w.refused {
			w.check(unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, faultyTimestamps))
		}
		w.used = true
		sa, n := sockaddr(w.rig, w.addr)
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepConnect(fd, sa, n) })
	case closeNear:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepClose(fd) })
		w.near[end], w.closed[end] = -1, fd
	}
}

// peer takes a step of the other side. Its effect has arrived at the near end when it returns.
func (w *world) peer(what, end, arg int) {
	fd := w.far[end]
	switch what {
	case peerWrite:
		if end == listener {
			fd := w.socket()
			if unix.Connect(fd, w.addr) == nil {
				w.peers++
				w.until(func() bool { return w.polls(end, unix.POLLIN) })
			}
			return
		}
		before := 0
		if end == tcpA || end == tcpB {
			before = w.arrived(end)
		}
		size := arg
		if (hasBoundaries(end) || end == seqpacket) && arg%5 == 0 {
			size = 0
		}
		if size == 0 && hasBoundaries(end) {
			if w.receives(end, recvMsgMulti) {
				return
			}
			w.empty[end] = true
		}
		n, err := unix.Write(fd, pattern(w.rig, size))
		if err == nil && (end == tcpA || end == tcpB) {
			w.until(func() bool { return w.arrived(end) >= before+n || w.polls(end, unix.POLLERR|unix.POLLHUP) })
		}
	case peerUrgent:
		w.urgent[end] = true
		before := w.arrived(end)
		if unix.Sendto(fd, []byte{byte(arg)}, unix.MSG_OOB, nil) == nil {
			w.until(func() bool { return w.arrived(end) > before || w.polls(end, unix.POLLERR|unix.POLLHUP) })
		}
	case peerPass:
		w.pass(fd)
	case peerRead:
		w.drain(end)
	case peerShut:
		w.shut[end] = true
		_ = unix.Shutdown(fd, unix.SHUT_WR)
		w.until(func() bool { return hasBoundaries(end) || w.polls(end, unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) })
	case peerClose:
		if arg&1 != 0 && (end == tcpA || end == tcpB) {
			w.check(unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
		}
		w.far[end] = -1
		w.check(unix.Close(fd))
		w.fds = slices.DeleteFunc(w.fds, func(x int) bool { return x == fd })
		w.until(func() bool { return hasBoundaries(end) || w.polls(end, unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) })
	}
}

// until waits for the network.
func (w *world) until(done func() bool) {
	for deadline := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			w.Fatal("what the peer did does not arrive")
		}
	}
}

// arrived is how many bytes have ever come to the near end of a TCP connection.
func (w *world) arrived(end int) int {
	info, err := unix.GetsockoptTCPInfo(w.near[end], unix.IPPROTO_TCP, unix.TCP_INFO)
	w.check(err)
	return int(info.Bytes_received)
}

func (w *world) polls(end int, events int16) bool {
	p := []unix.PollFd{{Fd: int32(w.near[end]), Events: events}}
	n, _ := unix.Poll(p, 0)
	return n != 0
}

// drain reads what the near end has sent.
func (w *world) drain(end int) {
	b := make([]byte, 1<<20)
	for {
		n, err := unix.Read(w.far[end], b)
		if n > 0 && err == nil {
			w.read = append(w.read, b[:n]...)
			w.got[end] += n
			continue
		}
		if err == unix.EAGAIN && w.got[end] < w.sent[end] && (end == tcpA || end == tcpB) {
			runtime.Gosched() // reported as sent, so it comes
			continue
		}
		return
	}
}

// pump runs the ring once and logs what has completed.
func (w *world) pump() (moved bool) {
	w.check(w.Enter(0))
	for w.Pop(&w.cqe) {
		moved = true
		w.note(w.cqe)
	}
	if r, ok := w.ring.(*Ring); ok && r.files.anyReady() {
		return true // a batch has ended without a completion
	}
	return moved
}

func (w *world) note(c uring.CQE) {
	p := w.all[c.UserData]
	if p == nil || p.done {
		w.Fatalf("%+v: there is no such entry", c)
	}
	o := outcome{res: c.Res, flags: c.Flags & (more | picked | uring.CQENotif)}
	if p.op == connect && c.Res == 0 && w.near[p.end] >= 0 {
		// A program that connects has to ask for the error as well.
		errno, err := unix.GetsockoptInt(w.near[p.end], unix.SOL_SOCKET, unix.SO_ERROR)
		w.check(err)
		o.res = -int32(errno)
	}
	if id, ok := c.BufferID(); ok {
		buf := w.mem[int(id)*bufSize:][:bufSize]
		if o.more = string(buf[:min(int(c.Res), bufSize)]); p.op == recvMsgMulti && c.Res > 0 {
			o.more = multiText(buf[:min(int(c.Res), bufSize)], p.name)
		}
		w.spare = append(w.spare, id)
		clear(buf)
	} else if p.into != nil && c.Res > 0 {
		o.more = string(p.into[:min(int(c.Res), len(p.into))])
	}
	if p.msg != nil && c.Res >= 0 {
		o.more += p.msg.String()
	}
	switch {
	case (p.op == accept || p.op == acceptMulti) && c.Res >= 0:
		w.open(int(c.Res))
		o.res = 0
	case isSend(p.op) && c.Res > 0 && c.Flags&uring.CQENotif == 0 && (p.op != sendTo || p.end != udpFree):
		w.sent[p.end] += int(c.Res)
	}
	if (p.op == poll || p.op == pollMulti) && c.Res > 0 {
		o.res &^= unix.POLLERR // a receive that is woken along with the poll may take the error first
	}
	if p.op == closeNear && c.Res == 0 {
		fd := w.closed[p.end] // the number belongs to another file from now on
		w.fds = slices.DeleteFunc(w.fds, func(x int) bool { return x == fd })
	}
	p.done = !c.More()
	log := w.log[c.UserData]
	if p.op == pollMulti && c.More() && (o.res == 0 || len(log) != 0 && log[len(log)-1] == o) {
		return // how many events one report stands for is open
	}
	w.log[c.UserData] = append(log, o)
}

func isSend(op int) bool {
	switch op {
	case send, sendBig, sendMsg, write, sendTo, sendZC, sendMsgZC, sendNow, sendMsgNow:
		return true
	}
	return false
}
