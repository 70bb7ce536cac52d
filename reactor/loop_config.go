//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/internal/host"
)

// LoopConfig is how a [Loop] is made. Its zero value works.
type LoopConfig struct {
	// Name is the loop's in labels of profiles and goroutine dumps, and in reports. The loops of a [Reactor] have their
	// number behind it, or for a name. Default: "loop".
	Name string
	// Ring chooses the ring. Default: [Auto].
	Ring RingKind
	// Entries is the size of the submission queue, rounded up to a power of two. Default 1024.
	Entries int
	// CPUs are the CPUs that the loop's thread may run on. Default: all that the process may run on.
	CPUs []int
	// Buffers sizes the loop's receive buffers.
	Buffers BufferConfig
	// MaxOffloads is how many jobs may run on worker threads at a time: see [Offload]. Default 8.
	MaxOffloads int
	// TimerSlack is the shortest time that the loop sleeps when a timer is near, so that timers which are due close
	// together expire together; otherwise each of them would cost a sleep of its own. A timer is late by at most that
	// much because of it. Default 50 µs, which is the slack of threads in Linux, see PR_SET_TIMERSLACK(2const), that
	// io_uring does not apply. Negative: none.
	TimerSlack time.Duration
	// MinWait trades latency for CPU time: a loop that goes to sleep sleeps for at least that long, so that each
	// wake-up finds more completions. What arrives meanwhile, posts of other threads too, is late by at most that much;
	// timers are not. After MinWait the first completion wakes the loop immediately.
	//
	// It is useful at some 10 000 to 60 000 messages a second on a loop: fewer messages are too far apart to share a
	// wake-up, and with more the loop hardly sleeps. It slows down a peer that waits for each reply before it sends
	// the next request. It has steps of 1 µs, and is 100 ms at most. Default 0: none.
	MinWait time.Duration
	// DrainTimeout is how long [Loop.Run], once stopped, waits for the operations in flight to complete. Operations
	// that have not completed by then are leaked, and counted. Tasks are aborted when an eighth of the time is left:
	// see package task. Default 10 s.
	DrainTimeout time.Duration
	// SlowTurn is how long the loop may be in one callback, or in all that it has to do before it looks for completions
	// again, before that is reported. Default 1 s. Negative: it is not.
	SlowTurn time.Duration
	// OnSlowTurn is called when a turn lasts longer than SlowTurn, while it lasts or when it has just ended: on another
	// goroutine, which watches all loops of the process, so that it must return soon. It is called once for a turn, and
	// at most every 10 s. It is not called because the process was stopped or the machine suspended, nor for a loop on
	// a simulated kernel. Default: what it is given is logged by package log.
	OnSlowTurn func(SlowTurn)
	// OnTaskError is called, on the loop's thread, with the error of a task that was started by [Loop.Spawn]. Default:
	// the loop is stopped, and Run returns the first such error.
	OnTaskError func(error)
}

// maxMinWait is the longest minimum wait. A longer one is a mistake in the unit.
const maxMinWait = 100 * time.Millisecond

// withDefaults is cfg with its defaults filled in, or the reason why it is invalid.
func (cfg LoopConfig) withDefaults() (LoopConfig, error) {
	if cfg.Entries < 0 {
		return cfg, fmt.Errorf("reactor: LoopConfig.Entries is %d, and cannot be negative", cfg.Entries)
	}
	if cfg.MinWait != 0 && cfg.MinWait < time.Microsecond || cfg.MinWait > maxMinWait {
		return cfg, fmt.Errorf("reactor: LoopConfig.MinWait %v is out of range: 0, or %v to %v",
			cfg.MinWait, time.Microsecond, maxMinWait)
	}
	if cfg.DrainTimeout <= 0 {
		cfg.DrainTimeout = 10 * time.Second
	}
	if cfg.TimerSlack == 0 {
		cfg.TimerSlack = 50 * time.Microsecond
	}
	if cfg.SlowTurn == 0 {
		cfg.SlowTurn = slowTurn
	}
	if cfg.Name == "" {
		cfg.Name = "loop"
	}
	if cfg.MaxOffloads <= 0 {
		cfg.MaxOffloads = 8
	}
	return cfg, nil
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
	return l, nil
}

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
	caps := ring.Caps()
	l := &Loop{
		ring: ring, sys: sys, cfg: cfg, name: cfg.Name, hosted: hosted, done: make(chan struct{}),
		ops: caps.Ops, recvLimit: caps.RecvLimit, recvMany: caps.RecvmsgMultishot, sendTo: caps.SendTo,
	}
	l.slots.init()
	l.remote.init()
	l.stops.init()
	if err := l.buffers.init(l, cfg.Buffers); err != nil {
		return nil, err
	}
	return l, nil
}

// Discard frees a loop that has never run. Work that was posted to it is abandoned.
func (l *Loop) Discard() error {
	if l.begun.Swap(true) {
		panic("reactor: Discard of a Loop that has run, is running, or was discarded: Discard is for a Loop that never runs")
	}
	return l.discard()
}

func (l *Loop) discard() error {
	l.refuse()
	err := l.ring.Close()
	l.buffers.unmap()
	return err
}
