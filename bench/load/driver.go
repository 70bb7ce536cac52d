package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/proc"
)

// ErrReleased is returned by a run that was released before it had measured.
var ErrReleased = errors.New("released before the end")

type phase int

const (
	verifying phase = iota
	warming
	measuring
	holding
	over
)

// connecting is how many connects are under way at once, fewer than any server's backlog.
const connecting = 64

// A Driver runs one plan.
type Driver struct {
	plan     Plan
	target   *unix.SockaddrInet4
	poll     *poller
	upstream *Upstream
	ready    func() error

	phase      phase
	clients    []client
	begun      int    // clients that have begun to connect
	unverified int    // clients that are not through with verifying
	pattern    []byte // random bytes that messages are cut from
	scratch    []byte // what is received; one for all, so that it stays in the cache
	messages   int64  // that came back whole, of this phase

	start  reading // of the measuring phase
	result Result
}

// reading is the meters' state at one moment.
type reading struct {
	at                   time.Time
	server, load         time.Duration // CPU time
	serverWait, loadWait time.Duration // waiting for a CPU
}

// NewDriver prepares a run of plan. When release, a pipe or socket, becomes readable or ends, so does
// the run. A plan that holds calls ready on the driver's thread once its connections are idle; its
// error fails the run.
// The upstream stays the caller's, and serves one driver at a time.
func NewDriver(plan Plan, upstream *Upstream, release *os.File, ready func() error) (*Driver, error) {
	if err := plan.validate(); err != nil {
		return nil, err
	}
	target, err := sockaddr(plan.Target)
	if err != nil {
		return nil, err
	}
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	d := &Driver{
		plan:       plan,
		target:     target,
		poll:       poll,
		upstream:   upstream,
		ready:      ready,
		clients:    make([]client, plan.Conns),
		unverified: plan.Conns,
		pattern:    make([]byte, 4*MaxSize),
		scratch:    make([]byte, MaxSize),
	}
	rand.NewChaCha8([32]byte{}).Read(d.pattern)
	err = errors.Join(
		poll.add(upstream.listener, unix.EPOLLIN, onListener, 0),
		poll.add(int(release.Fd()), unix.EPOLLIN, onRelease, 0))
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close resets the driver's connections and the upstream's.
func (d *Driver) Close() {
	d.upstream.reset()
	for i := range d.clients[:d.begun] {
		abort(d.clients[i].fd)
	}
	d.begun = 0
	d.poll.close()
}

// Run executes the plan. It is called once, on a goroutine locked to its thread.
func (d *Driver) Run() (Result, error) {
	if err := d.poll.after(setupLimit); err != nil {
		return d.result, err
	}
	for range connecting {
		if err := d.connectNext(); err != nil {
			return d.result, err
		}
	}
	for d.phase != over {
		events, err := d.poll.wait()
		if err != nil {
			return d.result, err
		}
		for i := range events {
			if err := d.dispatch(&events[i]); err != nil {
				return d.result, err
			}
		}
	}
	return d.result, nil
}

func (d *Driver) dispatch(ev *unix.EpollEvent) error {
	switch ev.Pad {
	case onClient:
		return d.clientReady(&d.clients[ev.Fd], ev.Events)
	case onUpstream:
		d.upstream.ready(int(ev.Fd), ev.Events, d.scratch)
		return nil
	case onListener:
		return d.upstream.accept(d.poll)
	case onTimer:
		return d.timeUp()
	default: // onRelease
		if d.phase != holding && d.phase != over {
			return ErrReleased
		}
		d.phase = over
		return nil
	}
}

// verified is called when a client is through with verifying.
func (d *Driver) verified() error {
	d.unverified--
	if d.unverified > 0 {
		return nil
	}
	if d.plan.Hold {
		d.phase = holding
		if err := d.ready(); err != nil {
			return err
		}
		return d.poll.after(holdLimit)
	}
	d.phase = warming
	if err := d.poll.after(d.plan.Warmup); err != nil {
		return err
	}
	for i := range d.clients {
		if err := d.next(&d.clients[i]); err != nil {
			return err
		}
	}
	return nil
}

// timeUp ends the phase.
func (d *Driver) timeUp() error {
	var expirations [8]byte
	if _, err := unix.Read(d.poll.timer, expirations[:]); err != nil {
		return nil // set anew after this event was reported
	}
	switch d.phase {
	case verifying:
		return fmt.Errorf("%d of %d connections did not answer within %v", d.unverified, d.plan.Conns, setupLimit)
	case warming:
		var err error
		if d.start, err = d.read(); err != nil {
			return err
		}
		d.phase, d.messages = measuring, 0
		return d.poll.after(d.plan.Time)
	case measuring:
		end, err := d.read()
		if err != nil {
			return err
		}
		d.result.Messages = d.messages
		d.result.Elapsed = end.at.Sub(d.start.at)
		d.result.ServerCPU = end.server - d.start.server
		d.result.LoadCPU = end.load - d.start.load
		d.result.ServerWait = end.serverWait - d.start.serverWait
		d.result.LoadWait = end.loadWait - d.start.loadWait
		d.phase = over
	case holding:
		return fmt.Errorf("nobody released the idle connections within %v", holdLimit)
	}
	return nil
}

// read takes all the meters.
func (d *Driver) read() (r reading, err error) {
	if r.server, err = proc.CPUTime(d.plan.Pids...); err != nil {
		return r, err
	}
	if r.load, err = proc.CPUTime(os.Getpid()); err != nil {
		return r, err
	}
	if r.serverWait, err = proc.Wait(d.plan.Pids...); err != nil {
		return r, err
	}
	if r.loadWait, err = proc.Wait(os.Getpid()); err != nil {
		return r, err
	}
	r.at = time.Now()
	return r, nil
}
