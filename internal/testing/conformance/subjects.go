package conformance

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/seq"
)

// Each of the functions here puts one operation on the stage. blocked: it is to find nothing to do at
// once.

const hello = "hello"

// listener puts a TCP listener on the stage.
func listener(s *stage, x *subject) {
	socket := new(reactor.Socket)
	s.must(socket.OpenListener(s.loop, reactor.ListenConfig{Addr: addrPort(loopback)}))
	addr := s.address(socket.Fd())
	listening(s, x, socket, func() int { return s.own(s.dial(addr)) })
}

// listening makes what happens to a listener happen. dial connects to it.
func listening(s *stage, x *subject, socket *reactor.Socket, dial func() int) {
	s.sockets = append(s.sockets, socket)
	dialled := 0
	x.socket, x.waits = socket, true
	x.act = func() {
		dialled++
		dial()
	}
	x.end = func() { s.must(s.Shutdown(socket.Fd(), unix.SHUT_RD)) }
	x.reset = func() {
		dialled++
		p := peer{s: s, fd: dial()}
		p.reset()
	}
	x.intact = func() {
		accepted := len(x.items)
		for _, o := range x.results {
			if o.Channel == sendertest.OnValue {
				accepted++
			}
		}
		if x.sequence && accepted > len(x.items) {
			s.t.Error("a sequence of connections completed with a value")
		}
		if socket.Fd() < 0 {
			return
		}
		for {
			fd, _, err := s.Accept4(socket.Fd(), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			if err != nil {
				break
			}
			_ = s.Close(fd)
			accepted++
		}
		if accepted != dialled && x.last.Channel != sendertest.OnError {
			s.t.Errorf("%d connections were made, and %d are accepted or can be", dialled, accepted)
		}
	}
}

// takeFd takes an accepted descriptor over.
func (s *stage) takeFd(fd int) int {
	flags, err := s.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		s.t.Errorf("accepted descriptor %d: flags %#x, %v", fd, flags, err)
	}
	s.own(fd)
	return 1
}

// accept accepts from what on puts on the stage.
func accept(on func(*stage, *subject)) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s)}
		on(s, x)
		op := new(reactor.AcceptOp)
		x.socket.Accept().Connect(op, &receiver[int]{x.trace, s.takeFd})
		x.start = op.Start
		return x
	}
}

// acceptMany accepts with the credit given.
func acceptMany(on func(*stage, *subject), credit int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s), sequence: true}
		on(s, x)
		op := new(reactor.AcceptManyOp)
		x.socket.AcceptMany(credit).Connect(op, receiveItems(x.trace, s.takeFd))
		x.start = op.Start
		return x
	}
}

// connect connects to a listener, which has no room for another connection if blocked.
func connect(s *stage, blocked bool) *subject {
	x := &subject{trace: newTrace(s), waits: blocked}
	backlog := 8
	if blocked {
		backlog = 0
	}
	fd, addr := s.listen(backlog)
	s.own(fd)
	if blocked {
		s.own(s.dial(addr))
	}
	open := func() *reactor.Socket {
		socket := new(reactor.Socket)
		s.must(socket.Open(s.loop, unix.AF_INET, unix.SOCK_STREAM, 0))
		s.sockets = append(s.sockets, socket)
		return socket
	}
	x.socket = open()
	op := new(reactor.DialOp)
	r := &receiver[struct{}]{trace: x.trace}
	x.socket.Dial(addrPort(addr)).Connect(op, r)
	x.start = op.Start
	x.again = func() {
		open().Dial(addrPort(addr)).Connect(op, r)
		op.Start()
	}
	if blocked {
		x.act = func() {
			c, _, err := s.Accept4(fd, unix.SOCK_CLOEXEC)
			s.must(err)
			s.own(c)
		}
	}
	x.reset = func() { s.must(s.Shutdown(fd, unix.SHUT_RD)) }
	x.intact = func() {
		for _, o := range x.results {
			if o.Channel != sendertest.OnValue {
				continue
			}
			c, _, err := s.Accept4(fd, unix.SOCK_CLOEXEC)
			s.must(err)
			_ = s.Close(c)
		}
	}
	return x
}

// faultyTimestamps are IP options, a timestamp for which there is no room, that setsockopt(2) takes and the receiver
// does not: it answers what carries them with an ICMP message, on the loopback interface inside of connect(2).
const faultyTimestamps = "\x44\x0a\x05\x00\x00\x00\x00\x00\x00\x00"

// connectRefusedByICMP connects to where there is a listener, to be told by ICMP that it cannot.
func connectRefusedByICMP(s *stage, _ bool) *subject {
	x := connect(s, false)
	s.must(s.SetsockoptString(x.socket.Fd(), unix.IPPROTO_IP, unix.IP_OPTIONS, faultyTimestamps))
	return x
}

