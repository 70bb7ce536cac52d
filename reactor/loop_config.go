//go:build linux

package reactor

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/histogram"
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// LoopConfig configures a [Loop]. Its zero value works.
type LoopConfig struct {
	// Name names the loop in labels of profiles and goroutine dumps, and in reports. The loops of a [Reactor] append
	// their number to it, or use the number as the name. Default: "loop".
	Name string
	// Ring chooses the ring. Default: [Auto].
	Ring RingKind
	// Entries is the size of the submission queue, rounded up to a power of two: at most 32768. Default 1024.
	Entries int
	// Restrict are the opcodes that the loop may submit. An operation of another opcode completes as on a ring that does
	// not have it: see [Loop.Caps]. The kernel enforces it for a ring of io_uring, if that has [uring.Caps].Restrictions:
	// whatever code in this process submits, the kernel does nothing else for it through this ring. POLL_ADD,
	// ASYNC_CANCEL, CLOSE and NOP are always there. [uring.AllOps] are what this package submits, of several times as
	// many that the kernel has. Default: no restriction.
	Restrict uring.OpSet
	// CPUs are the CPUs that the loop's thread may run on: numbers from 0 on. Default: all that the process may run on.
	CPUs []int
	// Buffers sizes the loop's receive buffers.
	Buffers BufferConfig
	// MaxOffloads bounds the jobs that run on worker threads at a time: see [Offload]. At most 10000. Default 8.
	MaxOffloads int
	// TimerSlack is the shortest time that the loop sleeps when a timer is near, so that timers which are due close
	// together expire together; otherwise each of them would cost a sleep. A timer is late by at most that much because
	// of it. Default 50 µs, which is the slack of threads in Linux, see PR_SET_TIMERSLACK(2const), that io_uring does
	// not apply. A negative one is 0.
	TimerSlack time.Duration
	// MinWait trades latency for CPU time: a loop that goes to sleep sleeps for at least that long, so that each
	// wake-up finds more completions. What arrives meanwhile, posts of other threads too, is late by at most that much;
	// timers are not. After MinWait the first completion wakes the loop immediately.
	//
	// It is useful at some 10 000 to 60 000 messages a second on a loop: fewer messages are too far apart to share a
	// wake-up, and with more the loop hardly sleeps. It slows down a peer that waits for each reply before it sends the
	// next request. It has steps of 1 µs, and is 100 ms at most. Default 0.
	MinWait time.Duration
	// DrainTimeout bounds the time that [Loop.Run], once stopped, waits for the operations in flight to complete.
	// Operations that have not completed by then are leaked, counted, and named by the error of Run, which matches
	// [ErrLeaked]. Tasks are abandoned when an eighth of the time is left: see package task. Then the error matches
	// [task.ErrAbandoned]. Default 10 s.
	DrainTimeout time.Duration
	// SlowTurn bounds the time that the loop spends in one callback, or in all that it has to do before it looks for
	// completions again; a longer one is reported. Default 1 s. Negative disables the reports.
	SlowTurn time.Duration
	// OnSlowTurn is called when a turn lasts longer than SlowTurn, while it lasts or when it has just ended: on another
	// goroutine, which watches all loops of the process, so that it must return soon. It is called once for a turn, and
	// at most every 10 s. It is not called because the process was stopped or the machine suspended, nor for a loop on
	// a simulated kernel. Default: what it is given is logged by package log.
	OnSlowTurn func(SlowTurn)
	// OnTaskError is called, on the loop's thread, with the error of a task that was started by [Loop.Spawn]. Default:
	// the loop is stopped, and Run returns the first such error.
	OnTaskError func(error)
	// OnMisuse is called, on the loop's thread, with what the loop finds out about the program that no panic or error
	// of an operation can say. It matches [ErrNotReleased] if receives have waited for long because all buffers are
	// leased; at the end of Run it matches that or [ErrNotClosed] if the program has left a lease or a descriptor behind.
	// Default: package log prints it.
	OnMisuse func(error)
}

// maxMinWait is the longest minimum wait. A longer one is a mistake in the unit.
const maxMinWait = 100 * time.Millisecond

// The most that a LoopConfig can ask for. More is a mistake in the unit, or has no effect.
const (
	maxEntries    = 1 << 15 // of io_uring: IORING_MAX_ENTRIES
	maxOffloads   = 10_000  // Go's own limit of threads
	maxCPUs       = 8 * len(unix.CPUSet{}) * int(unsafe.Sizeof(unix.CPUSet{}[0]))
	maxTimerSlack = time.Second
	maxDrain      = math.MaxInt64
)

