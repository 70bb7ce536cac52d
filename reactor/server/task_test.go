//go:build linux

package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

func serveTask(t testing.TB, kind reactor.RingKind, cfg server.Config, f func(*task.T, net.Conn) error) *running {
	t.Helper()
	return serveBy(t, kind, cfg, func(ctx context.Context, cfg server.Config) error {
		return server.ServeTask(ctx, cfg, f)
	})
}

func echoTask(_ *task.T, c net.Conn) error {
	_, err := io.Copy(c, c)
	return err
}

// certificate is one for example.com, and how a client trusts it.
func certificate(t testing.TB) (srv, client *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return s.TLS.Clone(), &tls.Config{InsecureSkipVerify: true} //nolint:gosec // it is a test
}

func exchange(t testing.TB, c net.Conn, n int) {
	t.Helper()
	sent := make([]byte, n)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	written := make(chan bool)
	go func() { _, _ = c.Write(sent); close(written) }()
	got := make([]byte, n)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != string(sent) {
		t.Errorf("%d bytes: %v", n, err)
		c.Close()
	}
	<-written
}

func TestTaskEcho(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := serveTask(t, kind, server.Config{}, echoTask)
		c := r.dial()
		exchange(t, c, 1_000_000)
		c.Close()
		r.end()
	})
}

func TestTaskTLS(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		srv, client := certificate(t)
		r := serveTask(t, kind, server.Config{TLS: srv}, echoTask)
		c := tls.Client(r.dial(), client)
		exchange(t, c, 1_000_000)
		c.Close()
		r.end()
	})
}

// A client that does not shake hands is cut off, and that is reported.
func TestHandshakeTimeout(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		srv, _ := certificate(t)
		told := make(chan error, 1)
		r := serveTask(t, kind, server.Config{TLS: srv, HandshakeTimeout: 50 * time.Millisecond,
			OnTaskError: func(err error) { told <- err }}, echoTask)
		c := r.dial()
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		isTimeout(t, server.HandshakeDeadline, told)
		c.Close()
		r.end()
	})
}

// isTimeout fails unless the reported error is that of a deadline.
func isTimeout(t *testing.T, d server.Deadline, told <-chan error) {
	t.Helper()
	select {
	case err := <-told:
		timeout, ok := errors.AsType[*server.TimeoutError](err)
		if !ok || timeout.Deadline != d || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("told %v", err)
		}
	case <-time.After(patience):
		t.Fatal("OnTaskError is not called")
	}
}

// The end of the lifetime ends a Read as a deadline, with TLS too, and then all else.
func TestTaskLifetime(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		srv, client := certificate(t)
		for name, cfg := range map[string]*tls.Config{"plain": nil, "tls": srv} {
			t.Run(name, func(t *testing.T) {
				told := make(chan error, 1)
				r := serveTask(t, kind, server.Config{TLS: cfg, Lifetime: 100 * time.Millisecond,
					OnTaskError: func(err error) { told <- err }}, lastsForever(t))
				c := r.dial()
				if cfg != nil {
					c = tls.Client(c, client)
				}
				if _, err := io.ReadAll(c); err != nil {
					t.Errorf("the client: %v", err)
				}
				isTimeout(t, server.LifetimeDeadline, told)
				r.end()
			})
		}
	})
}

// lastsForever is a task that must be ended by a deadline.
func lastsForever(t *testing.T) func(*task.T, net.Conn) error {
	return func(_ *task.T, c net.Conn) error {
		_, err := c.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read: %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write: %v", err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, sender.ErrStopped) && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("another Read: %v", err)
		}
		return err
	}
}

func TestTaskLifetimeOfCopy(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		told := make(chan error, 1)
		r := serveTask(t, kind, server.Config{Lifetime: 50 * time.Millisecond, OnTaskError: func(err error) { told <- err }},
			func(_ *task.T, c net.Conn) error {
				_, err := io.Copy(c, c)
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Copy: %v", err)
				}
				return err
			})
		_, _ = io.ReadAll(r.dial())
		isTimeout(t, server.LifetimeDeadline, told)
		r.end()
	})
}

