package connlimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

const patience = 15 * time.Second

// serve starts a server with a limit. A request to /wait is answered when release is closed; entered has an item then.
func serve(t *testing.T, most int) (addr string, entered, release chan struct{}) {
	t.Helper()
	entered, release = make(chan struct{}, 10), make(chan struct{})
	limit := New(most)
	mux := http.NewServeMux()
	mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { entered <- struct{}{}; <-release })
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: limit.Handler(mux), ConnContext: limit.ConnContext, ReadHeaderTimeout: patience}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(limit.Listener(inner)) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return inner.Addr().String(), entered, release
}

type client struct {
	net.Conn
	in *bufio.Reader
}

// dial connects from an address of loopback.
func dial(t *testing.T, from, addr string) client {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return client{c, bufio.NewReader(c)}
}

func (c client) ask(path string) {
	_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

// isAnswered reads an answer. It returns false if the connection is closed.
func (c client) isAnswered(t *testing.T) bool {
	t.Helper()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			t.Fatal("neither an answer nor the end of the connection")
		}
		return false
	}
	_ = r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// visit connects, and is answered.
func visit(t *testing.T, from, addr string) client {
	t.Helper()
	c := dial(t, from, addr)
	if c.ask("/"); !c.isAnswered(t) {
		t.Fatalf("a connection from %s is not answered", from)
	}
	return c
}

// A new connection replaces the one that has waited longest, of the client with the most connections.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	addr, _, _ := serve(t, 3)
	quiet := visit(t, "127.0.0.2", addr)
	first := visit(t, "127.0.0.3", addr)
	second := visit(t, "127.0.0.3", addr)
	visit(t, "127.0.0.3", addr)
	if first.ask("/"); first.isAnswered(t) {
		t.Error("the connection that has waited longest is still open")
	}
	for _, c := range []client{quiet, second} {
		if c.ask("/"); !c.isAnswered(t) {
			t.Error("another connection was closed")
		}
	}
}

// A connection that has sent nothing, or a part of a request, makes room as well.
func TestUnfinishedRequestsMakeRoom(t *testing.T) {
	addr, _, _ := serve(t, 2)
	for range 4 {
		c := dial(t, "127.0.0.2", addr)
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost:")
	}
	visit(t, "127.0.0.2", addr)
}

// A request that is being answered is not interrupted: the new connection is closed.
func TestAnswersAreNotInterrupted(t *testing.T) {
	addr, entered, release := serve(t, 1)
	busy := dial(t, "127.0.0.2", addr)
	busy.ask("/wait")
	<-entered
	late := dial(t, "127.0.0.3", addr)
	if late.ask("/"); late.isAnswered(t) {
		t.Error("there is no room, and a connection is answered")
	}
	close(release)
	if !busy.isAnswered(t) {
		t.Error("the answer was interrupted")
	}
	visit(t, "127.0.0.3", addr)
}

// Connections are counted by address, and in IPv6 by network.
func TestSource(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1":          "192.0.2.1/32",
		"::ffff:192.0.2.1":   "192.0.2.1/32",
		"2001:db8:1:2:3::4":  "2001:db8:1:2::/64",
		"2001:db8:1:2:ff::1": "2001:db8:1:2::/64",
	} {
		if got := prefixOf(&net.TCPAddr{IP: net.ParseIP(address), Port: 1}).String(); got != want {
			t.Errorf("%s is counted as %s, want %s", address, got, want)
		}
	}
	if got := prefixOf(&net.UnixAddr{}); got.IsValid() {
		t.Errorf("a unix socket is counted as %s", got)
	}
}
