package conformance

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// subject is an operation with what a case can do to it.
type subject struct {
	*trace
	start    func()          // on the loop's thread
	again    func()          // as start, for the second time; nil: start
	socket   *reactor.Socket // what it is about; nil: none
	act      func()          // causes one event that it waits for; nil: it waits for nothing
	end      func()          // the peer half-closes
	reset    func()          // the other side resets the connection, or refuses it
	intact   func()          // asserts that nothing was lost
	waits    bool            // it does not complete before act
	sequence bool
	closes   bool // it is a close
}

// situation is a column of the table.
type situation struct {
	name    string
	blocked bool // the operation, if it is one that waits, is to find nothing when it starts
	play    func(*stage, *subject)
}

// The situations by name.
const (
	successImmediately     = "success immediately"
	successLater           = "success later"
	endOfFile              = "EOF"
	resetBefore            = "reset before"
	resetMeanwhile         = "reset meanwhile"
	alreadyStopped         = "already stopped"
	stoppedWhileQueued     = "stopped while queued"
	stoppedElsewhereQueued = "stopped on another thread while queued"
	stoppedInFlight        = "stopped in flight"
	stoppedElsewhere       = "stopped on another thread"
	stoppedAfterCompletion = "stopped after completion"
	stoppedTwice           = "stopped twice, then with its loop"
	stoppedFromCallback    = "stopped from its own callback"
	reused                 = "reused inside its completion"
	closedBefore           = "started on a closing socket"
	closedWhileQueued      = "closed under it while queued"
	closedUnder            = "closed under it"
	closedFromCallback     = "closed from its own callback"
	loopStopped            = "its loop stopped"
	loopStopping           = "started on a stopping loop"
)

var situations = []situation{
	{successImmediately, false, playSuccessImmediately},
	{successLater, true, playSuccessLater},
	{endOfFile, true, func(_ *stage, x *subject) { x.meanwhile(x.end) }},
	{resetBefore, false, func(_ *stage, x *subject) { x.reset(); x.run(); x.await() }},
	{resetMeanwhile, true, func(_ *stage, x *subject) { x.meanwhile(x.reset) }},
	{alreadyStopped, false, playAlreadyStopped},
	{stoppedWhileQueued, true, playStoppedWhileQueued},
	{stoppedElsewhereQueued, true, playStoppedElsewhereQueued},
	{stoppedInFlight, true, playStoppedInFlight},
	{stoppedElsewhere, true, playStoppedElsewhere},
	{stoppedAfterCompletion, false, playStoppedAfterCompletion},
	{stoppedTwice, true, playStoppedTwice},
	{stoppedFromCallback, false, playStoppedFromCallback},
	{reused, false, playReused},
	{closedBefore, false, playClosedBefore},
	{closedWhileQueued, true, playClosedWhileQueued},
	{closedUnder, true, playClosedUnder},
	{closedFromCallback, false, playClosedFromCallback},
	{loopStopped, true, playLoopStopped},
	{loopStopping, false, playLoopStopping},
}

// run starts the operation on the loop's thread.
func (x *subject) run() {
	x.s.t.Helper()
	x.s.do(func() { x.begin(x.start) })
}

// happen causes the event that the operation waits for, if it waits.
func (x *subject) happen() {
	if x.act != nil {
		x.act()
	}
}

// meanwhile starts the operation and then calls what; an operation that waits for nothing is started after that.
func (x *subject) meanwhile(what func()) {
	x.s.t.Helper()
	if x.waits {
		x.run()
		x.s.settle()
		what()
	} else {
		what()
		x.run()
	}
	x.await()
}

// succeed waits for two items of a sequence, which it then stops. It waits for the completion.
func (x *subject) succeed() {
	x.s.t.Helper()
	if x.sequence {
		x.item()
		x.act()
		x.item()
		x.s.do(func() { x.s.stop(x.source) })
	}
	x.await()
}

func playSuccessImmediately(_ *stage, x *subject) {
	x.happen()
	x.run()
	x.succeed()
}

func playSuccessLater(s *stage, x *subject) {
	x.run()
	s.settle()
	x.happen()
	x.succeed()
}

func playAlreadyStopped(s *stage, x *subject) {
	s.stop(x.source)
	x.happen()
	x.run()
	x.await()
}

func playStoppedWhileQueued(s *stage, x *subject) {
	s.do(func() {
		x.begin(x.start)
		s.stop(x.source)
	})
	x.await()
}

func playStoppedElsewhereQueued(s *stage, x *subject) {
	s.do(func() {
		x.begin(x.start)
		done := s.newSignal()
		s.spawn("stopper", func() {
			s.stop(x.source)
			done.raise()
		})
		done.wait()
	})
	x.await()
}

func playStoppedInFlight(s *stage, x *subject) {
	x.run()
	s.settle()
	s.do(func() { s.stop(x.source) })
	x.await()
}

