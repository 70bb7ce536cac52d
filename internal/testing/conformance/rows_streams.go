package conformance

import (
	"bytes"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/seq"
)

var streams = []row{
	{"accept", true, accept(listener), accepting},
	{"accept many", true, acceptMany(listener, 4), acceptingMany},
	{"accept many, unlimited", true, acceptMany(listener, reactor.Unlimited), acceptingMany},
	{"connect", true, connect, waiting.with(cells{
		successImmediately:     value(0),
		successLater:           value(0).in("a second"),
		endOfFile:              never("there is no connection yet"),
		resetBefore:            fails(unix.ECONNREFUSED),
		resetMeanwhile:         fails(unix.ECONNREFUSED).in("a second"),
		stoppedAfterCompletion: value(0),
		stoppedFromCallback:    value(0),
		reused:                 value(0).then(value(0)),
		closedFromCallback:     value(0),
	})},
	{"connect that ICMP refuses", false, connectRefusedByICMP,
		only(successImmediately, fails(unix.EPROTO), "a connect like others")},
	{"recv", true, recv, receiving},
	{"recv lease", true, recvLease, receiving},
	{"recv many", true, recvMany(2), receivingMany},
	{"recv many, by a chain", true, recvManyChain, receivingMany},
	{"recv many, unlimited", true, recvMany(reactor.Unlimited), receivingMany},
	{"recv many, adaptive", true, recvBulk, receivingBulk},
	{"send", true, send, sending.with(cells{
		resetMeanwhile: fails(unix.EPIPE), // it waits on a local socket, which has no RST
	})},
	{"send all", true, sendAll, sendingAll},
	{"sendv", true, sendv, sendingAll},
	{"poll", true, poll, receiving.with(cells{
		successImmediately:     value(unix.POLLIN),
		successLater:           value(unix.POLLIN),
		endOfFile:              value(unix.POLLIN),
		resetBefore:            value(unix.POLLIN),
		resetMeanwhile:         value(unix.POLLIN),
		stoppedAfterCompletion: value(unix.POLLIN),
		stoppedFromCallback:    value(unix.POLLIN),
		reused:                 value(unix.POLLIN).then(value(unix.POLLIN)),
		closedFromCallback:     value(unix.POLLIN),
	})},
	{"poll many", true, pollMany, acceptingMany.with(cells{ // what holds already is reported as well
		successImmediately: stopped.after(2).orMore(),
		reused:             stopped.after(1).then(stopped.after(1)).orMore(),
		endOfFile:          never("it is an event like others"),
		resetBefore:        never("it is an event like others"),
		resetMeanwhile:     never("it is an event like others"),
	})},
	{"shutdown", false, shutdown, instant.with(cells{
		successImmediately: value(0),
		endOfFile:          value(0),
		resetBefore:        fails(unix.ENOTCONN),
		reused:             value(0).then(value(0)),
		closedBefore:       fails(net.ErrClosed),
		closedWhileQueued:  value(0),
		closedFromCallback: value(0),
	})},
	{"close", true, closeSocket, instant.with(cells{
		alreadyStopped:     value(0), // it cannot be stopped
		successImmediately: value(0),
		successLater:       value(0),
		endOfFile:          value(0),
		resetBefore:        value(0),
		reused:             value(0).then(fails(net.ErrClosed)),
		stoppedTwice:       value(0),
		closedBefore:       fails(net.ErrClosed),
		closedWhileQueued:  value(0),
		closedFromCallback: never("it is closed by then"),
		loopStopping:       value(0), // nor by the loop
	})},
	{"quiesce", true, quiesce, instant.with(cells{
		alreadyStopped:     value(0), // it cannot be stopped
		successImmediately: value(0),
		successLater:       value(0),
		endOfFile:          value(0),
		resetBefore:        value(0),
		reused:             value(0).then(value(0)),
		stoppedTwice:       value(0),
		closedBefore:       fails(net.ErrClosed),
		closedWhileQueued:  fails(net.ErrClosed),
		closedFromCallback: value(0),
		loopStopping:       value(0), // nor by the loop
	})},
	{"nop", false, nop, instant.with(socketless).with(cells{
		successImmediately: value(0),
		reused:             value(0).then(value(0)),
	})},
	{"sleep for", true, sleep(false), sleeping},
	{"sleep until", true, sleep(true), sleeping},
	{"schedule", false, schedule, instant.with(socketless).with(cells{
		successImmediately:     value(0),
		stoppedWhileQueued:     stopped,
		stoppedElsewhereQueued: stopped,
		stoppedAfterCompletion: never("it completes when it is run"),
		reused:                 value(0).then(value(0)),
		loopStopping:           value(0), // work is done until nothing is left
	})},
}

// Each of the functions here puts one operation on the stage. blocked: the operation must wait.

const hello = "hello"

// listener puts a TCP listener on the stage.
func listener(s *stage, x *subject) {
	socket := new(reactor.Socket)
	s.must(socket.OpenListener(s.loop, reactor.ListenConfig{Addr: addrPort(loopback)}))
	addr := s.address(socket.Fd())
	listening(s, x, socket, func() int { return s.own(s.dial(addr)) })
}

