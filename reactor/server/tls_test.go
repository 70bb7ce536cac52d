//go:build linux

package server_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testing/tlsrecord"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
	"golang.org/x/sys/unix"
)

// tlsRunning is a server of handlers with TLS.
type tlsRunning struct {
	*running
	client *tls.Config
}

func serveTLS(t testing.TB, kind reactor.RingKind, cfg server.Config, h server.Handler) *tlsRunning {
	t.Helper()
	srv, client := certificate(t)
	srv.NextProtos = []string{"one", "two"}
	cfg.TLS = srv
	return &tlsRunning{serve(t, kind, cfg, h), client}
}

func (r *tlsRunning) dial() *tls.Conn {
	r.t.Helper()
	c := tls.Client(r.running.dial(), r.client)
	if err := c.Handshake(); err != nil {
		r.t.Fatal(err)
	}
	return c
}

func TestTLSEcho(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			h := newRecorder(echo)
			protocol := make(chan string, 10)
			h.open = func(c *server.Conn) { protocol <- c.TLS().NegotiatedProtocol }
			r := serveTLS(t, kind, server.Config{}, h)
			r.client.MaxVersion, r.client.NextProtos = version, []string{"two"}
			for _, n := range []int{1, 100, 5000, 20_000, 3_000_000} {
				c := r.dial()
				if p := <-protocol; p != "two" {
					t.Errorf("the protocol is %q", p)
				}
				exchange(t, c, n)
				c.Close()
				h.expect(t, nil)
			}
			r.end()
		}
	})
}

// The client's last message is acknowledged when the handshake is done: its first bytes wait for that with Nagle's
// algorithm.
func TestTLSFinishedIsAcknowledged(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		h := newRecorder(echo)
		quick := make(chan int, 1)
		h.open = func(c *server.Conn) {
			v, _ := unix.GetsockoptInt(c.Socket().Fd(), unix.IPPROTO_TCP, unix.TCP_QUICKACK)
			quick <- v
		}
		r := serveTLS(t, kind, server.Config{}, h)
		c := r.dial()
		if <-quick != 1 {
			t.Error("the acknowledgement is delayed")
		}
		c.Close()
		h.expect(t, nil)
		r.end()
	})
}

// What is unread is presented again with what follows, wherever the records are split.
func TestTLSEverySplit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		w := newWatched(upper)
		r := serveTLS(t, kind, server.Config{}, w)
		const in, want = "a\nbc\r\n\ndef\nquit\nlost\n", "A\nBC\n\nDEF\nBYE\n"
		for split := range len(in) {
			c := r.dial()
			w.send(t, c, in[:split])
			_, _ = io.WriteString(c, in[split:])
			if got, err := io.ReadAll(c); string(got) != want || err != nil {
				t.Errorf("split at %d: %q, %v", split, got, err)
			}
			c.Close()
		}
		r.end()
	})
}

// openssl is another implementation.
func TestTLSOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip(err)
	}
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, version := range []string{"-tls1_2", "-tls1_3"} {
			h := newRecorder(upper)
			r := serveTLS(t, kind, server.Config{}, h)
			c := exec.Command(openssl, "s_client", "-connect", r.addr.String(), "-quiet", version, "-alpn", "two")
			c.Stdin = strings.NewReader(strings.Repeat("hello\n", 5000) + "quit\n")
			out, err := c.Output()
			if want := strings.Repeat("HELLO\n", 5000) + "BYE\n"; string(out) != want || err != nil {
				t.Errorf("%s: %d bytes instead of %d: %v", version, len(out), len(want), err)
			}
			h.expect(t, nil)
			r.end()
		}
	})
}

// Post writes to a connection that does not ask, and a Pause keeps what arrives encrypted.
func TestTLSPostAndPause(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		opened := make(chan *server.Conn, 1)
		h := newRecorder(echo)
		h.open = func(c *server.Conn) {
			c.Pause()
			_, _ = c.Write([]byte("hello"))
			opened <- c
		}
		r := serveTLS(t, kind, server.Config{}, h)
		c := r.dial()
		conn := <-opened
		expect(t, c, "hello")
		_, _ = io.WriteString(c, "question")
		_ = c.CloseWrite()
		conn.Post(func(c *server.Conn) { _, _ = c.Write([]byte("posted")) })
		expect(t, c, "posted")
		conn.Post(func(c *server.Conn) { c.Resume() })
		if b, err := io.ReadAll(c); string(b) != "question" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		c.Close()
		h.expect(t, nil)
		r.end()
	})
}

