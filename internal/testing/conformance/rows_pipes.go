package conformance

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/sendertest"
)

// readingPipe and writingPipe are the cells of sockets, without resets.
var (
	noResets    = cells{resetBefore: noReset, resetMeanwhile: noReset}
	readingPipe = receiving.with(noResets)
	writingPipe = sending.with(cells{
		resetBefore:    fails(unix.EPIPE), // the read end is closed
		resetMeanwhile: fails(unix.EPIPE),
	})
	// An operation of several steps has not completed when the first is done.
	splicing = readingPipe.with(cells{stoppedAfterCompletion: orStopped(moves(len(hello)))})
)

// sendingFile is sendingAll for an operation of several steps.
var sendingFile = sendingAll.with(cells{
	successImmediately:     value(len(hello)),
	stoppedAfterCompletion: orStopped(value(some)),
	resetBefore:            fails(unix.EPIPE, unix.ECONNRESET),
	resetMeanwhile:         fails(unix.EPIPE, unix.ECONNRESET),
	// Until the first splice is done nothing was sent.
	stoppedWhileQueued:     orStopped(value(some)),
	stoppedElsewhereQueued: orStopped(value(some)),
	closedWhileQueued:      orClosed(value(some)),
	stoppedInFlight:        orStopped(value(some)),
	stoppedElsewhere:       orStopped(value(some)),
	stoppedTwice:           orStopped(value(some)),
	loopStopped:            orStopped(value(some)),
	closedUnder:            orClosed(value(some)),
})

// splicingUrgent: the urgent byte is left out, and the one behind it is moved.
var splicingUrgent = receiving.with(cells{
	successImmediately:     moves(1),
	successLater:           moves(1),
	stoppedAfterCompletion: orStopped(moves(1)),
	stoppedFromCallback:    moves(1),
	reused:                 moves(1).then(moves(some)),
	closedFromCallback:     moves(1),
})

var pipes = []row{
	{"read of a pipe", true, readPipe, readingPipe},
	{"read many", true, readPipeMany(2), receivingMany.with(noResets)},
	{"read many, unlimited", true, readPipeMany(reactor.Unlimited), receivingMany.with(noResets)},
	{"write to a pipe", true, writePipe(false), writingPipe},
	{"write all to a pipe", true, writePipe(true), sendingAll.with(cells{
		resetBefore:    fails(unix.EPIPE),
		resetMeanwhile: fails(unix.EPIPE),
	})},
	{"splice from a pipe", true, splice(false, false), splicing},
	{"splice to a pipe", true, splice(true, false), splicing},
	{"splice of urgent data", true, spliceUrgent(false), splicingUrgent},
	{"splice of urgent data before EOF", true, spliceUrgent(true), splicingUrgent},
	{"tee", true, splice(false, true), splicing.with(cells{
		reused: moves(len(hello)).then(moves(some)), // it leaves what there is
	})},
	{"send file", true, sendFile, sendingFile},
}

// pipeOf makes a pipe.
func (s *stage) pipeOf() (reader, writer int) {
	fds := make([]int, 2)
	s.must(s.Pipe2(fds, unix.O_CLOEXEC|unix.O_NONBLOCK))
	return fds[0], fds[1]
}

// pipeReader puts a pipe on the stage that is read from.
func pipeReader(s *stage, x *subject) (f *reactor.File, got *[]byte) {
	ours, theirs := s.pipeOf()
	s.own(theirs)
	f = s.adoptFile(ours)
	got = new([]byte)
	x.socket, x.waits = asSocket(f), true
	var wrote []byte
	x.act = func() {
		n, err := s.Write(theirs, []byte(hello))
		s.must(err)
		wrote = append(wrote, hello[:n]...)
	}
	x.end = func() { s.disown(theirs) }
	x.intact = func() {
		if f.Fd() < 0 {
			if !bytes.HasPrefix(wrote, *got) {
				s.t.Errorf("read %q of %q", *got, wrote)
			}
			return
		}
		if all := append(bytes.Clone(*got), s.remaining(f.Fd())...); !bytes.Equal(all, wrote) {
			s.t.Errorf("%q was read or can be, of %q", all, wrote)
		}
	}
	return f, got
}

// remaining returns what can be read from a pipe without waiting.
func (s *stage) remaining(fd int) (b []byte) {
	for buf := make([]byte, 1<<16); ; {
		n, err := s.Read(fd, buf)
		if n <= 0 || err != nil {
			return b
		}
		b = append(b, buf[:n]...)
	}
}

