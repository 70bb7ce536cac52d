package program

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Events runs a loop that waits for events: counts that other threads add to an event, signals, and exits of children.
// No event must be lost. Each child must be waited for once, also if a wait was stopped before.
func Events(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	e := &events{k: k, told: map[os.Signal]bool{}, children: 1 + rng.IntN(5), threads: 1 + rng.IntN(3)}
	e.left = e.children
	all := runLoops(k, []*reactor.Loop{NewLoop(k)}, func(l *reactor.Loop) {
		for e.event.Open(l) != nil { // until there are descriptors
		}
		counts := &eventCounts{events: e}
		e.event.Many(1).Connect(&counts.op, counts)
		counts.op.Start()
		signals := &eventSignals{events: e}
		l.Signals(1, syscall.SIGHUP, syscall.SIGUSR1).Connect(&signals.op, signals)
		signals.op.Start()
		for range e.children {
			launch(k, l, func(t *task.T) error { return e.wait(t, l) }, func(*taskRun) { e.left-- })
		}
		e.counts, e.signals = counts, signals
	})
	for i := range e.threads {
		k.Go(fmt.Sprintf("teller%d", i), func(t *simring.Thread) {
			t.Until(all.Up)
			e.tell(t)
		})
	}
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(func() bool { return all.Up() && e.threads == 0 && e.left == 0 && e.quiet() })
		all.Stop()
	})
	return func() {
		if e.got != e.added || !e.quiet() || k.Children() != 0 {
			k.Errorf("%d of %d came, signals %v, %d children are left", e.got, e.added, e.told, k.Children())
		}
	}
}

type events struct {
	k        *simring.Kernel
	event    reactor.Event
	counts   *eventCounts
	signals  *eventSignals
	threads  int
	children int
	left     int
	added    uint64
	got      uint64
	told     map[os.Signal]bool // of those that were sent: whether one has come since
}

// quiet reports whether all events have arrived.
func (e *events) quiet() bool {
	return e.got == e.added && !e.untold(syscall.SIGHUP) && !e.untold(syscall.SIGUSR1)
}

func (e *events) untold(sig os.Signal) bool {
	told, sent := e.told[sig]
	return sent && !told
}

// tell makes events, on another thread.
func (e *events) tell(t *simring.Thread) {
	rng := e.k.Rand()
	for range rng.IntN(10) {
		t.Sleep(time.Duration(1 + rng.Int64N(1<<rng.IntN(20))))
		if rng.IntN(2) == 0 {
			n := 1 + rng.Uint64N(5)
			e.added += n
			if err := e.event.Signal(n); err != nil {
				e.k.Errorf("an event: %v", err)
			}
			continue
		}
		sig := [2]syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1}[rng.IntN(2)]
		e.told[sig] = false
		e.k.Signal(sig)
	}
	e.threads--
}

// wait starts a child and waits for it, sometimes with timeouts at first.
func (e *events) wait(t *task.T, l *reactor.Loop) error {
	rng := e.k.Rand()
	status := rng.IntN(128)
	life := time.Duration(1 + rng.Int64N(1<<rng.IntN(24)))
	pid := e.k.Child(life, status)
	want := syscall.WaitStatus(status << 8)
	if rng.IntN(3) == 0 {
		if err := e.k.Kill(pid, syscall.SIGTERM); err != nil {
			return err
		}
		want = syscall.WaitStatus(syscall.SIGTERM)
	}
	var got syscall.WaitStatus
	err := os.ErrDeadlineExceeded
	for range 3 {
		patience := l.SleepFor(time.Duration(1 + rng.Int64N(int64(life))))
		if got, err = task.Await(t, sender.Timeout(l.WaitProcess(pid), patience)); err == nil {
			break
		}
	}
	for err != nil {
		got, err = task.Await(t, l.WaitProcess(pid))
		if err != nil && !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) {
			return err
		}
	}
	if got != want && got != syscall.WaitStatus(status<<8) {
		return fmt.Errorf("child %d ended with %#x instead of %#x", pid, got, want)
	}
	return nil
}

// eventCounts receives the counts.
type eventCounts struct {
	sender.EmptyEnv
	*events
	op    reactor.EventManyOp
	close reactor.CloseOp
}

func (c *eventCounts) SetNext(n uint64) {
	if n == 0 {
		c.k.Errorf("an event came with a count of 0")
	}
	c.got += n
	c.op.Grant(1)
}

func (c *eventCounts) SetValue(struct{})  { c.k.Errorf("a sequence of events completed with a value") }
func (c *eventCounts) SetError(err error) { c.k.Errorf("events: %v", err); c.SetStopped() }
func (c *eventCounts) Env() sender.Env    { return c }
func (c *eventCounts) SetStopped() {
	c.event.Close().Connect(&c.close, &closed{k: c.k})
	c.close.Start()
}

// eventSignals receives the signals.
type eventSignals struct {
	sender.EmptyEnv
	*events
	op reactor.SignalsOp
}

func (s *eventSignals) SetNext(sig os.Signal) {
	if _, sent := s.told[sig]; !sent {
		s.k.Errorf("%v came, which was not sent", sig)
	}
	s.told[sig] = true
	s.op.Grant(1)
}

func (s *eventSignals) SetValue(struct{})  { s.k.Errorf("a sequence of signals completed with a value") }
func (s *eventSignals) SetError(err error) { s.k.Errorf("signals: %v", err) }
func (s *eventSignals) SetStopped()        {}
func (s *eventSignals) Env() sender.Env    { return s }