// withDefaults returns cfg with its defaults filled in, or the reason why it is invalid.
func (cfg LoopConfig) withDefaults() (LoopConfig, error) {
	err := cmp.Or(
		setInRange("LoopConfig.Entries", &cfg.Entries, 1, maxEntries, 1024),
		setInRange("LoopConfig.MaxOffloads", &cfg.MaxOffloads, 1, maxOffloads, 8),
		setInRange("LoopConfig.MinWait", &cfg.MinWait, time.Microsecond, maxMinWait, 0),
		setInRange("LoopConfig.DrainTimeout", &cfg.DrainTimeout, 1, maxDrain, 10*time.Second),
		setInRange("LoopConfig.TimerSlack", &cfg.TimerSlack, -maxTimerSlack, maxTimerSlack, 50*time.Microsecond),
	)
	for _, cpu := range cfg.CPUs {
		if err == nil && (cpu < 0 || cpu >= maxCPUs) {
			err = fmt.Errorf("reactor: LoopConfig.CPUs has %d, which is out of range: 0 to %d", cpu, maxCPUs-1)
		}
	}
	if err == nil {
		cfg.Buffers, err = cfg.Buffers.withDefaults()
	}
	if cfg.SlowTurn == 0 {
		cfg.SlowTurn = slowTurn
	}
	if cfg.Name == "" {
		cfg.Name = "loop"
	}
	return cfg, err
}

// setInRange sets *v to otherwise if it is 0, and returns an error that names it if it is out of range.
func setInRange[T int | time.Duration](name string, v *T, least, most, otherwise T) error {
	switch {
	case *v == 0:
		*v = otherwise
	case *v < least || *v > most:
		return fmt.Errorf("reactor: %s is %v, which is out of range: %v to %v, or 0 for the default of %v",
			name, *v, least, most, otherwise)
	}
	return nil
}

// NewLoop makes a loop and its ring. The caller must call [Loop.Run], or [Loop.Discard] if the loop never runs.
func NewLoop(cfg LoopConfig) (*Loop, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	ring, choice, err := newRing(cfg.Ring, cfg.Entries)
	if err != nil {
		return nil, err
	}
	l, err := NewLoopOn(ring, nil, cfg)
	if err != nil {
		_ = ring.Close()
		return nil, err
	}
	l.choice = choice
	startPoller()
	return l, nil
}

// startPoller lets the Go runtime open its own epoll instance now. Otherwise the first timer of the process does that,
// such as the first deadline of a net.Conn, and if there is no descriptor left then, the runtime ends the program.
func startPoller() { time.AfterFunc(time.Hour, func() {}).Stop() }

// NewLoopOn makes a loop on a given ring and system; a nil sys is that of the process. The types are internal: it is
// how this module's simulated kernel runs loops. The loop closes the ring; if NewLoopOn fails, the caller does.
// cfg.Ring and cfg.Entries are ignored.
func NewLoopOn(ring host.Ring, sys host.System, cfg LoopConfig) (*Loop, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	hosted := sys == nil
	if hosted {
		sys = host.Process()
	}
	if cfg.MinWait > 0 {
		w, ok := ring.(host.MinWaiter)
		if !ok {
			return nil, fmt.Errorf("reactor: LoopConfig.MinWait is set, and a %T has no minimum wait: %w",
				ring, errors.ErrUnsupported)
		}
		w.SetMinWait(cfg.MinWait)
	}
	if err := restrict(ring, cfg.Restrict); err != nil {
		return nil, err
	}
	caps := ring.Caps()
	l := &Loop{
		ring: ring, sys: sys, cfg: cfg, name: cfg.Name, hosted: hosted, done: make(chan struct{}),
		ops: cfg.allowed(caps.Ops), recvLimit: caps.RecvLimit, recvMany: caps.RecvmsgMultishot, sendTo: caps.SendTo,
	}
	l.turns.slow.cells, l.late.timers.cells = histogram.SlowTurns, histogram.Lateness
	l.slots.init()
	l.remote.init()
	l.stops.init()
	if err := l.buffers.init(l, group, cfg.Buffers); err != nil {
		return nil, err
	}
	l.unused = runtime.AddCleanup(l, forgotten.free, forgotten{ring, l.buffers.mem})
	return l, nil
}

// Discard frees a loop that has never run. Work that was posted to it is abandoned.
func (l *Loop) Discard() error {
	if l.begun.Swap(true) {
		panic("reactor: Discard of a Loop that has run, is running, or was discarded: Discard is for a Loop that never runs")
	}
	l.unused.Stop()
	return l.discard()
}

func (l *Loop) discard() error {
	l.refuse()
	err := l.ring.Close()
	l.unmapBuffers()
	return err
}
