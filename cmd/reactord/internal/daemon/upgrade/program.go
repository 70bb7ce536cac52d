package upgrade

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Timeout limits how long a successor may take to serve, unless the context of [Program.Start] ends earlier.
const Timeout = time.Minute

// Errors of [Program.Start].
var (
	// ErrUpgrading means that another call is waiting for a successor.
	ErrUpgrading = errors.New("an upgrade is already in progress")
	// ErrUpgraded means that a successor already serves.
	ErrUpgraded = errors.New("a successor already serves")
	// ErrInit means that the process is the first one of its container or machine, which would end with it.
	ErrInit = errors.New("process 1 cannot be upgraded, because its end is the end of the container: " + ownInit)
	// ErrInitEnds means that the process was started by an init process that ends with it.
	ErrInitEnds = errors.New("the init process of this container ends with the process that it has started, which an " +
		"upgrade replaces: " + ownInit)
)

const ownInit = "start a new container, or let process 1 be \"reactord init\" (reactord init serve --config FILE)"

// shortInits are the programs that end with the process that they have started, by the names that they have in
// containers.
var shortInits = []string{"tini", "tini-static", "docker-init", "dumb-init", "catatonit", "podman-init"}

// endsWithChild reports whether a process is such a program.
func endsWithChild(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && slices.Contains(shortInits, strings.TrimSpace(string(name)))
}

// Program records how this process was started.
type Program struct {
	path string
	err  error // why the path is unknown
	args []string

	mu    sync.Mutex
	state programState
}

// programState is the state of a Program:
//
//	alone     → upgrading  Start
//	upgrading → alone      the successor has failed
//	upgrading → upgraded   the successor serves
type programState uint8

const (
	alone programState = iota
	upgrading
	upgraded
)

// NewProgram records how this process was started. Call it early: it takes the current path of the program, from
// which an upgrade starts whatever file is there by then.
//
// Without /proc the path is unknown. Then only [Program.Start] fails.
func NewProgram() *Program {
	p := &Program{args: slices.Clone(os.Args)}
	p.path, p.err = os.Executable()
	return p
}

// Successor is a process that serves in place of this one.
type Successor struct {
	PID    int
	Exited <-chan struct{} // closed when it has ended
	// Timeout is how long this process may take to end, as the successor demands; negative if it does not.
	Timeout time.Duration

	socket  *os.File
	process *os.Process
	serves  atomic.Bool
	state   *os.ProcessState // valid once Exited is closed
}

// endTime limits how long a process may take to exit after closing its socket.
const endTime = time.Second

// Start starts the program again, with the same arguments and with the sockets, and returns when the successor
// serves. After an error there is no successor: one that does not serve in time is killed. The caller keeps the
// sockets open meanwhile, and owns them and older, the processes before this one that have not ended. state is passed
// to [Given.State] in the form of package json; it may be nil. Afterwards, the caller calls [MainProcess] and then
// [Successor.Confirm].
func (p *Program) Start(
	ctx context.Context, sockets []Socket, older []*Predecessor, state any,
) (_ *Successor, err error) {
	m, err := newManifest(sockets, state)
	if err != nil {
		return nil, err
	}
	if err := p.begin(); err != nil {
		return nil, err
	}
	defer func() { p.finish(err == nil) }()
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	fds, pids := dups(older)
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	m.Older = pids
	s, err := p.spawn(sockets, fds)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.path, err)
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = json.NewEncoder(s.socket).Encode(m) // on failure, there is no answer
	}()
	err = s.await(ctx)
	if err != nil {
		_ = s.socket.Close()
		<-told
		return nil, fmt.Errorf("successor, process %d: %w", s.PID, s.kill(err))
	}
	<-told // a ready successor has read the manifest
	s.serves.Store(true)
	return s, nil
}

// kill kills a successor that does not serve, with its process group, and waits until it has exited. It adds its fate
// to the error.
func (s *Successor) kill(err error) error {
	if errors.Is(err, errNoAnswer) { // it is exiting
		select {
		case <-s.Exited:
			return fmt.Errorf("%w (%v)", err, s.state)
		case <-time.After(endTime):
		}
	}
	_ = s.process.Kill() // an error means that it has exited
	<-s.Exited
	return err
}

func (p *Program) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case os.Getpid() == 1:
		return ErrInit
	case endsWithChild(os.Getppid()):
		return ErrInitEnds
	case p.err != nil:
		return fmt.Errorf("the path of the program is unknown: %w", p.err)
	case p.state == upgrading:
		return ErrUpgrading
	case p.state == upgraded:
		return ErrUpgraded
	}
	p.state = upgrading
	return nil
}

func (p *Program) finish(serves bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state = alone; serves {
		p.state = upgraded
	}
}

// spawn starts the process. It does not use os/exec, because an os.File would change the mode of the sockets.
func (p *Program) spawn(sockets []Socket, older []int) (*Successor, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[1])
	own := os.NewFile(uintptr(pair[0]), "successor")
	files := []uintptr{0, 1, 2, uintptr(pair[1])}
	for _, s := range sockets {
		files = append(files, uintptr(s.FD))
	}
	for _, fd := range older {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(p.path, p.args, &syscall.ProcAttr{
		Env: environment(), Files: files,
		// A separate process group, so that what a wrapper script has started is killed with it: it has the sockets,
		// too.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	done := make(chan struct{})
	s := &Successor{PID: pid, Exited: done, socket: own, process: process}
	go func() {
		defer close(done)
		s.wait()
	}()
	return s, nil
}

// wait waits until the successor has exited. If it has not served, its process group is killed before its status is
// collected, so that the id cannot be reused yet.
func (s *Successor) wait() {
	for errors.Is(unix.Waitid(unix.P_PID, s.PID, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
	if !s.serves.Load() {
		_ = unix.Kill(-s.PID, unix.SIGKILL)
	}
	s.state, _ = s.process.Wait()
}

// environment returns the environment of a successor.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		// The watchdog follows the main process, which the successor will be.
		return name == successorEnv || name == "WATCHDOG_PID" || slices.Contains(managerEnv, name)
	})
	return append(env, successorEnv+"="+strconv.Itoa(firstFD))
}

// newManifest returns the first message to the successor.
func newManifest(sockets []Socket, state any) (m manifest, err error) {
	m.PID = os.Getpid()
	for _, s := range sockets {
		m.Sockets = append(m.Sockets, s.Name)
	}
	if state != nil {
		m.State, err = json.Marshal(state)
	}
	return m, err
}

// await waits until the successor serves.
func (s *Successor) await(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.socket.SetDeadline(time.Unix(1, 0)) })()
	line, err := bufio.NewReader(io.LimitReader(s.socket, maxReason+16)).ReadString('\n')
	word, reason, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	switch {
	case err == nil && word == answerReady:
		if s.Timeout, err = time.ParseDuration(reason); err != nil {
			s.Timeout = -1
		}
		return nil
	case err == nil && word == answerFailed:
		return errors.New(reason)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("it was not ready in time, and was killed")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return errNoAnswer
}

// Failure returns how the successor failed, once Exited is closed, or nil if it exited successfully.
func (s *Successor) Failure() error {
	if s.state == nil || s.state.Success() {
		return nil
	}
	return errors.New(s.state.String())
}

// Terminate asks the successor to exit.
func (s *Successor) Terminate() { _ = s.process.Signal(unix.SIGTERM) }