// reader puts a connection on the stage that is read from.
func reader(s *stage, x *subject) (got *[]byte) {
	got, _ = readerOf(s, x)
	return got
}

// readerOf is reader, and the peer that it reads from.
func readerOf(s *stage, x *subject) (got *[]byte, p *peer) {
	socket, p := s.pair(false)
	got = new([]byte)
	x.socket, x.waits = socket, true
	x.act = func() { p.write(hello) }
	x.end = p.finish
	wasReset := false
	x.reset = func() { p.reset(); wasReset = true }
	x.intact = func() {
		if !wasReset {
			p.received(socket, *got)
		}
	}
	return got, p
}

func recv(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	got := reader(s, x)
	buf := make([]byte, 64)
	op := new(reactor.RecvOp)
	x.socket.Recv(buf).Connect(op, &receiver[int]{x.trace, func(n int) int {
		*got = append(*got, buf[:n]...)
		return n
	}})
	x.start = op.Start
	return x
}

// takeLease takes a lease over: it copies what is in it, and returns it.
func takeLease(got *[]byte) func(reactor.Lease) int {
	return func(l reactor.Lease) int {
		*got = append(*got, l.Bytes()...)
		n := l.Len()
		l.Release()
		return n
	}
}

func recvLease(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	got := reader(s, x)
	op := new(reactor.RecvLeaseOp)
	x.socket.RecvLease().Connect(op, &receiver[reactor.Lease]{x.trace, takeLease(got)})
	x.start = op.Start
	return x
}

// recvMany receives with the credit given, and grants more for each item.
func recvMany(credit int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s), sequence: true}
		got := reader(s, x)
		op := new(reactor.RecvManyOp)
		take := takeLease(got)
		x.socket.RecvMany(credit).Connect(op, receiveItems(x.trace, func(l reactor.Lease) int {
			op.Grant(1)
			return take(l)
		}))
		x.start = op.Start
		return x
	}
}

// recvManyChain receives with the least credit, which what consumes the items grants.
func recvManyChain(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s), sequence: true}
	x.inline = true // an adaptor that is stopped before it is started does not start its source
	got := reader(s, x)
	take := takeLease(got)
	all := seq.Filter(x.socket.RecvMany(1), func(reactor.Lease) bool { return true }, reactor.Lease.Release)
	each := seq.ForEach(all, func(l reactor.Lease) error { x.next(take(l)); return nil }, reactor.Lease.Release)
	x.start = each.Connect(sender.StateOf(each), &receiver[struct{}]{trace: x.trace}).Start
	return x
}

// bulk is several buffers of the smallest size that loops are given here, and fits into any socket.
var bulk = strings.Repeat("0123456789abcdef", 40)

// recvBulk receives what may be bulk: then large buffers take it.
func recvBulk(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s), sequence: true}
	got, p := readerOf(s, x)
	x.act = func() { p.write(bulk) }
	op := new(reactor.RecvManyOp)
	take := takeLease(got)
	x.socket.RecvMany(4).Adaptive().Connect(op, receiveItems(x.trace, func(l reactor.Lease) int {
		op.Grant(l.Credits())
		return take(l)
	}))
	x.start = op.Start
	return x
}

// writer is an operation that writes to a connection, into which filled bytes were put before.
func writer(s *stage, socket *reactor.Socket, p *peer, filled int) *subject {
	x := &subject{trace: newTrace(s), socket: socket, end: p.finish}
	wasReset := false
	x.reset = func() { p.reset(); wasReset = true }
	x.intact = func() {
		if wasReset {
			return
		}
		sent := filled
		for _, o := range x.results {
			if o.Channel == sendertest.OnValue {
				sent += o.Value
			}
		}
		if fd := socket.Fd(); fd >= 0 {
			s.must(s.Shutdown(fd, unix.SHUT_WR))
		}
		if got := p.readUntil(-1); got != sent {
			s.t.Errorf("%d bytes were sent, and the peer has got %d", sent, got)
		}
	}
	return x
}

// large is more than fits between the ends of a connection with small buffers.
var large = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

// bulkWriter is writer to a connection, and what it is to write: more than there is room for if it is to be blocked.
func bulkWriter(s *stage, blocked bool) (x *subject, data []byte) {
	socket, p := s.pair(blocked)
	x, data = writer(s, socket, p, 0), []byte(hello)
	if x.waits = blocked; blocked {
		data = large
		x.act = func() { p.readUntil(len(large)) }
	}
	return x, data
}

