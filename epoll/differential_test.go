package epoll

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// FuzzDifferential runs programs of entries and of what the peers do on the kernel's ring and on this
// package's, and demands the same completions of both.
//
// A program is a sequence of steps, three bytes each: what, on which endpoint, with which argument. It
// is run in two worlds that are alike but for the ring. After each step both run until nothing comes
// any more, so that no step races with the one before; steps of which the kernel leaves the outcome
// open (two receives on one endpoint, say) are left out.
func FuzzDifferential(f *testing.F) {
	if _, err := uring.Probe(); err != nil {
		f.Skipf("no io_uring to compare with: %v", err)
	}
	for what := range byte(steps) {
		for end := range byte(endpoints) {
			f.Add([]byte{provideAll, 0, 0, what, end, 5, peerWrite, end, 70, what, end, 200, cancelEnd, end, 0})
			f.Add([]byte{what, end, 9, peerShut, end, 0, what, end, 9, provideAll, 0, 0, what, end, 0, peerClose, end, 1, what, end, 0})
		}
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 3*64 {
			return
		}
		d := &differential{T: t}
		d.worlds[0] = newWorld(t, newEpoll(t, Config{Entries: 4, BatchBytes: 100}))
		d.worlds[1] = newWorld(t, newKernel(t))
		d.run(program)
	})
}

// The endpoints of a world. The ring works on the near end, the peer has the far one.
const (
	unixA = iota
	unixB
	tcpA
	tcpB
	datagram
	pipeRead
	pipeWrite
	listener
	dialer // a socket that is not connected yet
	endpoints
)

// The steps.
const (
	recv = iota
	recvSelect
	recvMulti
	recvLimit
	recvMsg
	send
	sendBig
	sendMsg
	accept
	acceptMulti
	connect
	shutdown
	poll
	pollMulti
	read
	write
	cancelOne
	cancelEnd
	cancelOp
	closeNear
	provideAll
	peerWrite
	peerRead
	peerShut
	peerClose
	steps
)

// outcome is what is compared of a completion.
type outcome struct {
	res   int32
	flags uint32
	more  string // the bytes received
}

// pending is an entry that has not completed, or has.
type pending struct {
	op   int
	end  int
	into []byte
	done bool
}

// world is a ring with its endpoints.
type world struct {
	*rig
	near, far [endpoints]int // −1: closed
	addr      unix.Sockaddr
	shut      [endpoints]bool // by either side
	sent      [endpoints]int  // bytes that completions of sends report
	got       [endpoints]int  // of them, read by the peer
	log       map[uint64][]outcome
	all       map[uint64]*pending
	spare     []uint16 // buffers that completions have named
	peers     int      // connections to the listener
	read      []byte   // what the peers have read
}

