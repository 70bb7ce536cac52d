package conformance

import (
	"os"
	"os/exec"
	ossignal "os/signal"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// Process plays each case once, on the kernel of the process. cfg is how loops are made.
func Process(cfg reactor.LoopConfig) Machine { return processes{cfg} }

type processes struct{ cfg reactor.LoopConfig }

func (p processes) each(t *testing.T, play func(*testing.T, host)) { play(t, process{cfg: p.cfg}) }

// process is the process as a host. Its threads are goroutines.
type process struct {
	kernel
	cfg reactor.LoopConfig
}

func (process) patience() time.Duration { return 10 * time.Second }

func (p process) newLoop() (*reactor.Loop, error) {
	if *traced {
		return newTracedLoop(p.cfg, os.Stdout)
	}
	return reactor.NewLoop(p.cfg)
}

func (process) spawn(_ string, f func()) { go f() }

func (process) thread() int { return unix.Gettid() }

func (process) newSignal() signal { return make(raised, 1024) }

// raised is a signal: one for each raise.
type raised chan struct{}

func (c raised) raise() { c <- struct{}{} }

func (c raised) wait() bool {
	select {
	case <-c:
		return true
	case <-time.After(process{}.patience()):
		return false
	}
}

var epoch = time.Now()

func (process) now() int64 { return int64(time.Since(epoch)) }

// deliver does nothing: on the loopback interface what is sent arrives inside the call that sends it.
func (process) deliver() {}

func (process) descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}

func init() { _, _ = os.ReadDir("/proc/self/fd") } // the first one opens the runtime's own

func (process) temp(t *testing.T) string { return t.TempDir() }

func (process) child(t *testing.T) (pid int) {
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid = cmd.Process.Pid
	_ = cmd.Process.Release()
	t.Cleanup(func() {
		if unix.Kill(pid, 0) == nil { // it has not been waited for
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	})
	return pid
}

func (process) kill(pid int, sig unix.Signal) error { return unix.Kill(pid, sig) }

// interrupt listens itself, so that the signal does no harm without another listener, and waits until it has arrived,
// so that it does not reach the next case.
func (process) interrupt(sig unix.Signal) error {
	heard := make(chan os.Signal, 1)
	ossignal.Notify(heard, sig)
	defer ossignal.Stop(heard)
	if err := unix.Kill(unix.Getpid(), sig); err != nil {
		return err
	}
	<-heard
	return nil
}

func (process) accepts(_ situation, want expectation) expectation { return want }

func (process) lacks(want expectation) string {
	if want.takes != "" {
		return "it takes " + want.takes
	}
	return ""
}

// kernel is the kernel as calls.
type kernel struct{}

func (kernel) Socket(family, kind, protocol int) (int, error) {
	return unix.Socket(family, kind, protocol)
}

func (kernel) Socketpair(family, kind, protocol int) ([2]int, error) {
	return unix.Socketpair(family, kind, protocol)
}

func (kernel) Bind(fd int, sa unix.Sockaddr) error { return unix.Bind(fd, sa) }

func (kernel) Listen(fd, backlog int) error { return unix.Listen(fd, backlog) }

func (kernel) Accept4(fd, flags int, from []byte) (conn, n int, err error) {
	conn, _, err = unix.Accept4(fd, flags)
	return conn, 0, err
}

func (kernel) Connect(fd int, sa unix.Sockaddr) error { return unix.Connect(fd, sa) }

func (kernel) Getsockname(fd int) (unix.Sockaddr, error) { return unix.Getsockname(fd) }

func (kernel) SetsockoptInt(fd, level, opt, value int) error {
	return unix.SetsockoptInt(fd, level, opt, value)
}

func (kernel) SetsockoptLinger(fd, level, opt int, l unix.Linger) error {
	return unix.SetsockoptLinger(fd, level, opt, &l)
}

func (kernel) SetsockoptString(fd, level, opt int, s string) error {
	return unix.SetsockoptString(fd, level, opt, s)
}

func (kernel) Shutdown(fd, how int) error { return unix.Shutdown(fd, how) }

func (kernel) Pipe2(fds []int, flags int) error { return unix.Pipe2(fds, flags) }

func (kernel) Open(path string, flags int, perm uint32) (int, error) {
	return unix.Open(path, flags, perm)
}

func (kernel) Mkdir(path string, perm uint32) error { return unix.Mkdir(path, perm) }

func (kernel) Read(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

func (kernel) Write(fd int, p []byte) (int, error) { return unix.Write(fd, p) }

func (kernel) Send(fd int, p []byte, flags int) error { return unix.Send(fd, p, flags) }

func (kernel) Recvfrom(fd int, p []byte, flags int) (int, unix.Sockaddr, error) {
	return unix.Recvfrom(fd, p, flags)
}

func (kernel) FcntlInt(fd uintptr, cmd, arg int) (int, error) { return unix.FcntlInt(fd, cmd, arg) }

func (kernel) Poll(fds []unix.PollFd, timeout int) (int, error) { return unix.Poll(fds, timeout) }

func (kernel) Close(fd int) error { return unix.Close(fd) }
