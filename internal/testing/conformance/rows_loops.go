package conformance

import (
	"os"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// loops are the rows of timers, deadlines and moves between loops.
var loops = []row{
	{"every", true, every, acceptingMany.with(socketless).with(cells{
		successImmediately:     stopped.after(2).orMore(), // time passes until the stop request arrives
		reused:                 stopped.after(1).then(stopped.after(1)).orMore(),
		successLater:           never("it waits for time alone: see success immediately"),
		stoppedAfterCompletion: never("until a timer is popped nothing has come"),
	})},
	{"recv with a deadline", true, recvWithin, receiving.with(outliving)},
	{"accept with a deadline", true, acceptWithin, accepting.with(outliving)},
	{"recv past its deadline", true, recvTooLate,
		only(successLater, fails(os.ErrDeadlineExceeded), "it waits for time alone")},
	{"sleep that is moved", true, sleepMoved, sleeping.with(cells{successLater: value(0)})},
	{"move", false, move, instant.with(cells{
		successImmediately: value(0),
		endOfFile:          value(0),
		resetBefore:        value(0),
		reused:             value(0).then(value(0)),
		closedBefore:       fails(os.ErrClosed),
		closedWhileQueued:  fails(os.ErrClosed),
		closedFromCallback: value(0),
	})},
}

// outliving are the cells of an operation with a deadline when its socket is closed.
var outliving = cells{
	closedBefore:      noEnd,
	closedWhileQueued: noEnd,
	closedUnder:       noEnd,
}

var noEnd = never("the close joins what it is made of, and not the timer beside it")

// only returns the cells of an operation that is played in one situation.
func only(name string, e expectation, why string) cells {
	c := cells{}
	for _, s := range situations {
		c[s.name] = never(why)
	}
	c[name] = e
	return c
}

// every makes a ticker that grants one tick after each.
func every(s *stage, blocked bool) *subject {
	x := &subject{trace: newTrace(s), sequence: true}
	period := nap
	if blocked {
		period, x.waits = night, true
	}
	op := new(reactor.EveryOp)
	last := int64(0)
	s.loop.Every(period, 1).Connect(op, receiveItems(x.trace, func(tick reactor.Tick) int {
		if now := s.loop.Clock(); now < tick.At {
			s.t.Errorf("a tick %d ns early", tick.At-now)
		}
		if gap := tick.At - last; last != 0 && gap != (int64(tick.Missed)+1)*int64(period) {
			s.t.Errorf("a tick %d ns after the last that says it stands for %d more", gap, tick.Missed)
		}
		last = tick.At
		op.Grant(1)
		return 1
	}))
	x.act = func() {}
	x.start = func() {
		last = 0
		op.Start()
	}
	return x
}

type (
	recvTimeout   = sender.TimeoutOp[int, reactor.RecvOp, reactor.SleepOp]
	acceptTimeout = sender.TimeoutOp[int, reactor.AcceptOp, reactor.SleepOp]
)

// recvWithin receives with a deadline that is far away.
func recvWithin(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	x.inline = true // stopped before Start, neither of the two is started
	got := reader(s, x)
	buf := make([]byte, 64)
	op := new(recvTimeout)
	sender.Timeout(x.socket.Recv(buf), s.loop.SleepFor(night)).Connect(op, &receiver[int]{x.trace, func(n int) int {
		*got = append(*got, buf[:n]...)
		return n
	}})
	x.start = op.Start
	return x
}

func acceptWithin(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	x.inline = true
	listener(s, x)
	op := new(acceptTimeout)
	sender.Timeout(x.socket.Accept(), s.loop.SleepFor(night)).Connect(op, &receiver[int]{x.trace, s.takeFd})
	x.start = op.Start
	return x
}

// recvTooLate receives from a silent peer until the deadline.
func recvTooLate(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	socket, _ := s.pair(false)
	x.socket, x.waits = socket, true
	op := new(recvTimeout)
	sender.Timeout(socket.Recv(make([]byte, 64)), s.loop.SleepFor(nap)).Connect(op, &receiver[int]{trace: x.trace})
	x.start = op.Start
	return x
}

// sleepMoved sleeps for long until it is reset to end now.
func sleepMoved(s *stage, blocked bool) *subject {
	x := &subject{trace: newTrace(s), waits: blocked}
	op := new(reactor.SleepOp)
	s.loop.SleepFor(night).Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	if !blocked {
		x.start = func() {
			op.Start()
			op.Reset(s.loop.Now())
		}
		return x
	}
	x.act = func() { s.do(func() { op.Reset(s.loop.Now()) }) }
	return x
}

// move moves a connection to its own loop, which takes the same way as a move to another loop.
func move(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	socket, p := s.pair(false)
	x.socket, x.end, x.reset = socket, p.finish, p.reset
	op := new(reactor.MoveOp)
	socket.MoveTo(s.loop, socket).Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	return x
}
