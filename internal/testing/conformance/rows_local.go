package conformance

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/sendertest"
)

// locals are the rows of unix sockets. They have no RST: ECONNRESET says that a connection was closed with bytes
// unread.
var locals = []row{
	{"connect, unix", false, connectUnix(unix.SOCK_STREAM), connectingUnix},
	{"connect, seqpacket", false, connectUnix(unix.SOCK_SEQPACKET), connectingUnix},
	{"connect, unix file", false, connectUnixFile, connectingUnix},
	{"connect, crowded unix", false, connectCrowded(unix.SOCK_STREAM), crowdedOut},
	{"connect, crowded seqpacket", false, connectCrowded(unix.SOCK_SEQPACKET), crowdedOut},
	{"connect to no unix file", false, connectFault(func(*stage, string) {}), faultOnly(unix.ENOENT)},
	{"connect to a stale unix file", false, connectFault(leaveFile), faultOnly(unix.ECONNREFUSED)},
	{"connect to a unix file that does not listen", false, connectFault(bindFile(unix.SOCK_STREAM)),
		faultOnly(unix.ECONNREFUSED)},
	{"connect to a unix file of datagrams", false, connectFault(bindFile(unix.SOCK_DGRAM)), faultOnly(unix.EPROTOTYPE)},
	{"connect to a plain file", false, connectFault(plainFile), faultOnly(unix.ECONNREFUSED)},
	{"accept, unix", true, accept(localListener(unix.SOCK_STREAM)), accepting},
	{"accept, seqpacket", true, accept(localListener(unix.SOCK_SEQPACKET)), accepting},
	{"accept many, unix", true, acceptMany(localListener(unix.SOCK_STREAM), reactor.Unlimited), acceptingMany},
	{"accept many, seqpacket", true, acceptMany(localListener(unix.SOCK_SEQPACKET), reactor.Unlimited), acceptingMany},
	{"recv, seqpacket", true, recvSeqpacket, receiving.whole().with(cells{
		resetBefore:    value(0),
		resetMeanwhile: value(0),
	})},
	{"recv fds", true, recvFDs, receiving.with(cells{resetBefore: value(0), resetMeanwhile: value(0)})},
	{"send fds", true, sendFDs, sending.with(cells{resetBefore: fails(unix.EPIPE), resetMeanwhile: fails(unix.EPIPE)})},
}

// connectingUnix: a unix connection is there immediately, or not at all.
var connectingUnix = instant.with(cells{
	successImmediately: value(0),
	endOfFile:          never("there is no connection yet"),
	resetBefore:        fails(unix.ECONNREFUSED),
	reused:             value(0).then(value(0)),
	closedBefore:       fails(net.ErrClosed),
	closedWhileQueued:  value(0),
	closedFromCallback: value(0),
})

// crowdedOut are the cells of connects to a listener without room in its backlog. They do not wait for room; io_uring
// makes sure on a worker thread, and a stop that comes before that wins.
var crowdedOut = connectingUnix.with(cells{
	successImmediately:     fails(unix.EAGAIN),
	resetBefore:            fails(unix.ECONNREFUSED),
	stoppedWhileQueued:     crowdedOrStopped,
	stoppedElsewhereQueued: crowdedOrStopped,
	stoppedAfterCompletion: crowdedOrStopped,
	stoppedFromCallback:    fails(unix.EAGAIN),
	reused:                 fails(unix.EAGAIN).then(fails(unix.EAGAIN)),
	closedWhileQueued:      fails(unix.EAGAIN, net.ErrClosed),
	closedFromCallback:     fails(unix.EAGAIN),
})

var crowdedOrStopped = fails(unix.EAGAIN).each(func(c completion) completion {
	return c.or(completion{channel: sendertest.OnStopped})
})

// faultOnly returns the cells of a connect that differs from others only in that it fails immediately.
func faultOnly(errno unix.Errno) cells {
	return only(successImmediately, fails(errno), "a connect like others")
}

// connectUnix connects to a listener with an abstract name.
func connectUnix(kind int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		fd, to := s.listenUnix(kind, "", 8)
		return s.connectingTo(to, kind, fd)
	}
}

// connectUnixFile connects to a listener with a path.
func connectUnixFile(s *stage, _ bool) *subject {
	fd, to := s.listenUnix(unix.SOCK_STREAM, s.temp(s.t)+"/socket", 8)
	return s.connectingTo(to, unix.SOCK_STREAM, fd)
}

// connectCrowded connects to a listener whose backlog is full.
func connectCrowded(kind int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		fd, to := s.listenUnix(kind, "", 0)
		sa, err := s.Getsockname(fd)
		s.must(err)
		first, err := s.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		s.must(err)
		s.own(first)
		s.must(s.Connect(first, sa))
		return s.connectingTo(to, kind, fd)
	}
}