func expect(t *testing.T, c io.Reader, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); string(b) != want || err != nil {
		t.Errorf("%q, %v instead of %q", b, err, want)
	}
}

// A slow reader gets everything, and no more than HighWater and what one call makes is unsent.
func TestTLSSlowReader(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		most := 0
		h := newRecorder(func(c *server.Conn, in, out []byte) (int, []byte, error) {
			most = max(most, c.Unsent())
			return len(in), append(out, in...), nil
		})
		r := serveTLS(t, kind, server.Config{HighWater: 32 << 10}, h)
		c := r.dial()
		const n = 16 << 20
		go func() { _, _ = c.Write(make([]byte, n)); _ = c.CloseWrite() }()
		total, buf := 0, make([]byte, 64<<10)
		for {
			m, err := c.Read(buf)
			if total += m; err != nil {
				break
			}
			if total < n/8 {
				time.Sleep(time.Millisecond)
			}
		}
		if total != n {
			t.Errorf("%d bytes", total)
		}
		c.Close()
		h.expect(t, nil)
		r.end()
		if most > 32<<10 { // Data is not called above it
			t.Errorf("%d bytes were unsent", most)
		}
	})
}

// A client that does not shake hands, or says nonsense, is cut off, without a call of the handler.
func TestTLSHandshakeFails(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, test := range map[string]func(c net.Conn){
			"silent":   func(net.Conn) {},
			"half":     func(c net.Conn) { _, _ = c.Write([]byte{22, 3, 1, 2, 0}) },
			"nonsense": func(c net.Conn) { _, _ = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n") },
			"EOF":      func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() },
			"reset": func(c net.Conn) {
				_, _ = c.Write([]byte{22, 3, 1, 2, 0})
				_ = c.(*net.TCPConn).SetLinger(0)
				c.Close()
			},
		} {
			t.Run(name, func(t *testing.T) {
				h := &hooks{
					open:   func(*server.Conn) { t.Error("opened") },
					closed: func(*server.Conn, error) { t.Error("closed") },
				}
				r := serveTLS(t, kind, server.Config{HandshakeTimeout: 50 * time.Millisecond}, h)
				c := r.running.dial()
				test(c)
				if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				c.Close()
				r.end()
			})
		}
	})
}

// A handshake that has begun does not hold up a shutdown.
func TestTLSShutdownInHandshake(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		shaking := make(chan bool, 1)
		srv, client := certificate(t)
		srv.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			shaking <- true
			return nil, nil //nolint:nilnil // as GetConfigForClient says
		}
		s := serve(t, kind, server.Config{TLS: srv}, &hooks{})
		raw := s.dial()
		c := tls.Client(&firstFlight{Conn: raw}, client)
		go func() { _ = c.Handshake() }()
		<-shaking
		s.cancel()
		raw.Close()
		if err := s.wait(); err != nil {
			t.Error(err)
		}
	})
}

// firstFlight sends one record only.
type firstFlight struct {
	net.Conn
	sent bool
}

func (c *firstFlight) Write(p []byte) (int, error) {
	if c.sent {
		return len(p), nil
	}
	c.sent = true
	return c.Conn.Write(p)
}

