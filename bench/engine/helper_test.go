package engine

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
)

// rings runs f as a sub-test on every ring.
func rings(t *testing.T, f func(t *testing.T, ring reactor.RingKind)) {
	for _, ring := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(ring), func(t *testing.T) {
			_, err := reactor.ChooseRing(ring)
			testenv.NeedIOUring(t, err)
			f(t, ring)
		})
	}
}

// serve runs handle for each connection to a new listener, and returns its URL.
func serve(t *testing.T, scheme string, handle func(net.Conn)) string {
	t.Helper()
	address, url := "127.0.0.1:0", ""
	if scheme == "unix" {
		address = t.TempDir() + "/s"
		url = "unix://" + address
	}
	l, err := net.Listen(scheme, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if url == "" {
		url = scheme + "://" + l.Addr().String()
	}
	go accept(l, handle)
	return url
}

// accept runs handle for each connection, until the listener is closed.
func accept(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			handle(c)
		}()
	}
}

func echoing(c net.Conn) { _, _ = io.Copy(c, c) }

// load makes a generator for one mode against url.
func load(t *testing.T, url string, mode Mode, change func(*Config)) *Generator {
	t.Helper()
	target, err := ParseTarget(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Target: target, Connections: 4, Verify: true, Parts: []Part{{Name: "test", Mode: mode}}}
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

// run opens the connections and runs one phase.
func run(t *testing.T, g *Generator, p Phase) (Span, *record.Window) {
	t.Helper()
	if _, err := g.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s, err := g.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Windows[0]
}

// runUntil runs phases until their sum is enough: on a busy machine a short phase may have no messages.
func runUntil(t *testing.T, g *Generator, p Phase, enough func(*record.Window) bool) (Span, *record.Window) {
	t.Helper()
	s, w := run(t, g, p)
	for begin := time.Now(); !enough(w) && time.Since(begin) < 10*time.Second; {
		more, err := g.Run(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Open = more.Open
		w.Add(more.Windows[0])
	}
	return s, w
}

// on returns a change of the configuration that chooses a ring.
func on(ring reactor.RingKind) func(*Config) { return func(c *Config) { c.Ring = ring } }

// faultless fails the test if there were failures.
func faultless(t *testing.T, w *record.Window) {
	t.Helper()
	if w.Errors.Total() != 0 {
		t.Errorf("errors: %v", w.Errors)
	}
}

const short = 100 * time.Millisecond
