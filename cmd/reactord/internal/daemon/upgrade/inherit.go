package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Environment of a process that inherits sockets.
const (
	successorEnv = "REACTORD_SUCCESSOR" // the descriptor of the socket to the predecessor
	firstFD      = 3                    // see sd_listen_fds(3)
)

// manifest is a predecessor's first message to its successor. The descriptors after the socket between them are those
// of the sockets, followed by those to older processes.
type manifest struct {
	Sockets []string        `json:"sockets"`         // names
	State   json.RawMessage `json:"state,omitempty"` // see [Given.State]
	PID     int             `json:"pid,omitempty"`   // of the predecessor
	Older   []int           `json:"older,omitempty"` // process ids of its predecessors
}

// Answers of a successor: a line that starts with one of these words, followed after "ready" by how long the
// predecessor may take to end, and after "failed" by the reason.
const (
	answerReady  = "ready"
	answerFailed = "failed"
)

const (
	maxManifest    = 64 << 20 // bytes: a million sockets
	manifestTime   = 10 * time.Second
	confirmTime    = 5 * time.Second
	maxReason      = 4 << 10 // bytes
	maxDescriptors = 1 << 20
)

// Given holds what a process has inherited. A nil Given has nothing.
type Given struct {
	mu          sync.Mutex
	sockets     []Socket
	stored      []Socket
	state       json.RawMessage
	predecessor *os.File // socket to it; nil if there is none, or it knows how the start ended
	pid         int      // of the predecessor
	older       []*Predecessor
}

// Inherit takes over what was passed to the process, and removes it from the environment.
func Inherit() (*Given, error) {
	g := &Given{}
	err := g.fromPredecessor()
	if err == nil {
		err = g.fromManager()
	}
	if err != nil {
		g.Fail(err)
		g.Discard()
		return nil, err
	}
	g.stored = slices.DeleteFunc(g.Sockets(), func(s Socket) bool { return strings.HasPrefix(s.Name, fdPrefix) })
	return g, nil
}

// fromPredecessor takes over the sockets of a predecessor.
func (g *Given) fromPredecessor() error {
	text := os.Getenv(successorEnv)
	if text == "" {
		return nil
	}
	_ = os.Unsetenv(successorEnv)
	fd, err := strconv.Atoi(text)
	if err == nil {
		err = isSocket(fd)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", successorEnv, text, err)
	}
	unix.CloseOnExec(fd)
	g.predecessor = os.NewFile(uintptr(fd), "predecessor")
	_ = g.predecessor.SetReadDeadline(time.Now().Add(manifestTime))
	var m manifest
	if err := json.NewDecoder(io.LimitReader(g.predecessor, maxManifest)).Decode(&m); err != nil {
		return fmt.Errorf("sockets of the predecessor: %w", err)
	}
	g.state, g.pid = m.State, m.PID
	for i, name := range m.Sockets {
		if err := g.add(Socket{name, fd + 1 + i}); err != nil {
			return err
		}
	}
	return g.adoptOlder(m.Older, fd+1+len(m.Sockets))
}

func isSocket(fd int) error {
	_, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return os.NewSyscallError("getsockopt", err)
}

// fromManager takes over the sockets of the service manager. See sd_listen_fds(3).
func (g *Given) fromManager() error {
	pid, fds, names := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_FDNAMES")
	for _, v := range managerEnv {
		_ = os.Unsetenv(v)
	}
	if n, err := strconv.Atoi(pid); err != nil || n != os.Getpid() {
		return nil // for another process
	}
	n, err := strconv.Atoi(fds)
	if err != nil || n < 0 || n > maxDescriptors {
		return fmt.Errorf("LISTEN_FDS=%s is not a number of sockets", fds)
	}
	named := strings.Split(names, ":")
	for i := range n {
		name := "unknown" // as in sd_listen_fds_with_names(3)
		if names != "" && i < len(named) {
			name = named[i]
		}
		if stored, ok := storedName(name); ok {
			name = stored
		} else {
			name = fdPrefix + name
		}
		if err := g.add(Socket{name, firstFD + i}); err != nil {
			return err
		}
	}
	return nil
}

func (g *Given) add(s Socket) error {
	g.sockets = append(g.sockets, s)
	return take(s)
}

// State decodes the state that the predecessor has passed to [Program.Start], as package json does. Without one, into
// stays unchanged.
func (g *Given) State(into any) error {
	if g == nil || len(g.state) == 0 {
		return nil
	}
	return json.Unmarshal(g.state, into)
}

// Sockets returns the sockets that have not been taken yet.
func (g *Given) Sockets() []Socket {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Socket(nil), g.sockets...)
}

// Stored returns the sockets that the service manager may have kept when the process was started, for [Store].
func (g *Given) Stored() []Socket {
	if g == nil {
		return nil
	}
	return g.stored
}

// Take takes the sockets that want selects. They then belong to the caller.
func (g *Given) Take(want func(name string) bool) (taken []Socket) {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var left []Socket
	for _, s := range g.sockets {
		if want(s.Name) {
			taken = append(taken, s)
		} else {
			left = append(left, s)
		}
	}
	g.sockets = left
	return taken
}

// Discard closes the sockets that were not taken. Connections queued on them are reset, unless the predecessor or the
// service manager has the socket, too.
func (g *Given) Discard() {
	for _, s := range g.Take(func(string) bool { return true }) {
		_ = unix.Close(s.FD)
	}
}

// Upgrading reports whether a predecessor waits for this process.
func (g *Given) Upgrading() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.predecessor != nil
}

// Ready reports to the predecessor, if any, that this process serves, and how long the predecessor may take to end
// (see [Successor.Timeout]). It returns when the predecessor has reported this as the main process to the service
// manager, or after a few seconds, or when the predecessor has ended. Then the function [Ready] may follow.
func (g *Given) Ready(timeout time.Duration) {
	p := g.end()
	if p == nil {
		return
	}
	_, err := io.WriteString(p, answerReady+" "+timeout.String()+"\n")
	if err == nil {
		_ = p.SetReadDeadline(time.Now().Add(confirmTime))
		_, err = p.Read(make([]byte, 1))
	}
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		_ = p.SetReadDeadline(time.Time{})
		g.keep(p)
		return
	}
	_ = p.Close() // it has ended, or is too old to be asked
}

// Fail reports to the predecessor, if any, why this process does not serve.
func (g *Given) Fail(err error) {
	if p := g.end(); p != nil {
		defer p.Close()
		text := strings.Join(strings.Fields(err.Error()), " ")
		_, _ = io.WriteString(p, answerFailed+" "+text[:min(len(text), maxReason)]+"\n")
	}
}

// end takes the socket to the predecessor.
func (g *Given) end() *os.File {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.predecessor
	g.predecessor = nil
	return p
}

// managerEnv lists the variables by which the service manager addresses one process.
var managerEnv = []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}

// errNoAnswer reports a successor that exits without an answer.
var errNoAnswer = errors.New("it exited before it served; see its log")
