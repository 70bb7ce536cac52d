package health

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
	"go.uber.org/goleak"
)

// patience is how long anything may take before a test is given up.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	makeAuthority()
	goleak.VerifyTestMain(m)
}

// onRings runs a test on a loop of each kind of ring.
func onRings(t *testing.T, f func(t *testing.T, l *looping)) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLooping(t, kind)
			defer l.end()
			f(t, l)
		})
	}
}

// looping is a loop that runs on a goroutine of its own.
type looping struct {
	*reactor.Loop
	t     *testing.T
	ended chan error
	over  bool
}

func newLooping(t *testing.T, kind reactor.RingKind) *looping {
	t.Helper()
	l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
	if err != nil {
		if kind == reactor.IOUring {
			testenv.NeedIOUring(t, err)
		}
		t.Fatal(err)
	}
	r := &looping{Loop: l, t: t, ended: make(chan error, 1)}
	go func() { r.ended <- l.Run(nil) }()
	return r
}

// end stops the loop, once, and expects nothing to be left of it.
func (l *looping) end() {
	l.t.Helper()
	if l.over {
		return
	}
	l.over = true
	l.Stop()
	select {
	case err := <-l.ended:
		if err != nil {
			l.t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		l.t.Fatalf("Run does not return: %+v", l.Stats())
	}
	if st := l.Stats(); st.InFlight != 0 || st.Stale != 0 || st.Leaked != 0 || st.LeasedBytes != 0 {
		l.t.Errorf("the counters of a loop that has ended: %+v", st)
	}
}

var errNotRun = errors.New("the task did not run")

// do runs f in a task and returns its error.
func (l *looping) do(f func(t *task.T) error) error {
	l.t.Helper()
	return l.wait(l.start(f))
}

func (l *looping) start(f func(t *task.T) error) chan error {
	done := make(chan error, 1)
	l.SpawnOr(task.New(func(t *task.T) error {
		done <- f(t)
		return nil
	}), func() { done <- errNotRun })
	return done
}

func (l *looping) wait(done chan error) error {
	l.t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		l.t.Fatalf("a task does not end: %+v", l.Stats())
		return nil
	}
}

// server runs serve for each connection, one after the other, until the test ends.
func server(t *testing.T, serve func(c *net.TCPConn)) netip.AddrPort {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			serve(c.(*net.TCPConn))
			c.Close()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-ended
	})
	return netip.MustParseAddrPort(ln.Addr().String())
}

// silent reads until the client has closed.
func silent(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }

// vacant is an address that refuses connections.
func vacant(t *testing.T) netip.AddrPort {
	t.Helper()
	return netip.MustParseAddrPort(testenv.Vacant(t))
}

// launch runs a program until the test ends, and waits until it listens.
func launch(t *testing.T, to netip.AddrPort, pkg string, argv ...string) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: install %s", err, pkg)
		}
		t.Skipf("%v: install %s", err, pkg)
	}
	var output bytes.Buffer
	cmd := exec.Command(path, argv[1:]...)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its children
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s", output.String())
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", to.String())
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen: %v", argv[0], err)
		}
	}
}

// descriptors is how many this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