// pieces cuts what is to be written.
func pieces(data []byte) [][]byte {
	half := len(data) / 2
	return [][]byte{data[:2], nil, data[2:half], data[half:]}
}

// fullWriter is writer to a connection that is full if it is to be blocked.
func fullWriter(s *stage, blocked bool, socket *reactor.Socket, p *peer) *subject {
	before := 0
	if blocked {
		before = s.fill(socket.Fd())
	}
	x := writer(s, socket, p, before)
	if x.waits = blocked; blocked {
		x.act = func() { p.readUntil(before) }
	}
	return x
}

// fillable is a connection, of a kind that can be filled if it is to be.
func (s *stage) fillable(blocked bool) (*reactor.Socket, *peer) {
	if blocked {
		return s.localPair(unix.SOCK_STREAM)
	}
	return s.pair(false)
}

func send(s *stage, blocked bool) *subject {
	socket, p := s.fillable(blocked)
	x := fullWriter(s, blocked, socket, p)
	op := new(reactor.SendOp)
	socket.Send([]byte(hello)).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	return x
}

func sendAll(s *stage, blocked bool) *subject {
	x, data := bulkWriter(s, blocked)
	op := new(reactor.SendOp)
	x.socket.SendAll(data).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	return x
}

func sendv(s *stage, blocked bool) *subject {
	x, data := bulkWriter(s, blocked)
	op := new(reactor.SendvOp)
	x.socket.Sendv(pieces(data)).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	x.again = func() {
		op.Reset()
		op.Add([]byte(hello))
		op.Start()
	}
	return x
}

func shutdown(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	socket, p := s.pair(false)
	x.socket, x.end, x.reset = socket, p.finish, p.reset
	op := new(reactor.ShutdownOp)
	socket.Shutdown(unix.SHUT_WR).Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	x.intact = func() {
		if x.last.Channel == sendertest.OnValue && p.readUntil(-1) != 0 {
			s.t.Error("the peer has got bytes instead of an end")
		}
	}
	return x
}

// closeSocket closes a connection, on which a receive is in flight if blocked.
func closeSocket(s *stage, blocked bool) *subject {
	x := &subject{trace: newTrace(s), closes: true}
	socket, p := s.pair(false)
	x.socket, x.end, x.reset = socket, p.finish, p.reset
	op := new(reactor.CloseOp)
	socket.Close().Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	if !blocked {
		return x
	}
	recv := new(reactor.RecvOp)
	tr := newTrace(s)
	socket.Recv(make([]byte, 8)).Connect(recv, &receiver[int]{trace: tr})
	s.do(func() { tr.begin(recv.Start) })
	x.intact = func() {
		if tr.last.Channel == sendertest.None {
			s.t.Error("a receive on a closed socket is still in flight")
		}
	}
	return x
}

func poll(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	reader(s, x)
	x.intact = nil
	op := new(reactor.PollOp)
	x.socket.Poll(unix.POLLIN).Connect(op, &receiver[uint32]{x.trace, func(events uint32) int {
		return int(events & unix.POLLIN)
	}})
	x.start = op.Start
	return x
}

func pollMany(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s), sequence: true}
	reader(s, x)
	x.intact = nil
	op := new(reactor.PollManyOp)
	x.socket.PollMany(unix.POLLIN).Connect(op, receiveItems(x.trace, func(events uint32) int {
		return int(events & unix.POLLIN)
	}))
	x.start = op.Start
	return x
}

func nop(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	op := new(reactor.NopOp)
	s.loop.Nop().Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	return x
}

// nap is how long a sleep lasts that is to end, and night one that is not.
const (
	nap   = time.Millisecond
	night = time.Hour
)

// sleep sleeps until a time, or for one.
func sleep(until bool) func(*stage, bool) *subject {
	return func(s *stage, blocked bool) *subject {
		x := &subject{trace: newTrace(s)}
		d := nap
		if blocked {
			d, x.waits = night, true
		}
		op := new(reactor.SleepOp)
		var began int64
		x.start = func() {
			began = s.now()
			how := s.loop.SleepFor(d)
			if until {
				how = s.loop.SleepUntil(s.loop.Now() + int64(d))
				began -= int64(nap) // Now is when the turn began
			}
			how.Connect(op, &receiver[struct{}]{trace: x.trace})
			op.Start()
		}
		x.intact = func() {
			if took := time.Duration(s.now() - began); x.last.Channel == sendertest.OnValue && took < d {
				s.t.Errorf("slept for %v instead of %v", took, d)
			}
		}
		return x
	}
}

func schedule(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	// It completes inside Start when stop was requested before.
	x.inline = true
	op := new(sender.ScheduleOp)
	sender.Schedule(s.loop).Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	return x
}
