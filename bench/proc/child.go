package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// grace is the time that Stop waits for a process to end after SIGTERM.
const grace = 2 * time.Second

// A Child is a process that this process started.
type Child struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	cmd    *exec.Cmd
	stderr tail
	done   chan struct{} // closed when the process has ended
	err    error         // how it ended, once done is closed
}

// Start starts argv with the variables env added to the environment. When ctx ends, the process group of the child is
// killed. The caller must call [Child.Stop] for every child.
//
// The kernel ends a child when the thread that started it ends. So call Start on a thread that stays, such as the main
// thread.
func Start(ctx context.Context, argv, env []string) (*Child, error) {
	c := &Child{done: make(chan struct{})}
	c.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	c.cmd.Cancel = func() error { return c.signal(syscall.SIGKILL) }
	c.cmd.WaitDelay = grace // a descendant may keep the pipes open
	var err error
	if c.Stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not cmd.StdoutPipe: Wait closes that, and the last output may be missing.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.Stdout, c.cmd.Stdout = out, in
	err = c.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// Pid returns the process id of the child, which is also the id of its process group.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err returns how the child ended, with its output to standard error. Call it after Done is closed.
func (c *Child) Err() error {
	said := strings.TrimSpace(c.stderr.String())
	switch {
	case c.err == nil:
		return fmt.Errorf("it ended: %s", said)
	case said == "":
		return c.err
	default:
		return fmt.Errorf("%w: %s", c.err, said)
	}
}

// Stop ends the child and its process group: with SIGTERM, and after some seconds with SIGKILL. It may be called again.
func (c *Child) Stop() {
	select {
	case <-c.done:
	default:
		_ = c.signal(syscall.SIGTERM) // it may have ended already
		select {
		case <-c.done:
		case <-time.After(grace):
		}
	}
	_ = c.signal(syscall.SIGKILL) // the rest of the group, if there is any
	<-c.done
	c.Stdin.Close()
	c.Stdout.Close()
}

func (c *Child) signal(s syscall.Signal) error {
	err := syscall.Kill(-c.Pid(), s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
