//go:build linux

package server_test

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

// patience is how long anything may take before a test is given up. Nothing is expected to.
const patience = 20 * time.Second

// eachRing runs f as a sub-test for each ring that can be had.
func eachRing(t *testing.T, f func(t *testing.T, kind reactor.RingKind)) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			if only := reactor.RingKind(os.Getenv(reactor.RingVariable)); only != "" && only != reactor.Auto && only != kind {
				t.Skipf("%s=%s", reactor.RingVariable, only)
			}
			l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
			testenv.NeedIOUring(t, err)
			if err := l.Discard(); err != nil {
				t.Error(err)
			}
			f(t, kind)
		})
	}
}

// hooks is a Handler of funcs. Those that are nil do nothing.
type hooks struct {
	open   func(c *server.Conn)
	data   func(c *server.Conn, in, out []byte) (int, []byte, error)
	closed func(c *server.Conn, err error)
}

func (h *hooks) Open(c *server.Conn) {
	if h.open != nil {
		h.open(c)
	}
}

func (h *hooks) Data(c *server.Conn, in, out []byte) (int, []byte, error) {
	if h.data == nil {
		return len(in), nil, nil
	}
	return h.data(c, in, out)
}

func (h *hooks) Closed(c *server.Conn, err error) {
	if h.closed != nil {
		h.closed(c, err)
	}
}

// watched is a handler that tells what it was given.
type watched struct {
	hooks
	got chan int // bytes of in
}

func newWatched(data func(c *server.Conn, in, out []byte) (int, []byte, error)) *watched {
	w := &watched{got: make(chan int, 1000)}
	w.data = func(c *server.Conn, in, out []byte) (int, []byte, error) {
		w.got <- len(in) - c.Seen()
		return data(c, in, out)
	}
	return w
}

// send sends s, and waits until Data has seen it.
func (w *watched) send(t *testing.T, c io.Writer, s string) {
	t.Helper()
	for len(w.got) != 0 {
		<-w.got
	}
	if _, err := io.WriteString(c, s); err != nil {
		t.Error(err)
	}
	for n := 0; n < len(s); {
		select {
		case m := <-w.got:
			n += m
		case <-time.After(patience):
			t.Fatal("Data is not called")
		}
	}
}

func echo(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), in, nil }

// running is a server that serves on its own goroutine.
type running struct {
	t      testing.TB
	addr   net.Addr
	cancel context.CancelFunc
	ended  chan error
}

// serve serves. The test ends it.
func serve(t testing.TB, kind reactor.RingKind, cfg server.Config, h server.Handler) *running {
	t.Helper()
	return serveEach(t, kind, cfg, func(*reactor.Loop) server.Handler { return h })
}

func serveEach(t testing.TB, kind reactor.RingKind, cfg server.Config, f func(*reactor.Loop) server.Handler) *running {
	t.Helper()
	return serveBy(t, kind, cfg, func(ctx context.Context, cfg server.Config) error { return server.Serve(ctx, cfg, f) })
}

func serveBy(t testing.TB, kind reactor.RingKind, cfg server.Config,
	f func(context.Context, server.Config) error,
) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, ended: make(chan error, 1)}
	if !cfg.Addr.IsValid() && cfg.Address.IsZero() && len(cfg.Files) == 0 && len(cfg.Listeners) == 0 {
		cfg.Addr = anyPort
	}
	if cfg.Reactor.Loops == 0 {
		cfg.Reactor.Loops = 1
	}
	cfg.Reactor.Loop.Ring = kind
	ready := make(chan net.Addr, 1)
	cfg.Ready = func(a net.Addr) { ready <- a }
	go func() { r.ended <- f(ctx, cfg) }()
	select {
	case r.addr = <-ready:
	case err := <-r.ended:
		t.Fatalf("Serve: %v", err)
	case <-time.After(patience):
		t.Fatal("the server does not listen")
	}
	return r
}

// dial connects. The connection is closed at the end of the test.
func (r *running) dial() net.Conn {
	r.t.Helper()
	c := r.connect()
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// connect connects. The caller closes the connection.
func (r *running) connect() net.Conn {
	r.t.Helper()
	c, err := net.DialTimeout(r.addr.Network(), r.addr.String(), patience)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(patience):
		r.t.Fatal("Serve does not return")
		return nil
	}
}

// end ends the server, which must not fail.
func (r *running) end() {
	r.t.Helper()
	r.cancel()
	if err := r.wait(); err != nil {
		r.t.Errorf("Serve: %v", err)
	}
}