func readPipe(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	f, got := pipeReader(s, x)
	buf := make([]byte, 64)
	op := new(reactor.ReadOp)
	f.Read(buf).Connect(op, &receiver[int]{x.trace, func(n int) int {
		*got = append(*got, buf[:n]...)
		return n
	}})
	x.start = op.Start
	return x
}

// readPipeMany reads with the credit given, and grants more for each item.
func readPipeMany(credit int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s), sequence: true}
		f, got := pipeReader(s, x)
		op := new(reactor.ReadManyOp)
		take := takeLease(got)
		f.ReadMany(credit).Connect(op, receiveItems(x.trace, func(l reactor.Lease) int {
			op.Grant(1)
			return take(l)
		}))
		x.start = op.Start
		return x
	}
}

// writePipe writes to a pipe: more than there is room for if it writes all and is blocked.
func writePipe(all bool) func(*stage, bool) *subject {
	return func(s *stage, blocked bool) *subject {
		x := &subject{trace: newTrace(s)}
		theirs, ours := s.pipeOf()
		s.own(theirs)
		f := s.adoptFile(ours)
		x.socket = asSocket(f)
		p := &peer{s: s, fd: theirs}
		before, data := 0, []byte(hello)
		if x.waits = blocked; blocked {
			if all {
				data = large
				x.act = func() { p.readUntil(len(large)) }
			} else {
				before = s.fill(ours)
				x.act = func() { p.readUntil(before) }
			}
		}
		wasReset := false
		x.reset = func() { s.disown(theirs); wasReset = true }
		x.intact = func() {
			sent := before
			for _, o := range x.results {
				if o.Channel == sendertest.OnValue {
					sent += o.Value
				}
			}
			if got := p.read; !wasReset && got+len(s.remaining(theirs)) != sent {
				s.t.Errorf("%d bytes were written, and %d have come", sent, got)
			}
		}
		op := new(reactor.WriteOp)
		r := receiveCount(x.trace)
		if all {
			f.WriteAll(data).Connect(op, r)
		} else {
			f.Write(data).Connect(op, r)
		}
		x.start = op.Start
		return x
	}
}

// splice moves bytes from one pipe to another, or copies them. The subject is the first pipe, or the second.
func splice(second, tee bool) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s)}
		f, got := pipeReader(s, x)
		end, ours := s.pipeOf()
		s.own(end)
		to := s.adoptFile(ours)
		first, act := x.intact, x.act
		var b []byte
		x.act = func() {
			b = append(b, s.remaining(end)...) // so that there is room
			act()
		}
		if second {
			x.socket = asSocket(to)
		}
		op := new(reactor.SpliceOp)
		how := reactor.Splice(f.Stream(), to.Stream(), 64)
		if tee {
			how = reactor.Tee(f, to, 64)
		}
		how.Connect(op, receiveCount(x.trace))
		x.start = op.Start
		x.intact = func() {
			moved := 0
			for _, o := range x.results {
				if o.Channel == sendertest.OnValue {
					moved += o.Value
				}
			}
			b = append(b, s.remaining(end)...)
			if len(b) != moved {
				s.t.Errorf("%d bytes were moved, and %d have come", moved, len(b))
			}
			if !tee {
				*got = b
			}
			first()
		}
		return x
	}
}

// spliceUrgent moves bytes behind urgent data from a connection to a pipe.
func spliceUrgent(ended bool) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s), waits: true}
		socket, p := s.pair(false)
		end, ours := s.pipeOf()
		s.own(end)
		to := s.adoptFile(ours)
		x.socket, x.end, x.reset = socket, p.finish, p.reset
		var got []byte
		x.act = func() {
			got = append(got, s.remaining(end)...) // so that there is room
			if ended && len(p.wrote) != 0 {
				return
			}
			s.must(s.Send(p.fd, []byte("!"), unix.MSG_OOB))
			if p.write(hello); ended {
				p.finish()
			}
		}
		op := new(reactor.SpliceOp)
		reactor.Splice(socket.Stream(), to.Stream(), 64).Connect(op, receiveCount(x.trace))
		x.start = op.Start
		x.intact = func() { p.received(socket, append(got, s.remaining(end)...)) }
		return x
	}
}

// sendFile sends a file: more than there is room for if blocked.
func sendFile(s *stage, blocked bool) *subject {
	x, data := bulkWriter(s, blocked)
	path := s.temp(s.t) + "/file"
	s.create(path, string(data))
	f := s.open(path, unix.O_RDONLY)
	op := new(reactor.SendFileOp)
	x.socket.SendFile(f, 0, -1).Connect(op, &receiver[int64]{x.trace, func(n int64) int { return int(n) }})
	x.start = op.Start
	return x
}