func newWorld(t *testing.T, r ring) *world {
	w := &world{rig: newRig(t, r), log: map[uint64][]outcome{}, all: map[uint64]*pending{}}
	for i := range uint16(bufCount) {
		w.spare = append(w.spare, i)
	}
	for _, e := range []int{unixA, unixB} {
		w.near[e], w.far[e] = w.pair(unix.SOCK_STREAM)
		w.narrow(w.near[e], w.far[e])
	}
	for _, e := range []int{tcpA, tcpB} {
		w.near[e], w.far[e] = w.tcp()
		w.check(unix.SetsockoptInt(w.far[e], unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	}
	w.near[datagram], w.far[datagram] = w.pair(unix.SOCK_DGRAM)
	w.near[pipeRead], w.far[pipeRead] = w.pipe()
	w.far[pipeWrite], w.near[pipeWrite] = w.pipe()
	w.near[listener], w.addr = w.listen()
	w.far[listener] = -1
	w.near[dialer], w.far[dialer] = w.socket(), -1
	for _, fd := range w.far {
		if fd >= 0 {
			w.check(unix.SetNonblock(fd, true))
		}
	}
	// Thousands of programs a second would leave no port out of TIME_WAIT.
	t.Cleanup(func() {
		for _, fd := range w.fds {
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		}
	})
	return w
}

// differential is a run of one program in two worlds.
type differential struct {
	*testing.T
	worlds [2]*world
	text   []string // the steps taken, to be read by people
}

func (d *differential) run(program []byte) {
	for ; len(program) >= 3; program = program[3:] {
		what, end, arg := int(program[0])%steps, int(program[1])%endpoints, int(program[2])
		if !d.worlds[0].allowed(what, end, arg) {
			continue
		}
		d.text = append(d.text, fmt.Sprintf("%s(%s, %d)", stepNames[what], endNames[end], arg))
		for _, w := range d.worlds {
			w.step(what, end, arg)
		}
		d.settle()
	}
	for end := range endpoints {
		d.text = append(d.text, fmt.Sprintf("final cancelEnd(%s)", endNames[end]))
		for _, w := range d.worlds {
			if w.near[end] >= 0 {
				w.cancelEnd(end)
			}
		}
		d.settle()
	}
	if string(d.worlds[0].read) != string(d.worlds[1].read) {
		d.Fatalf("the peers have read something else:\n%q\n%q", d.worlds[0].read, d.worlds[1].read)
	}
}

var (
	stepNames = [steps]string{
		"recv", "recvSelect", "recvMulti", "recvLimit", "recvMsg", "send", "sendBig", "sendMsg", "accept", "acceptMulti", "connect",
		"shutdown", "poll", "pollMulti", "read", "write", "cancelOne", "cancelEnd", "cancelOp", "closeNear",
		"provideAll", "peerWrite", "peerRead", "peerShut", "peerClose",
	}
	endNames = [endpoints]string{"unixA", "unixB", "tcpA", "tcpB", "datagram", "pipeRead", "pipeWrite", "listener", "dialer"}
)

// settle runs both worlds until they agree and nothing comes any more.
func (d *differential) settle() {
	deadline := time.Now().Add(3 * time.Second)
	for still := 0; still < 3; {
		moved := false
		for _, w := range d.worlds {
			moved = w.pump() || moved
		}
		switch same := d.same(); {
		case moved || !same:
			still = 0
			if !same {
				runtime.Gosched()
			}
		default:
			still++
		}
		if time.Now().After(deadline) {
			d.report()
		}
	}
}

func (d *differential) same() bool {
	a, b := d.worlds[0], d.worlds[1]
	if len(a.log) != len(b.log) {
		return false
	}
	for ud := range a.all {
		if !slices.Equal(a.log[ud], b.log[ud]) {
			return false
		}
	}
	return true
}

func (d *differential) report() {
	for _, s := range d.text {
		d.Log(s)
	}
	for ud := uint64(1); ud < d.worlds[0].next; ud++ {
		a, b := d.worlds[0].log[ud], d.worlds[1].log[ud]
		if p := d.worlds[0].all[ud]; p != nil && !slices.Equal(a, b) {
			d.Errorf("entry %d, %s(%s):\n  epoll %+v\n  uring %+v", ud, stepNames[p.op], endNames[p.end], a, b)
		}
	}
	d.FailNow()
}

// busy reports whether an entry of the direction is in flight on an endpoint.
func (w *world) busy(end int, in bool) bool {
	for _, p := range w.all {
		if !p.done && p.end == end && p.op != poll && p.op != pollMulti && isIn(p.op) == in {
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
	return op == recv || op == recvSelect || op == recvMulti || op == recvLimit || op == recvMsg || op == accept || op == acceptMulti || op == read
}

// allowed reports whether the outcome of a step is determined.
func (w *world) allowed(what, end, arg int) bool {
	switch what {
	case recv, recvSelect, recvMulti, recvLimit, recvMsg, accept, acceptMulti, read:
		if what == recvSelect && arg >= 128 && (end == pipeRead || end == pipeWrite) {
			return false // the kernel waits, to find only then that it is not a socket
		}
		if what == recvSelect && end == datagram && w.shut[end] {
			return false // done by a worker thread of the kernel's, which lets the end carry a buffer
		}
		return w.near[end] >= 0 && !w.busy(end, true) &&
			(end != listener || what == accept || what == acceptMulti)
	case send, sendMsg, write:
		// With nothing more to receive the kernel takes a full socket for ready, and blocks a worker
		// thread.
		return w.near[end] >= 0 && !w.busy(end, false) && (!w.shut[end] || w.sent[end] == w.got[end])
	case sendBig:
		return w.near[end] >= 0 && !w.busy(end, false) && !w.shut[end] && (end == unixA || end == unixB || end == pipeWrite)
	case connect:
		return end == dialer && w.near[end] >= 0 && !w.busy(end, false) && w.near[listener] >= 0
	case shutdown:
		switch {
		case w.near[end] < 0 || w.busy(end, false):
			return false
		case w.busy(end, true) && (end == datagram || len(w.spare) == bufCount):
			return false // spurious wake-ups make a difference to the kernel here
		case end == listener && w.watched(end):
			return false // the kernel reports no event at all
		}
	case poll, pollMulti, closeNear, cancelOp, cancelEnd:
		return w.near[end] >= 0
	case peerWrite:
		if end == listener {
			return w.peers < 20 && w.near[end] >= 0
		}
		return w.near[end] >= 0 && w.far[end] >= 0 && !w.shut[end] && end != pipeWrite
	case peerShut:
		return w.near[end] >= 0 && w.far[end] >= 0 && !w.shut[end] && end < datagram && !w.busy(end, false)
	case peerRead, peerClose:
		return w.near[end] >= 0 && w.far[end] >= 0
	}
	return true
}

// add pushes an entry.
func (w *world) add(op, end int, into []byte, prep func(*uring.SQE)) {
	w.all[w.next] = &pending{op: op, end: end, into: into}
	w.push(prep)
}

var recvFlags = []int{0, 0, 0, unix.MSG_WAITALL, unix.MSG_DONTWAIT, unix.MSG_PEEK}

// step takes one step.
func (w *world) step(what, end, arg int) {
	fd := w.near[end]
	flags := recvFlags[arg%len(recvFlags)]
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
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepRecvMultishot(fd, 0, flags&unix.MSG_WAITALL) })
	case recvLimit:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepRecvMultishot(fd, 0, 0); s.LimitRecv(uint32(arg)) })
	case recvMsg:
		h := header(w.rig, into[:arg/3], into[arg/3:])
		w.add(what, end, into, func(s *uring.SQE) { s.PrepRecvmsg(fd, h, flags) })
	case send, sendBig, sendMsg, write, shutdown, connect, closeNear:
		w.stepOut(what, end, arg)
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
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepCancel(target, 0) })
	case cancelEnd:
		w.cancelEnd(end)
	case cancelOp:
		op := []uring.Op{uring.OpRecv, uring.OpPollAdd, uring.OpSend, uring.OpAccept}[arg%4]
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepCancelFd(fd, uring.CancelAll|uring.CancelOp); s.Len = uint32(op) })
	case provideAll:
		for _, id := range w.spare {
			w.ProvideBuffer(0, id)
		}
		w.spare = nil
	default:
		w.peer(what, end, arg)
	}
}

