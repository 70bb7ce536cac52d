package upgrade

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A successor serves on the sockets of its predecessor, with what is queued there.
func TestStart(t *testing.T) {
	t.Setenv("WATCHDOG_PID", "1")
	t.Setenv("LISTEN_FDS", "7")
	a, at := listen(t, "tcp://a")
	b, bt := listen(t, "tcp://b")
	early, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	p := program(t, "serve")
	s, err := p.Start(context10s(t), []Socket{a, b, b}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.kill(nil)
	confirm(t, s)
	for _, fd := range []int{a.FD, b.FD} {
		if err := unkept(fd); err != nil {
			t.Error(err)
		}
	}
	if pid, name := greeting(t, at); pid != s.PID || name != "tcp://a" {
		t.Errorf("%d %s, want %d", pid, name, s.PID)
	}
	if pid, name := greeting(t, bt); pid != s.PID || name != "tcp://b" {
		t.Errorf("%d %s, want %d", pid, name, s.PID)
	}
	_ = early.SetDeadline(time.Now().Add(patience))
	if text, err := io.ReadAll(early); err != nil || !strings.Contains(string(text), "tcp://a") {
		t.Errorf("the connection that was queued: %q, %v", text, err)
	}
	if _, err := p.Start(context10s(t), nil, nil, nil); !errors.Is(err, ErrUpgraded) {
		t.Errorf("a second upgrade: %v", err)
	}
}

// Whatever the successor does instead of serving: it is gone afterwards, the reason is told, and another attempt works.
func TestStartFails(t *testing.T) {
	for _, test := range []struct{ role, text string }{
		{"exit", "it exited before it served; see its log (exit status 3)"},
		{"crash", "it exited before it served; see its log (signal: killed)"},
		{"fail", "the file is wrong: line 7"},
		{"hang", "it was not ready in time, and was killed"},
		{"deaf", "it was not ready in time, and was killed"},
	} {
		t.Run(test.role, func(t *testing.T) {
			s, at := listen(t, "tcp://a")
			p := program(t, test.role)
			limit := patience
			if test.role == "hang" || test.role == "deaf" {
				limit = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			_, err := p.Start(ctx, []Socket{s}, nil, nil)
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("%v, want %s", err, test.text)
			}
			if err := unkept(s.FD); err != nil {
				t.Error(err)
			}
			t.Setenv(roleEnv, "serve")
			next, err := p.Start(context10s(t), []Socket{s}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer next.kill(nil)
			confirm(t, next)
			if pid, _ := greeting(t, at); pid != next.PID {
				t.Errorf("%d, want %d", pid, next.PID)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		p := program(t, "serve")
		p.path = filepath.Join(t.TempDir(), "gone")
		if _, err := p.Start(context10s(t), nil, nil, nil); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		p := program(t, "hang")
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := p.Start(ctx, nil, nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// What a failed successor has started does not keep the sockets: no client waits in a queue that nothing accepts from.
func TestStartFailsWithChildren(t *testing.T) {
	for _, role := range []string{"wrapper", "orphan"} {
		t.Run(role, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			raw, err := l.(*net.TCPListener).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if e := raw.Control(func(fd uintptr) {
				_, err = program(t, role).Start(ctx, []Socket{{"tcp://a", int(fd)}}, nil, nil)
			}); e != nil || err == nil {
				t.Fatal("it serves", e)
			}
			_ = l.Close()
			for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
				c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
				if errors.Is(err, unix.ECONNREFUSED) {
					return
				}
				if err == nil {
					_ = c.Close()
				}
				if time.Now().After(deadline) {
					t.Fatalf("something listens still: %v", err)
				}
			}
		})
	}
}

func TestStartTwice(t *testing.T) {
	p := program(t, "hang")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Start(ctx, nil, nil, nil)
		ended <- err
	}()
	deadline := time.Now().Add(patience)
	for {
		p.mu.Lock()
		state := p.state
		p.mu.Unlock()
		if state == upgrading {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not begin")
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := p.Start(ctx, nil, nil, nil); !errors.Is(err, ErrUpgrading) {
		t.Errorf("%v", err)
	}
	cancel()
	<-ended
}

// Thousands of sockets need more room than the environment has, and than a socket's buffer.
func TestStartManySockets(t *testing.T) {
	s, _ := listen(t, "tcp://"+strings.Repeat("a", 1000))
	other, at := listen(t, "tcp://other")
	sockets := []Socket{other}
	for range 500 {
		sockets = append(sockets, s)
	}
	next, err := program(t, "serve").Start(context10s(t), sockets, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer next.kill(nil)
	confirm(t, next)
	if pid, _ := greeting(t, at); pid != next.PID {
		t.Errorf("%d, want %d", pid, next.PID)
	}
}

// What is not a listening socket is refused, and the predecessor is told.
func TestStartWrongSocket(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	_, err = program(t, "serve").Start(context10s(t), []Socket{{"tcp://x", fd}}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), `"tcp://x": the socket does not listen`) {
		t.Errorf("%v", err)
	}
}

// A variable that has been left over does no harm.
func TestInheritNothing(t *testing.T) {
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "3")
	g, err := Inherit()
	if err != nil || len(g.Sockets()) != 0 || g.Upgrading() || clean() != nil {
		t.Errorf("%+v, %v", g, err)
	}
	g.Ready(0)
	g.Fail(io.EOF)
	(*Given)(nil).Discard()
	t.Setenv(successorEnv, "999")
	if _, err := Inherit(); !errors.Is(err, unix.EBADF) {
		t.Errorf("%v", err)
	}
}

// The real program of systemd passes sockets with their names, several with one name too.
func TestSocketActivation(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		missing(t, "systemd-socket-activate is not installed; it is in Debian's package systemd")
	}
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	web, web2, db := free(), free(), free()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(activate, "-l", web, "-l", web2, "-l", db, "--fdname=web:web:db", "-E", roleEnv+"=serve", exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if c, err := net.Dial("tcp", db); err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not listen")
		}
	}
	for addr, want := range map[string]string{web: "fd://web", web2: "fd://web", db: "fd://db"} {
		if pid, name := greeting(t, addr); name != want || pid != cmd.Process.Pid {
			t.Errorf("%s: %s, want %s", addr, name, want)
		}
	}
}

func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
