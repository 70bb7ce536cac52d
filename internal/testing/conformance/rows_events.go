package conformance

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// occurring are the cells of sequences of events of the process.
var occurring = acceptingMany.with(cells{endOfFile: noStream, resetBefore: noReset, resetMeanwhile: noReset})

var sigkill = int(unix.SIGKILL)

var events = []row{
	{"event wait", true, eventWait, receiving.with(cells{
		successImmediately:     value(1),
		successLater:           value(1),
		endOfFile:              noStream,
		resetBefore:            noReset,
		resetMeanwhile:         noReset,
		stoppedAfterCompletion: value(1),
		stoppedFromCallback:    value(1),
		reused:                 value(1).then(value(1)),
		closedFromCallback:     value(1),
	})},
	{"event many", true, eventMany, occurring},
	{"signals", true, signals, occurring.with(socketless).with(cells{
		stoppedAfterCompletion: stopped.orMore(), // a signal takes its time
	})},
	{"wait for a process", true, waitProcess, waiting.with(socketless).with(cells{
		successImmediately:     value(sigkill),
		successLater:           value(sigkill),
		stoppedAfterCompletion: orStopped(value(sigkill)), // to die takes its time
		stoppedFromCallback:    value(sigkill),
		reused:                 value(sigkill).then(fails(unix.ECHILD)),
	})},
}

// event puts an Event on the stage.
func event(s *stage, x *subject) *reactor.Event {
	e := new(reactor.Event)
	s.must(e.Open(s.loop))
	// What can be closed is a socket here, which is a Descriptor and nothing else.
	x.socket = (*reactor.Socket)(unsafe.Pointer(&e.Descriptor))
	s.sockets = append(s.sockets, x.socket)
	x.waits = true
	x.act = func() { s.must(e.Signal(1)) }
	return e
}

func eventWait(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	e := event(s, x)
	op := new(reactor.EventWaitOp)
	e.Wait().Connect(op, &receiver[uint64]{x.trace, func(n uint64) int { return int(n) }})
	x.start = op.Start
	return x
}

func eventMany(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s), sequence: true}
	e := event(s, x)
	op := new(reactor.EventManyOp)
	e.Many(1).Connect(op, receiveItems(x.trace, func(n uint64) int {
		op.Grant(1)
		return int(n)
	}))
	x.start = op.Start
	return x
}

// signals waits for signals that the process is sent.
func signals(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s), sequence: true, waits: true}
	op := new(reactor.SignalsOp)
	s.loop.Signals(1, syscall.SIGUSR1).Connect(op, receiveItems(x.trace, func(sig os.Signal) int {
		op.Grant(1)
		return int(sig.(syscall.Signal))
	}))
	early := false
	x.act = func() {
		if early = x.started == 0; !early { // before the start there is no listener
			s.must(s.interrupt(unix.SIGUSR1))
		}
	}
	x.start = func() {
		op.Start()
		if early {
			early = false
			s.must(s.interrupt(unix.SIGUSR1))
		}
	}
	return x
}

func waitProcess(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s), waits: true}
	pid := s.child(s.t)
	killed := false
	x.act = func() {
		if !killed {
			killed = true
			s.must(s.kill(pid, unix.SIGKILL))
		}
	}
	op := new(reactor.WaitProcessOp)
	s.loop.WaitProcess(pid).Connect(op, &receiver[syscall.WaitStatus]{x.trace, func(st syscall.WaitStatus) int {
		if !st.Signaled() {
			return 0
		}
		return int(st.Signal())
	}})
	x.start = op.Start
	return x
}