// listening fills the subject in for a listener. dial connects to it.
func listening(s *stage, x *subject, socket *reactor.Socket, dial func() int) {
	s.sockets = append(s.sockets, socket)
	dialled, resets := 0, 0
	x.socket, x.waits = socket, true
	x.act = func() {
		dialled++
		dial()
	}
	x.end = func() { s.must(s.Shutdown(socket.Fd(), unix.SHUT_RD)) }
	x.reset = func() { // a connection that is reset may be gone, so another one follows
		dialled++
		resets++
		p := peer{s: s, fd: dial()}
		p.reset()
		x.act()
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
			fd, _, err := s.Accept4(socket.Fd(), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, nil)
			if err != nil {
				break
			}
			_ = s.Close(fd)
			accepted++
		}
		if (accepted < dialled-resets || accepted > dialled) && x.last.Channel != sendertest.OnError {
			s.t.Errorf("%d connections were made, %d of them reset, and %d are accepted or can be", dialled, resets, accepted)
		}
	}
}

// takeFd takes ownership of an accepted descriptor.
func (s *stage) takeFd(fd int) int {
	flags, err := s.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		s.t.Errorf("accepted descriptor %d: flags %#x, %v", fd, flags, err)
	}
	s.own(fd)
	return 1
}

// accept accepts on the listener that on puts on the stage.
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
			c, _, err := s.Accept4(fd, unix.SOCK_CLOEXEC, nil)
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
			c, _, err := s.Accept4(fd, unix.SOCK_CLOEXEC, nil)
			s.must(err)
			_ = s.Close(c)
		}
	}
	return x
}

// faultyTimestamps are IP options (a timestamp without room for it) that setsockopt(2) accepts and the receiver
// refuses: it answers with an ICMP message, on the loopback interface inside connect(2).
const faultyTimestamps = "\x44\x0a\x05\x00\x00\x00\x00\x00\x00\x00"

// connectRefusedByICMP connects to a listener, and gets an ICMP message.
func connectRefusedByICMP(s *stage, _ bool) *subject {
	x := connect(s, false)
	s.must(s.SetsockoptString(x.socket.Fd(), unix.IPPROTO_IP, unix.IP_OPTIONS, faultyTimestamps))
	return x
}

// reader puts a connection on the stage that the subject reads from.
func reader(s *stage, x *subject) (got *[]byte) {
	got, _ = readerOf(s, x)
	return got
}

// readerOf makes x a reader, and returns what it gets and the peer that it reads from.
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

// takeLease copies the bytes of a lease, and releases it.
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

// recvManyChain receives with a credit of 1, which the consumer of the items grants.
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

// bulk is as long as several of the smallest buffers of the loops here, and fits into any socket.
var bulk = strings.Repeat("0123456789abcdef", 40)

// recvBulk receives adaptively: bulk is received into large buffers.
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

// writer makes an operation that writes to a connection, to which filled bytes were written before.
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
			s.t.Errorf("%d bytes were sent, and the peer has received %d", sent, got)
		}
	}
	return x
}

// large is more than a connection with small buffers holds.
var large = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

// bulkWriter makes a writer, and returns also what it writes: more than there is room for if blocked.
func bulkWriter(s *stage, blocked bool) (x *subject, data []byte) {
	socket, p := s.pair(blocked)
	x, data = writer(s, socket, p, 0), []byte(hello)
	if x.waits = blocked; blocked {
		data = large
		x.act = func() { p.readUntil(len(large)) }
	}
	return x, data
}

// pieces divides data for a vectored write.
func pieces(data []byte) [][]byte {
	half := len(data) / 2
	return [][]byte{data[:2], nil, data[2:half], data[half:]}
}

// fullWriter makes a writer to a connection that is full if blocked.
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

// fillable returns a connection. blocked: it is of a kind that can be filled.
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
	if blocked {
		x.intact = beginReceive(s, socket)
	}
	return x
}

// beginReceive begins a receive on a socket, and returns what asserts that it has been joined.
func beginReceive(s *stage, socket *reactor.Socket) (joined func()) {
	recv := new(reactor.RecvOp)
	tr := newTrace(s)
	socket.Recv(make([]byte, 8)).Connect(recv, &receiver[int]{trace: tr})
	s.do(func() { tr.begin(recv.Start) })
	return func() {
		if tr.last.Channel == sendertest.None {
			s.t.Error("a receive on the socket is still in flight")
		}
	}
}

// quiesce joins the operations of a connection, on which a receive is in flight if blocked.
func quiesce(s *stage, blocked bool) *subject {
	x := &subject{trace: newTrace(s)}
	socket, p := s.pair(false)
	x.socket, x.end, x.reset = socket, p.finish, p.reset
	op := new(reactor.QuiesceOp)
	socket.Quiesce().Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	if blocked {
		x.intact = beginReceive(s, socket)
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

// nap is a sleep that ends in a case, and night one that does not.
const (
	nap   = time.Millisecond
	night = time.Hour
)

// sleep sleeps until a time, or for a duration.
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