// A task that does not read then is stopped, and that is reported.
func TestTaskLifetimeOfSleeper(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		told := make(chan error, 1)
		r := serveTask(t, kind, server.Config{Lifetime: 50 * time.Millisecond, OnTaskError: func(err error) { told <- err }},
			func(t *task.T, c net.Conn) error {
				_, err := task.Await(t, c.(*netconn.Conn).Loop().SleepFor(time.Hour))
				return err
			})
		_, _ = io.ReadAll(r.dial())
		isTimeout(t, server.LifetimeDeadline, told)
		r.end()
	})
}

// Reads of tasks end when the server shuts down, and Writes do not.
func TestTaskDrain(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := serveTask(t, kind, server.Config{}, func(_ *task.T, c net.Conn) error {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, sender.ErrStopped) {
				t.Errorf("Read: %v", err)
			}
			_, err := io.WriteString(c, "bye")
			return err
		})
		c := r.dial()
		r.cancel()
		if b, err := io.ReadAll(c); string(b) != "bye" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		c.Close()
		r.end()
	})
}

// The error of a task's function is reported.
func TestTaskError(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		mine, told := errors.New("mine"), make(chan error, 1)
		cfg := server.Config{OnTaskError: func(err error) { told <- err }}
		r := serveTask(t, kind, cfg, func(*task.T, net.Conn) error { return mine })
		c := r.dial()
		if b, err := io.ReadAll(c); len(b) != 0 || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if err := <-told; !errors.Is(err, mine) {
			t.Errorf("told %v", err)
		}
		r.end()
	})
}

func TestTaskPanicAndGoexit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		var n int
		r := serveTask(t, kind, server.Config{ErrorLog: quiet}, func(_ *task.T, c net.Conn) error {
			if n++; n == 1 {
				panic("mine")
			}
			return echoTask(nil, c)
		})
		c := r.dial()
		if b, err := io.ReadAll(c); len(b) != 0 || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		d := r.dial()
		exchange(t, d, 10)
		c.Close()
		d.Close()
		r.end()
	})
}

var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

// A task that ignores the end of the grace, or awaits what does not end, is abandoned, named, and reported in the error
// of Serve; its deferred functions run, and its client sees the end of the connection.
func TestTaskThatIgnoresTheGrace(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		proceed := make(chan struct{})
		for name, await := range map[string]func(t *task.T, l *reactor.Loop){
			"Sleep": func(t *task.T, l *reactor.Loop) {
				for {
					_, _ = task.Await(t, l.SleepFor(100*time.Millisecond))
				}
			},
			"Offload": func(t *task.T, l *reactor.Loop) {
				for {
					_, _ = task.Await(t, reactor.Offload(l, func() (int, error) { <-proceed; return 0, nil }))
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				log := new(bytes.Buffer)
				cfg := server.Config{Grace: -1, ErrorLog: slog.New(slog.NewTextHandler(log, nil))}
				cfg.Reactor.Loops = 1
				ended := make(chan bool, 1)
				r := serveTask(t, kind, cfg, func(t *task.T, c net.Conn) error {
					defer func() { ended <- true }()
					if _, err := io.WriteString(c, "x"); err != nil {
						return err
					}
					await(t, c.(*netconn.Conn).Loop())
					return nil
				})
				c := r.dial()
				if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
					t.Error(err)
				}
				r.cancel()
				<-ended
				if name == "Offload" {
					proceed <- struct{}{}
				}
				err := <-r.ended
				if !errors.Is(err, task.ErrAbandoned) || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Serve: %v", err)
				}
				for _, text := range []string{err.Error(), log.String()} {
					if !strings.Contains(text, name+" at ") || !strings.Contains(text, "task_test.go:") {
						t.Errorf("%q does not name the line", text)
					}
				}
				if b, err := io.ReadAll(c); len(b) != 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%q, %v", b, err)
				}
				c.Close()
			})
		}
	})
}

// A task that ignores the end of its lifetime is abandoned while the server continues.
func TestTaskThatIgnoresItsLifetime(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		told := make(chan error, 1)
		cfg := server.Config{Lifetime: 10 * time.Millisecond, ErrorLog: quiet, OnTaskError: func(err error) { told <- err }}
		r := serveTask(t, kind, cfg, func(t *task.T, c net.Conn) error {
			for {
				_, _ = task.Await(t, c.(*netconn.Conn).Loop().SleepFor(time.Hour))
			}
		})
		_, _ = io.ReadAll(r.dial())
		isTimeout(t, server.LifetimeDeadline, told)
		r.end()
	})
}
