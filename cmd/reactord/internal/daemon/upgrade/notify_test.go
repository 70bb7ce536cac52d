package upgrade

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

func TestNotify(t *testing.T) {
	for _, f := range []func() error{
		func() error { return Ready("x") }, Reloading, func() error { return Status("x") },
		func() error { return MainProcess(7) }, func() error { return Draining(context.Background()) },
		func() error { return Store(nil, []Socket{{"tcp://a", 0}}) },
	} {
		if err := f(); err != nil {
			t.Errorf("without a service manager: %v", err)
		}
	}
	m := newManager(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(Ready("3 listeners\nand more"))
	m.expect("READY=1", "STATUS=3 listeners and more")
	check(Reloading())
	if got := m.next(); !strings.Contains(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("%q", got)
	}
	check(MainProcess(7))
	m.expect("MAINPID=7")
	m.expect("BARRIER=1")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- draining(ctx, time.Millisecond) }()
	m.expect("STOPPING=1", "EXTEND_TIMEOUT_USEC=30000000")
	m.expect("EXTEND_TIMEOUT_USEC=30000000")
	cancel()
	check(<-ended)
}

// A service manager that is gone costs an error, and nothing else.
func TestNotifyGone(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", t.TempDir()+"/gone")
	for _, err := range []error{Ready("x"), MainProcess(7)} {
		if err == nil || !strings.Contains(err.Error(), "notifying the service manager") {
			t.Errorf("%v", err)
		}
	}
}

// The service manager keeps what is new, and forgets what is gone.
func TestStore(t *testing.T) {
	m := newManager(t)
	a, _ := listen(t, "tcp://127.0.0.1:80")
	b, _ := listen(t, "tcp://[::1]:0/100%")
	socket, _ := listen(t, "fd://x")
	if err := Store(nil, []Socket{a}); err != nil || len(m.messages) != 0 {
		t.Fatalf("%v, %d messages without FDSTORE", err, len(m.messages))
	}
	t.Setenv("FDSTORE", "100")
	if err := Store(nil, []Socket{a, b, a, socket}); err != nil {
		t.Fatal(err)
	}
	m.expect("FDSTORE=1", "FDNAME=reactord/tcp%3A//127.0.0.1%3A80")
	m.expect("FDSTORE=1", "FDNAME=reactord/tcp%3A//[%3A%3A1]%3A0/100%25")
	if len(m.fds) != 3 {
		t.Errorf("%d descriptors", len(m.fds))
	}
	if err := Store([]Socket{a, b, a}, []Socket{b}); err != nil {
		t.Fatal(err)
	}
	m.expect("FDSTOREREMOVE=1", "FDNAME=reactord/tcp%3A//127.0.0.1%3A80")
	if name, ok := storedName("reactord/tcp%3A//[%3A%3A1]%3A0/100%25"); !ok || name != b.Name {
		t.Errorf("%q", name)
	}
	if len(m.messages) != 0 {
		t.Errorf("a further message: %q", m.next())
	}
}

// A restart finds the sockets that were kept, by their names.
func TestInheritStored(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	key := plan.ListenerKey{Network: "tcp", Bind: l.Addr().(*net.TCPAddr).AddrPort()}
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0"`, exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), roleEnv+"=serve", "LISTEN_FDS=1",
		"LISTEN_FDNAMES="+storePrefix+stored.Replace(ListenerName(key)))
	cmd.ExtraFiles = []*os.File{f}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	_, name := greeting(t, l.Addr().String())
	if got, ok := ListenerKey(name); !ok || got != key {
		t.Errorf("%q: %v, want %v", name, got, key)
	}
}

// The watchdog is fed while all loops answer, and only then.
func TestWatch(t *testing.T) {
	m := newManager(t)
	t.Setenv("WATCHDOG_USEC", "60000")
	loops := runLoops(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Watch(ctx, loops, zap.NewNop()) }()
	for range 3 {
		m.expect("WATCHDOG=1")
	}
	release := make(chan struct{})
	var blocked atomic.Bool
	enqueue(loops[1], func() { blocked.Store(true); <-release })
	for deadline := time.Now().Add(patience); !blocked.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the loop does not block")
		}
	}
	time.Sleep(100 * time.Millisecond) // what was in flight has arrived
	for len(m.messages) > 0 {
		m.next()
	}
	time.Sleep(200 * time.Millisecond) // several times what is between two messages
	if n := len(m.messages); n != 0 {
		t.Errorf("fed %d times although a loop does not answer", n)
	}
	close(release)
	m.expect("WATCHDOG=1")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Without a watchdog, and for another process's, there is nothing to feed.
func TestWatchNone(t *testing.T) {
	if err := Watch(context.Background(), nil, zap.NewNop()); err != nil {
		t.Error(err)
	}
	t.Setenv("WATCHDOG_USEC", "1000000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(unix.Getppid()))
	if err := Watch(context.Background(), nil, zap.NewNop()); err != nil {
		t.Error(err)
	}
}

// runLoops runs loops until the end of the test.
func runLoops(t *testing.T, n int) []*reactor.Loop {
	t.Helper()
	r, err := reactor.New(reactor.Config{Loops: n})
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}, n), make(chan error, 1)
	go func() { ended <- r.Run(func(*reactor.Loop) error { started <- struct{}{}; return nil }) }()
	for range n {
		<-started
	}
	t.Cleanup(func() {
		for _, l := range r.Loops() {
			enqueue(l, l.Stop)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r.Loops()
}

// call is a function as work of a loop.
type call struct {
	sender.Work
	f func()
}

func (c *call) Run()          { c.f() }
func (c *call) Abandon(error) {}

func enqueue(l *reactor.Loop, f func()) {
	c := &call{f: f}
	c.Runner = c
	l.Enqueue(&c.Work)
}

// FuzzListenerKey reads names of sockets. A key has one name.
func FuzzListenerKey(f *testing.F) {
	for _, name := range []string{"tcp://127.0.0.1:80", "tcp://[::1]:0/a", "fd://web", "metrics", "tcp://", "tcp://x"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key, ok := ListenerKey(name)
		if !ok {
			return
		}
		if again, ok := ListenerKey(ListenerName(key)); !ok || again != key {
			t.Fatalf("%q: %+v, %+v", name, key, again)
		}
	})
}