func (w *world) cancelEnd(end int) {
	fd := w.near[end]
	w.add(cancelEnd, end, nil, func(s *uring.SQE) { s.PrepCancelFd(fd, uring.CancelAll) })
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
	case shutdown:
		w.shut[end] = true
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepShutdown(fd, arg%3) })
	case connect:
		sa, n := sockaddr(w.rig, w.addr)
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepConnect(fd, sa, n) })
	case closeNear:
		w.add(what, end, nil, func(s *uring.SQE) { s.PrepClose(fd) })
		w.near[end] = -1
	}
}

// peer is a step of the other side. What it does has arrived at the near end when it returns.
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
		before := w.queued(end)
		n, err := unix.Write(fd, pattern(w.rig, arg))
		if err == nil && (end == tcpA || end == tcpB) {
			w.until(func() bool { return w.queued(end) >= before+n || w.polls(end, unix.POLLERR|unix.POLLHUP) })
		}
	case peerRead:
		w.drain(end)
	case peerShut:
		w.shut[end] = true
		_ = unix.Shutdown(fd, unix.SHUT_WR)
		w.until(func() bool { return end == datagram || w.polls(end, unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) })
	case peerClose:
		if arg&1 != 0 && (end == tcpA || end == tcpB) {
			w.check(unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
		}
		w.far[end] = -1
		w.check(unix.Close(fd))
		w.fds = slices.DeleteFunc(w.fds, func(x int) bool { return x == fd })
		w.until(func() bool { return end == datagram || w.polls(end, unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) })
	}
}

// until waits for the network.
func (w *world) until(done func() bool) {
	for deadline := time.Now().Add(3 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			w.Fatal("what the peer did does not arrive")
		}
	}
}

// queued is how many bytes wait at the near end.
func (w *world) queued(end int) int {
	n, _ := unix.IoctlGetInt(w.near[end], unix.TIOCINQ)
	return n
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
	return moved
}

func (w *world) note(c uring.CQE) {
	p := w.all[c.UserData]
	if p == nil || p.done {
		w.Fatalf("%+v: nobody asked for it", c)
	}
	o := outcome{res: c.Res, flags: c.Flags & (more | picked)}
	if id, ok := c.BufferID(); ok {
		o.more = w.buffer(c)
		w.spare = append(w.spare, id)
		clear(w.mem[int(id)*bufSize:][:bufSize])
	} else if p.into != nil && c.Res > 0 {
		o.more = string(p.into[:min(int(c.Res), len(p.into))])
	}
	switch {
	case (p.op == accept || p.op == acceptMulti) && c.Res >= 0:
		w.open(int(c.Res))
		o.res = 0
	case (p.op == send || p.op == sendBig || p.op == sendMsg || p.op == write) && c.Res > 0:
		w.sent[p.end] += int(c.Res)
	}
	if (p.op == poll || p.op == pollMulti) && c.Res > 0 {
		o.res &^= unix.POLLERR // a receive that is woken along with the poll may take the error first
	}
	p.done = !c.More()
	log := w.log[c.UserData]
	if p.op == pollMulti && len(log) != 0 && log[len(log)-1] == o {
		return // how many events one report stands for is open
	}
	w.log[c.UserData] = append(log, o)
}
