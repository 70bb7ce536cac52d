package conformance

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// halfClosed are the rows of operations that wait for room on a connection whose peer has half-closed it. Some rings
// take that for readiness. The operation must not be retried in a loop while the peer does not read.
var halfClosed = []row{
	{"send to a half-closed peer", true, toHalfClosed(send, false), toEnded(sending)},
	{"send all to a half-closed peer", true, toHalfClosed(sendAll, false), toEnded(sendingAll)},
	{"send all to a peer known to be half-closed", true, toHalfClosed(sendAll, true), toEnded(sendingAll)},
	{"sendv to a half-closed peer", true, toHalfClosed(sendv, false), toEnded(sendingAll)},
	{"send msg to a half-closed peer", true, toHalfClosed(sendMsg, false), toEnded(sendingAll)},
	{"send zero-copy to a half-closed peer", true, toHalfClosed(sendZC, false), toEnded(sending)},
	{"send file to a half-closed peer", true, toHalfClosed(sendFile, false), toEnded(sendingFile)},
	{"write to a half-closed peer", true, toHalfClosed(writeSocket, false), toEnded(sending)},
	{"write all to a half-closed peer", true, toHalfClosed(writeAllSocket, false), toEnded(sendingAll)},
	{"splice to a half-closed peer", true, toHalfClosed(spliceSocket, false), toEnded(sending).with(cells{
		stoppedAfterCompletion: orStopped(moves(len(hello))), // it has several steps
	})},
	{"poll of a half-closed peer for room", true, toHalfClosed(pollRoom, false), toEnded(sending).with(cells{
		successImmediately: value(unix.POLLOUT),
		successLater:       value(unix.POLLOUT),
		resetBefore:        value(unix.POLLOUT),
		// tcp_reset() says that there is an error before it says that there is room.
		resetMeanwhile:         orValue(value(unix.POLLOUT), 0),
		stoppedAfterCompletion: value(unix.POLLOUT),
		stoppedFromCallback:    value(unix.POLLOUT),
		reused:                 value(unix.POLLOUT).then(value(unix.POLLOUT)),
		closedFromCallback:     value(unix.POLLOUT),
	})},
}

// toEnded returns c after a FIN of the peer: a reset is EPIPE then, see tcp_reset() in CLOSE_WAIT.
func toEnded(c cells) cells {
	either := fails(unix.EPIPE, unix.ECONNRESET)
	return c.with(cells{resetBefore: either, resetMeanwhile: either})
}

// toHalfClosed makes the operation of a connection that the peer half-closes first. known: the loop has received EOF.
func toHalfClosed(of func(*stage, bool) *subject, known bool) func(*stage, bool) *subject {
	return func(s *stage, blocked bool) *subject {
		x := of(s, blocked)
		x.end()
		if known {
			tr, op := newTrace(s), new(reactor.RecvOp)
			x.socket.Recv(make([]byte, 1)).Connect(op, receiveCount(tr))
			s.do(func() { tr.begin(op.Start) })
			tr.await()
		}
		if act := x.act; act != nil {
			x.act = func() {
				if s.thread() != s.tid && x.started > len(x.results) {
					s.still()
				}
				act()
			}
		}
		return x
	}
}

// still asserts that the loop does nothing while nothing can move.
func (s *stage) still() {
	s.t.Helper()
	s.settle()
	const turns, few = 1000, 10
	before := s.loop.Stats().Completions
	for range turns {
		s.do(func() {})
	}
	if n := s.loop.Stats().Completions - before; n > few {
		s.t.Errorf("%d completions in %d turns in which nothing could move", n, turns)
	}
}

// socketWriter makes a fullWriter for operations of files and pipes on a socket.
func socketWriter(s *stage, blocked bool) *subject {
	socket, p := s.fillable(blocked)
	return fullWriter(s, blocked, socket, p)
}

func writeSocket(s *stage, blocked bool) *subject {
	x := socketWriter(s, blocked)
	op := new(reactor.WriteOp)
	(*reactor.File)(x.socket).Write([]byte(hello)).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	return x
}

func writeAllSocket(s *stage, blocked bool) *subject {
	x, data := bulkWriter(s, blocked)
	op := new(reactor.WriteOp)
	(*reactor.File)(x.socket).WriteAll(data).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	return x
}

// spliceSocket moves the bytes of a pipe to a connection.
func spliceSocket(s *stage, blocked bool) *subject {
	x := socketWriter(s, blocked)
	ours, theirs := s.pipeOf()
	s.own(theirs)
	pipe := s.adoptFile(ours)
	fill := func() {
		_, err := s.Write(theirs, []byte(hello))
		s.must(err)
	}
	fill()
	op := new(reactor.SpliceOp)
	reactor.Splice(pipe.Stream(), x.socket.Stream(), len(hello)).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	x.again = func() {
		fill()
		op.Start()
	}
	return x
}

// pollRoom waits until there is room.
func pollRoom(s *stage, blocked bool) *subject {
	x := socketWriter(s, blocked)
	x.intact = nil
	op := new(reactor.PollOp)
	x.socket.Poll(unix.POLLOUT).Connect(op, &receiver[uint32]{x.trace, func(events uint32) int {
		return int(events & unix.POLLOUT)
	}})
	x.start = op.Start
	return x
}