// The ends of connections are as without TLS, with close_notify.
func TestTLSWhyClosed(t *testing.T) {
	mine := errors.New("mine")
	type data = func(c *server.Conn, in, out []byte) (int, []byte, error)
	for name, c := range map[string]struct {
		data  data
		cut   bool // the client sends no close_notify
		want  error
		got   string // by the client
		reset bool   // the client may see a reset
	}{
		"close_notify": {data: echo, got: "hello"},
		"cut":          {data: echo, cut: true, want: io.ErrUnexpectedEOF, got: "hello"},
		"unread": {data: func(*server.Conn, []byte, []byte) (int, []byte, error) {
			return 0, nil, nil
		}, want: io.ErrUnexpectedEOF},
		"error": {data: func(_ *server.Conn, in, _ []byte) (int, []byte, error) {
			return 1, in[:2], mine
		}, want: mine, got: "he"},
		"Close": {data: func(c *server.Conn, in, _ []byte) (int, []byte, error) {
			c.Close()
			return len(in), in, nil
		}, got: "hello"},
		"panic": {data: func(*server.Conn, []byte, []byte) (int, []byte, error) {
			panic("mine")
		}, want: &server.PanicError{}, reset: true}, // close_notify may be unread
		"abort": {data: func(c *server.Conn, in, _ []byte) (int, []byte, error) {
			c.CloseWithError(mine)
			return len(in), in, nil
		}, want: mine, reset: true},
	} {
		t.Run(name, func(t *testing.T) {
			eachRing(t, func(t *testing.T, kind reactor.RingKind) {
				h := newRecorder(c.data)
				r := serveTLS(t, kind, server.Config{ErrorLog: quiet}, h)
				conn := r.dial()
				_, _ = io.WriteString(conn, "hello")
				if c.cut {
					_ = conn.NetConn().(*net.TCPConn).CloseWrite()
				} else {
					_ = conn.CloseWrite()
				}
				got, err := io.ReadAll(conn)
				if string(got) != c.got || err != nil && !c.reset {
					t.Errorf("got %q, %v", got, err)
				}
				conn.Close()
				if p, ok := errors.AsType[*server.PanicError](c.want); ok {
					if err := <-h.errs; !errors.As(err, &p) {
						t.Errorf("closed: %v", err)
					}
				} else {
					h.expect(t, c.want)
				}
				r.end()
			})
		})
	}
}

// What was begun is answered when the server shuts down, and an idle connection gets a close_notify.
func TestTLSShutdown(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		begun := make(chan *server.Conn, 1)
		r := serveTLS(t, kind, server.Config{}, &hooks{data: func(c *server.Conn, in, _ []byte) (int, []byte, error) {
			c.Pause()
			begun <- c
			return len(in), nil, nil
		}})
		idle, busy := r.dial(), r.dial()
		_, _ = io.WriteString(busy, "question")
		c := <-begun
		r.cancel()
		if b, err := io.ReadAll(idle); len(b) != 0 || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		idle.Close()
		c.Post(func(c *server.Conn) {
			_, _ = c.Write(bytes.Repeat([]byte("answer"), 100_000))
			c.Resume()
		})
		if b, err := io.ReadAll(busy); len(b) != 600_000 || err != nil {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		busy.Close()
		r.end()
	})
}

// A configuration that cannot serve is refused.
func TestTLSWithoutCertificate(t *testing.T) {
	_, err := server.New(server.Config{Addr: anyPort, TLS: &tls.Config{}}, func(*reactor.Loop) server.Handler {
		return &hooks{}
	})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

// A panic of a function of the tls.Config ends its connection only.
func TestTLSConfigPanics(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		srv, client := certificate(t)
		calls := 0
		srv.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if calls++; calls == 1 {
				panic("mine")
			}
			return nil, nil //nolint:nilnil // as GetConfigForClient says
		}
		r := &tlsRunning{serve(t, kind, server.Config{TLS: srv, ErrorLog: quiet}, &hooks{data: echo}), client}
		c := tls.Client(r.running.dial(), client)
		if err := c.Handshake(); err == nil {
			t.Error("the handshake was done")
		}
		c.Close()
		c = r.dial()
		exchange(t, c, 100)
		c.Close()
		r.end()
	})
}

// A KeyUpdate is answered, also while much is unsent.
func TestTLSKeyUpdate(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		const size = 8 << 20
		r := serveTLS(t, kind, server.Config{HighWater: 2 * size}, &hooks{
			open: func(c *server.Conn) { _, _ = c.Write(make([]byte, size)) },
			data: echo,
		})
		var keys strings.Builder
		r.client.KeyLogWriter = &keys
		raw := r.running.dial()
		peer := tls.Client(raw, r.client)
		if err := peer.Handshake(); err != nil {
			t.Fatal(err)
		}
		w, err := tlsrecord.NewWriter(peer, keys.String())
		if err != nil {
			t.Skip(err)
		}
		for _, word := range []string{"first", "again", "third"} {
			b := append(w.KeyUpdate(), w.Record(23, []byte(word))...)
			_, _ = raw.Write(b[:7]) // a part of a record, or what follows, may come later
			_, _ = raw.Write(b[7:])
		}
		if n, err := io.CopyN(io.Discard, peer, size); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
		expect(t, peer, "firstagainthird")
		_, _ = raw.Write(w.Record(21, []byte{1, 0})) // close_notify
		if b, err := io.ReadAll(peer); len(b) != 0 || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		peer.Close()
		r.end()
	})
}
