package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// supervisor restarts a process as systemd does with the settings of the unit: Restart=on-failure and RestartSec=. It
// passes a listening socket if it has one, as a socket unit does.
type supervisor struct {
	argv   []string
	socket *os.File // named web; nil: the process opens its own
	pause  time.Duration
	log    *os.File

	mu      sync.Mutex
	process *os.Process
	stopped bool
	ends    chan struct{} // has a value for each process that was killed
	ended   chan error
}

// start starts the first process. The supervisor ends when the process ends with 0, or is stopped.
func (s *supervisor) start(t testing.TB) {
	s.ends, s.ended = make(chan struct{}, 1), make(chan error, 1)
	var err error
	if s.log, err = os.Create(filepath.Join(t.TempDir(), "log")); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.supervise() }()
	t.Cleanup(func() {
		s.mu.Lock()
		s.stopped = true
		if s.process != nil {
			_ = s.process.Signal(syscall.SIGTERM)
		}
		s.mu.Unlock()
		if err := <-s.ended; err != nil {
			t.Errorf("the last process has ended with %v", err)
		}
		if t.Failed() {
			text, _ := os.ReadFile(s.log.Name())
			t.Logf("%s", text)
		}
		s.log.Close()
	})
}

func (s *supervisor) supervise() error {
	for {
		c := exec.Command(s.argv[0], s.argv[1:]...)
		if s.socket != nil { // the shell knows the process's id
			c = exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`}, s.argv...)...)
			c.ExtraFiles = []*os.File{s.socket}
		}
		c.Env = append(cleanEnv(), "LISTEN_FDS=1", "LISTEN_FDNAMES=web")
		c.Stderr = s.log
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		s.mu.Lock()
		if s.stopped {
			s.mu.Unlock()
			return nil
		}
		err := c.Start()
		s.process = c.Process
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if err = c.Wait(); err == nil {
			return nil
		}
		if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			return err
		}
		s.ends <- struct{}{}
		time.Sleep(s.pause)
	}
}

// kill kills the process, and returns once it is gone.
func (s *supervisor) kill(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	err := s.process.Kill()
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.ends:
	case <-time.After(patience):
		t.Fatal("the process has not ended")
	}
}

// clients make connections until the test ends, and count those that fail.
type clients struct{ good, failed atomic.Int64 }

func (c *clients) start(t testing.TB, addr string, n int) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if exchangeOnce(addr) == nil {
					c.good.Add(1)
				} else {
					c.failed.Add(1)
					time.Sleep(time.Millisecond) // it is refused immediately
				}
			}
		})
	}
	t.Cleanup(func() { close(stop); all.Wait() })
}

// await waits until there are n more connections.
func (c *clients) await(t testing.TB, n int64) {
	t.Helper()
	n += c.good.Load()
	for begin := time.Now(); c.good.Load() < n; time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatal("the clients make no connections")
		}
	}
}

func exchangeOnce(addr string) error {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	return pingPong(c, 1, 1)
}

// restarts runs f for each ring, and for sockets of the process and of the supervisor, with a function that kills the
// process and returns how long no new connection was served.
func restarts[T interface {
	testing.TB
	Run(name string, f func(T)) bool
}](t T, server string, f func(t T, c *clients, restart func() time.Duration)) {
	pause, err := time.ParseDuration(readUnit(t, "reactord.service").last(t, "RestartSec"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ring := range []string{"io_uring", "epoll"} {
		for _, held := range []bool{false, true} {
			name := ring + map[bool]string{false: "/service", true: "/socket"}[held]
			t.Run(name, func(t T) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				addr, listen := l.Addr().String(), "fd://web"
				s := &supervisor{pause: pause}
				if held {
					if s.socket, err = l.(*net.TCPListener).File(); err != nil {
						t.Fatal(err)
					}
					defer s.socket.Close()
				} else {
					listen = addr
					l.Close()
				}
				dir := t.TempDir()
				config := filepath.Join(dir, "reactord.yaml")
				text := fmt.Sprintf("ring: %s\nadmin: {address: 'unix://%s/admin.sock'}\ndrain: {timeout: 1s}\nlisteners:\n"+
					"  - {name: a, address: '%s', backend: b}\nbackends:\n  - {name: b, servers: ['tcp://%s']}\n",
					ring, dir, listen, server)
				if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				s.argv = readUnit(t, "reactord.service").command(t, config)
				s.start(t)
				serves(t, addr)
				var c clients
				c.start(t, addr, 4)
				f(t, &c, func() time.Duration {
					c.await(t, 100)
					begin := time.Now()
					s.kill(t)
					serves(t, addr)
					return time.Since(begin)
				})
			})
		}
	}
}

// serves waits until a connection is served.
func serves(t testing.TB, addr string) {
	t.Helper()
	var err error
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		if err = exchangeOnce(addr); err == nil {
			return
		}
	}
	t.Fatal(errors.Join(fmt.Errorf("no connection is served within %v", patience), err))
}

// After kill -9 the supervisor's next process serves, although the admin socket of the one before is still there. A
// socket that the supervisor holds refuses no connection meanwhile.
func TestRestartAfterKill(t *testing.T) {
	needIOURing(t)
	restarts(t, serve(t, echo), func(t *testing.T, c *clients, restart func() time.Duration) {
		for range 2 {
			t.Logf("served again after %v; %d connections, %d failed", restart(), c.good.Load(), c.failed.Load())
		}
	})
}

// BenchmarkRestartAfterKill is the time from kill -9 to a connection that is served, with RestartSec= of the unit.
func BenchmarkRestartAfterKill(b *testing.B) {
	restarts(b, serve(b, echo), func(b *testing.B, c *clients, restart func() time.Duration) {
		var worst, sum time.Duration
		for b.Loop() {
			d := restart()
			worst, sum = max(worst, d), sum+d
		}
		b.ReportMetric(float64(sum.Milliseconds())/float64(b.N), "ms/restart")
		b.ReportMetric(float64(worst.Milliseconds()), "ms-worst")
		b.ReportMetric(float64(c.failed.Load())/float64(b.N), "failed/restart")
	})
}
