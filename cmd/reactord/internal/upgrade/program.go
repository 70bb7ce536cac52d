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

// Timeout is how long a successor may take to serve, unless the context of [Program.Start] ends earlier.
const Timeout = time.Minute

// Errors of [Program.Start].
var (
	// ErrUpgrading: another call is waiting for a successor.
	ErrUpgrading = errors.New("an upgrade is already in progress")
	// ErrUpgraded: a successor serves already.
	ErrUpgraded = errors.New("a successor serves already")
	// ErrInit: the process is the first one of its container or machine, whose end would end everything in there.
	ErrInit = errors.New("process 1 cannot be upgraded, because its end is the end of the container: " +
		"start a new container, or run reactord below an init process (docker run --init)")
)

// Program is how this process was started.
type Program struct {
	path string
	err  error // why the path is not known
	args []string

	mu    sync.Mutex
	state programState
}

// programState is what a Program does:
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

// NewProgram remembers how this process was started. It is called early: the path is that of the file then, and a file
// that replaces it later is the one that is started.
//
// Without /proc the path is not known. Then only [Program.Start] fails.
func NewProgram() *Program {
	p := &Program{args: slices.Clone(os.Args)}
	p.path, p.err = os.Executable()
	return p
}

// Successor is a process that serves in place of this one.
type Successor struct {
	PID    int
	Exited <-chan struct{} // closed when it has ended
	// Timeout is how long this process may take to end, as the successor says; negative: it has not said it.
	Timeout time.Duration

	socket  *os.File
	process *os.Process
	serves  atomic.Bool
	state   *os.ProcessState // valid once Exited is closed
}

// endTime is how long a process may take to end that has closed its socket.
const endTime = time.Second

// Start starts the program anew, with the same arguments and with the sockets, and returns when the successor serves.
// After an error there is no successor: it is killed if it does not serve in time. The sockets stay the caller's, who
// keeps them open meanwhile. older are the processes before this one that have not ended; they stay the caller's, too.
// state goes to [Given.State] in the form of package json; nil: nothing. The caller tells the service manager
// ([MainProcess]), and then calls [Successor.Confirm].
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
		return nil, fmt.Errorf("starting %s: %w", p.path, err)
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = json.NewEncoder(s.socket).Encode(m) // without it there is no answer
	}()
	err = s.await(ctx)
	if err != nil {
		_ = s.socket.Close()
		<-told
		return nil, fmt.Errorf("the successor, process %d: %w", s.PID, s.kill(err))
	}
	<-told // it has the manifest, because it is ready
	s.serves.Store(true)
	return s, nil
}

// kill ends a successor that does not serve and its process group, and waits until it has ended. It adds how to the
// error.
func (s *Successor) kill(err error) error {
	if errors.Is(err, errNoAnswer) { // it is ending
		select {
		case <-s.Exited:
			return fmt.Errorf("%w (%v)", err, s.state)
		case <-time.After(endTime):
		}
	}
	_ = s.process.Kill() // an error means that it has ended
	<-s.Exited
	return err
}

func (p *Program) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case os.Getpid() == 1:
		return ErrInit
	case p.err != nil:
		return fmt.Errorf("the path of the program is not known: %w", p.err)
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

// spawn starts the process. Package os/exec is not used, because an os.File would change the mode of the sockets.
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
		// A process group, so that what a wrapper script has started is killed with it: it has the sockets, too.
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

// wait waits until the successor has ended. If it has not served, its process group is killed: before its parent has
// taken its state, so that the id is not another group's yet.
func (s *Successor) wait() {
	for errors.Is(unix.Waitid(unix.P_PID, s.PID, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
	if !s.serves.Load() {
		_ = unix.Kill(-s.PID, unix.SIGKILL)
	}
	s.state, _ = s.process.Wait()
}

// environment is that of a successor.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		// The watchdog waits for the main process, which the successor will be.
		return name == successorEnv || name == "WATCHDOG_PID" || slices.Contains(managerEnv, name)
	})
	return append(env, successorEnv+"="+strconv.Itoa(firstFD))
}

// newManifest is what the successor is told.
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

// Failure is how the successor has failed, once Exited is closed; nil: it has ended well.
func (s *Successor) Failure() error {
	if s.state == nil || s.state.Success() {
		return nil
	}
	return errors.New(s.state.String())
}

// Terminate asks the successor to end.
func (s *Successor) Terminate() { _ = s.process.Signal(unix.SIGTERM) }