// connectFault connects to a path that put has done something with.
func connectFault(put func(s *stage, path string)) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		path := s.temp(s.t) + "/socket"
		put(s, path)
		to, err := reactor.UnixAddress(path)
		s.must(err)
		return s.connectingTo(to, unix.SOCK_STREAM, -1)
	}
}

// bindFile binds a socket to the path, which does not listen.
func bindFile(kind int) func(*stage, string) {
	return func(s *stage, path string) {
		fd, err := s.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		s.must(err)
		s.own(fd)
		s.must(s.Bind(fd, &unix.SockaddrUnix{Name: path}))
	}
}

// leaveFile leaves the file of a listener that is closed.
func leaveFile(s *stage, path string) {
	fd, _ := s.listenUnix(unix.SOCK_STREAM, path, 8)
	s.disown(fd)
}

// plainFile makes a file that is no socket.
func plainFile(s *stage, path string) {
	fd, err := s.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	s.must(err)
	s.must(s.Close(fd))
}

// listenUnix listens at a path; "": the kernel chooses an abstract name.
func (s *stage) listenUnix(kind int, path string, backlog int) (fd int, to reactor.Address) {
	fd, err := s.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.own(fd)
	s.must(s.Bind(fd, &unix.SockaddrUnix{Name: path}))
	s.must(s.Listen(fd, backlog))
	sa, err := s.Getsockname(fd)
	s.must(err)
	to, err = reactor.UnixAddress(sa.(*unix.SockaddrUnix).Name)
	s.must(err)
	return fd, to
}

// connectingTo connects a unix socket. fd is the listener.
func (s *stage) connectingTo(to reactor.Address, kind, fd int) *subject {
	x := &subject{trace: newTrace(s)}
	open := func() *reactor.Socket {
		socket := new(reactor.Socket)
		s.must(socket.Open(s.loop, unix.AF_UNIX, kind, 0))
		s.sockets = append(s.sockets, socket)
		return socket
	}
	x.socket = open()
	op := new(reactor.DialOp)
	r := &receiver[struct{}]{trace: x.trace}
	x.socket.DialTo(to).Connect(op, r)
	x.start = op.Start
	x.again = func() {
		open().DialTo(to).Connect(op, r)
		op.Start()
	}
	x.reset = func() { s.disown(fd) }
	return x
}

// localListener puts a unix listener on the stage, with an abstract name, as listener does.
func localListener(kind int) func(*stage, *subject) {
	return func(s *stage, x *subject) {
		socket := new(reactor.Socket)
		anywhere, err := reactor.UnixAddress("")
		s.must(err)
		s.must(socket.OpenListener(s.loop, reactor.ListenConfig{Address: anywhere, Type: kind}))
		listening(s, x, socket, func() int {
			sa, err := s.Getsockname(socket.Fd())
			s.must(err)
			fd, err := s.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
			s.must(err)
			s.must(s.Connect(fd, sa))
			return s.own(fd)
		})
	}
}

// localReader puts a pair of unix sockets on the stage, of which the subject reads one.
func localReader(s *stage, x *subject, kind int) (got *[]byte) {
	socket, p := s.localPair(kind)
	got = new([]byte)
	x.socket, x.waits = socket, true
	x.act = func() { p.write(hello) }
	x.end = p.finish
	x.reset = func() { s.disown(p.fd) }
	x.intact = func() { p.received(socket, *got) }
	return got
}

func recvSeqpacket(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	got := localReader(s, x, unix.SOCK_SEQPACKET)
	buf := make([]byte, 64)
	op := new(reactor.RecvOp)
	x.socket.Recv(buf).Connect(op, &receiver[int]{x.trace, func(n int) int {
		*got = append(*got, buf[:n]...)
		return n
	}})
	x.start = op.Start
	return x
}

func recvFDs(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	got := localReader(s, x, unix.SOCK_STREAM)
	buf := make([]byte, 64)
	op := new(reactor.RecvFDsOp)
	x.socket.RecvFDs(buf, 4).Connect(op, &receiver[reactor.Rights]{x.trace, func(r reactor.Rights) int {
		*got = append(*got, buf[:r.N]...)
		if len(r.FDs) != 0 || r.Truncated {
			s.t.Errorf("with no descriptors came %+v", r)
		}
		return r.N
	}})
	x.start = op.Start
	return x
}

// sendFDs sends a descriptor, twice, to a peer that does not receive descriptors.
func sendFDs(s *stage, blocked bool) *subject {
	passed, err := s.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.own(passed)
	socket, p := s.localPair(unix.SOCK_STREAM)
	x := fullWriter(s, blocked, socket, p)
	intact, wasReset := x.intact, false
	x.reset = func() { s.disown(p.fd); wasReset = true }
	x.intact = func() {
		if !wasReset {
			intact()
		}
	}
	op := new(reactor.SendFDsOp)
	x.socket.SendFDs([]byte(hello), []int{passed, passed}).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	return x
}