func playStoppedElsewhere(s *stage, x *subject) {
	x.run()
	s.settle()
	s.stop(x.source)
	x.await()
}

// playStoppedAfterCompletion completes another operation just before the subject, in the same batch of completions, and
// that one stops it.
func playStoppedAfterCompletion(s *stage, x *subject) {
	first := newTrace(s)
	first.onEnd = func() { s.stop(x.source) }
	fire := s.trigger(first, x.socket != nil)
	if x.act != nil {
		x.run()
		s.settle()
	}
	s.do(func() {
		fire()
		if x.act != nil {
			x.act()
		} else {
			x.begin(x.start)
		}
	})
	first.await()
	x.await()
}

// trigger puts an operation on the stage that completes once it is fired: ahead of all that becomes
// ready later in the same turn or, if nothing has to become ready, of all that is started later.
func (s *stage) trigger(tr *trace, ready bool) (fire func()) {
	if !ready {
		op := new(reactor.NopOp)
		s.loop.Nop().Connect(op, &receiver[struct{}]{trace: tr})
		return func() { tr.begin(op.Start) }
	}
	socket, p := s.pair(false)
	op := new(reactor.PollOp)
	socket.Poll(unix.POLLIN).Connect(op, &receiver[uint32]{trace: tr})
	s.do(func() { tr.begin(op.Start) })
	s.settle()
	return func() { p.write(hello) }
}

// playStoppedTwice stops the loop as well, which requests stop once more.
func playStoppedTwice(s *stage, x *subject) {
	x.run()
	s.settle()
	s.do(func() {
		s.stop(x.source)
		s.stop(x.source)
		s.loop.Stop()
	})
	x.await()
	s.wait()
}

func playStoppedFromCallback(s *stage, x *subject) {
	stopIt := func() { s.stop(x.source) }
	x.onItem, x.onEnd = stopIt, stopIt
	x.happen()
	x.run()
	x.await()
}

func playReused(s *stage, x *subject) {
	again := x.again
	if again == nil {
		again = x.start
	}
	x.onEnd = func() {
		x.source = new(stop.Source)
		x.begin(again)
	}
	for range 2 {
		x.happen()
		if x.started == 0 {
			x.run()
		}
		if x.sequence {
			x.item()
			s.do(func() { s.stop(x.source) })
		}
		x.await()
	}
}

// closing closes the subject's socket. start is called on the loop's thread.
type closing struct {
	*trace
	op reactor.CloseOp
}

func (x *subject) closing() *closing {
	c := &closing{trace: newTrace(x.s)}
	c.onEnd = func() {
		if len(x.results) == 0 && !x.closes {
			x.s.t.Error("the socket was closed while an operation on it was in flight")
		}
	}
	x.socket.Close().Connect(&c.op, &receiver[struct{}]{trace: c.trace})
	return c
}

// joined waits for the operation and the close.
func (c *closing) joined(x *subject) {
	x.s.t.Helper()
	x.await()
	c.await()
	if c.last.Channel != sendertest.OnValue {
		x.s.t.Errorf("closing the socket completed with %v", c.last)
	}
}

func playClosedBefore(s *stage, x *subject) {
	c := x.closing()
	x.happen()
	s.do(func() {
		c.begin(c.op.Start)
		x.begin(x.start)
	})
	c.joined(x)
}

func playClosedWhileQueued(s *stage, x *subject) {
	c := x.closing()
	s.do(func() {
		x.begin(x.start)
		c.begin(c.op.Start)
	})
	if x.closes {
		x.await()
		c.await()
		return
	}
	c.joined(x)
}

func playClosedUnder(s *stage, x *subject) {
	c := x.closing()
	x.run()
	s.settle()
	s.do(func() { c.begin(c.op.Start) })
	c.joined(x)
}

func playClosedFromCallback(_ *stage, x *subject) {
	c := x.closing()
	closeIt := func() {
		if c.started == 0 {
			c.begin(c.op.Start)
		}
	}
	x.onItem, x.onEnd = closeIt, closeIt
	x.happen()
	x.run()
	c.joined(x)
}

func playLoopStopped(s *stage, x *subject) {
	x.run()
	s.settle()
	s.loop.Stop()
	x.await()
	s.wait()
}

// playLoopStopping starts the subject when a sleep is stopped by the drain of the loop.
func playLoopStopping(s *stage, x *subject) {
	first := newTrace(s)
	sleep := new(reactor.SleepOp)
	s.loop.SleepFor(time.Hour).Connect(sleep, &receiver[struct{}]{trace: first})
	first.onEnd = func() { x.begin(x.start) }
	x.happen()
	s.do(func() { first.begin(sleep.Start) })
	s.settle()
	s.loop.Stop()
	first.await()
	x.await()
	s.wait()
}

var _ sender.Env = (*trace)(nil)
