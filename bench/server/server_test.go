package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a server, and returns its address.
func start(t *testing.T, cfg Config) net.Addr {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	cfg.Ready = func(a net.Addr) { ready <- a }
	go func() { done <- Run(ctx, cfg) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	})
	select {
	case a := <-ready:
		return a
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	return nil
}

// each runs f with every style that has the behaviour, every ring and every kind of address.
func each(t *testing.T, behaviour string, f func(t *testing.T, cfg Config)) {
	for _, scheme := range []string{"tcp", "unix"} {
		eachOf(t, scheme, behaviour, f)
	}
}

// eachOf runs f with every style that has the scheme and the behaviour, and every ring.
func eachOf(t *testing.T, scheme, behaviour string, f func(t *testing.T, cfg Config)) {
	for name, has := range styles {
		if !slices.Contains(has.behaviours, behaviour) || !slices.Contains(has.schemes, scheme) {
			continue
		}
		for _, ring := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
			if name == "net" && ring == reactor.Epoll {
				continue
			}
			t.Run(fmt.Sprint(scheme, " ", name, " ", ring), func(t *testing.T) {
				_, err := reactor.ChooseRing(ring)
				testenv.NeedIOUring(t, err)
				cfg := Config{Listen: scheme + "://127.0.0.1:0", Behaviour: behaviour, Style: name, Ring: ring, Loops: 2}
				if scheme == "unix" {
					cfg.Listen = "unix://" + t.TempDir() + "/s"
				}
				f(t, cfg)
			})
		}
	}
}

func dial(t *testing.T, a net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(a.Network(), a.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func closeWrite(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
}

func TestEcho(t *testing.T) {
	each(t, "echo", func(t *testing.T, cfg Config) {
		c := dial(t, start(t, cfg))
		sent := bytes.Repeat([]byte("0123456789"), 100_000)
		go func() {
			_, _ = c.Write(sent)
			closeWrite(t, c)
		}()
		if got, err := io.ReadAll(c); !bytes.Equal(got, sent) || err != nil {
			t.Errorf("%d of %d bytes came back, %v", len(got), len(sent), err)
		}
	})
}

func TestDiscard(t *testing.T) {
	each(t, "discard", func(t *testing.T, cfg Config) {
		c := dial(t, start(t, cfg))
		if _, err := c.Write(make([]byte, 5<<20)); err != nil {
			t.Error(err)
		}
		closeWrite(t, c)
		if got, err := io.ReadAll(c); len(got) != 0 || err != nil {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
	})
}

func TestChargen(t *testing.T) {
	each(t, "chargen", func(t *testing.T, cfg Config) {
		cfg.Seed = 5
		c := dial(t, start(t, cfg))
		got := make([]byte, 3<<20)
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatal(err)
		}
		p := engine.NewPattern(5, true, 1)
		for at := 0; at < len(got); at += 997 {
			if got[at] != p.At(int64(at), 1)[0] {
				t.Fatalf("byte %d is not the pattern's", at)
			}
		}
	})
}

func TestReply(t *testing.T) {
	each(t, "reply", func(t *testing.T, cfg Config) {
		cfg.Request, cfg.Reply = 10, 1000
		c := dial(t, start(t, cfg))
		for range 3 { // 2½ requests, and 2½ more, and so on
			if _, err := c.Write(make([]byte, 25)); err != nil {
				t.Fatal(err)
			}
		}
		closeWrite(t, c)
		if got, err := io.ReadAll(c); len(got) != 7*1000 || err != nil {
			t.Errorf("%d bytes came for 7 requests, %v", len(got), err)
		}
	})
}

func TestDelay(t *testing.T) {
	each(t, "delay", func(t *testing.T, cfg Config) {
		cfg.Delay = 50 * time.Millisecond
		c := dial(t, start(t, cfg))
		begin := time.Now()
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); string(got) != "hello" || err != nil || time.Since(begin) < cfg.Delay {
			t.Errorf("%q came after %v, %v", got, time.Since(begin), err)
		}
	})
}

// Commands are answered in order, also when they come in pieces, together, or are longer than a buffer.
func TestRedis(t *testing.T) {
	each(t, "redis", func(t *testing.T, cfg Config) {
		c := dial(t, start(t, cfg))
		long := strings.Repeat("0123456789", 50_000)
		sent := "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000\r\n" + long +
			"\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n"
		go func() {
			for _, piece := range []string{sent[:3], sent[3:20], sent[20:70], sent[70:]} {
				_, _ = io.WriteString(c, piece)
				time.Sleep(time.Millisecond) // the pieces may still come together
			}
			closeWrite(t, c)
		}()
		want := "+PONG\r\n$-1\r\n+OK\r\n$500000\r\n" + long + "\r\n+PONG\r\n"
		if got, err := io.ReadAll(c); string(got) != want || err != nil {
			t.Errorf("%d bytes came instead of %d, %v", len(got), len(want), err)
		}
	})
}

// What is not RESP is answered with an error, and ends the connection.
func TestRedisProtocolError(t *testing.T) {
	each(t, "redis", func(t *testing.T, cfg Config) {
		c := dial(t, start(t, cfg))
		_, _ = io.WriteString(c, "PING\r\n*x\r\n")
		if got, err := io.ReadAll(c); string(got) != "+PONG\r\n-ERR Protocol error\r\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestHTTP(t *testing.T) {
	each(t, "http", func(t *testing.T, cfg Config) {
		a := start(t, cfg)
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial(a.Network(), a.String())
		}}
		defer transport.CloseIdleConnections()
		checkHTTP(t, transport, "http://localhost/")
	})
}

// checkHTTP sends requests with and without a body.
func checkHTTP(t *testing.T, transport *http.Transport, url string) {
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	for _, body := range []io.Reader{nil, nil, strings.NewReader(strings.Repeat("x", 100_000)), nil} {
		r, err := client.Post(url, "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if string(got) != hello || err != nil || r.StatusCode != 200 || r.Header.Get("Date") == "" {
			t.Errorf("%s %q, %v, %v", r.Status, got, r.Header, err)
		}
	}
}

// eachDatagram runs f with every style and ring for datagrams.
func eachDatagram(t *testing.T, f func(t *testing.T, cfg Config)) {
	eachOf(t, "udp", "echo", f)
}

// Datagrams come back unchanged, also the largest and an empty one, each to its sender.
func TestDatagramsEcho(t *testing.T) {
	eachDatagram(t, func(t *testing.T, cfg Config) {
		cfg.Behaviour = "echo"
		a := start(t, cfg)
		got := make([]byte, 70_000)
		for i, size := range []int{1, 0, 1000, 65507, 16 << 10} {
			c := dial(t, a)
			sent := bytes.Repeat([]byte{byte(i)}, size)
			if _, err := c.Write(sent); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(got); !bytes.Equal(got[:n], sent) || err != nil {
				t.Errorf("of %d bytes %d came, %v", size, n, err)
			}
		}
	})
}

func TestDatagramsDelay(t *testing.T) {
	eachDatagram(t, func(t *testing.T, cfg Config) {
		cfg.Behaviour, cfg.Delay = "delay", 20*time.Millisecond
		c := dial(t, start(t, cfg))
		begin := time.Now()
		for _, text := range []string{"hello", "world"} {
			_, _ = io.WriteString(c, text)
		}
		buf, came := make([]byte, 10), map[string]bool{} // in whichever order
		for range 2 {
			n, err := c.Read(buf)
			if came[string(buf[:n])] = true; err != nil || time.Since(begin) < cfg.Delay {
				t.Errorf("%q came after %v, %v", buf[:n], time.Since(begin), err)
			}
		}
		if !came["hello"] || !came["world"] {
			t.Errorf("%v came", came)
		}
	})
}

// Nothing comes back from a server that discards.
func TestDatagramsDiscard(t *testing.T) {
	eachDatagram(t, func(t *testing.T, cfg Config) {
		cfg.Behaviour = "discard"
		c := dial(t, start(t, cfg))
		_, _ = io.WriteString(c, "hello")
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
		if n, err := c.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes came, %v", n, err)
		}
	})
}

// An abstract address has no file.
func TestAbstractAddresses(t *testing.T) {
	for style := range styles {
		c := dial(t, start(t, Config{Listen: fmt.Sprintf("unix://@reactord-bench-%d-%s", os.Getpid(), style),
			Style: style, Behaviour: "echo"}))
		got := make([]byte, 5)
		_, _ = io.WriteString(c, "hello")
		if _, err := io.ReadFull(c, got); string(got) != "hello" || err != nil {
			t.Errorf("%s: %q came, %v", style, got, err)
		}
	}
}

// A server that ends closes all descriptors: of connections that were accepted, that were not accepted yet, and whose
// coroutine has not started.
func TestNoDescriptorLeaks(t *testing.T) {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close() // the runtime has opened its own descriptors
	}
	each(t, "echo", func(t *testing.T, cfg Config) {
		descriptors := func() int {
			fds, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Fatal(err)
			}
			return len(fds)
		}
		before := descriptors()
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ready, done := make(chan net.Addr, 1), make(chan error, 1)
			cfg.Ready = func(a net.Addr) { ready <- a }
			go func() { done <- Run(ctx, cfg) }()
			a := <-ready
			var all []net.Conn
			for i := range 20 {
				if i == 15 { // while connections come
					cancel()
				}
				if c, err := net.Dial(a.Network(), a.String()); err == nil { // the server may be gone
					all = append(all, c)
				}
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			for _, c := range all {
				c.Close()
			}
		}
		if after := descriptors(); after != before {
			t.Errorf("there were %d descriptors, and are %d", before, after)
		}
	})
}

// eachTLS runs f with every style that has TLS and the behaviour, and every ring. dial is a client's connection.
func eachTLS(t *testing.T, behaviour string, f func(t *testing.T, dial func() net.Conn)) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // for its certificate
	s.Close()
	s.TLS.NextProtos = nil
	eachOf(t, "tls", behaviour, func(t *testing.T, cfg Config) {
		cfg.TLS = s.TLS
		a := start(t, cfg)
		f(t, func() net.Conn { return tls.Client(dial(t, a), &tls.Config{InsecureSkipVerify: true}) })
	})
}

func TestTLSEcho(t *testing.T) {
	eachTLS(t, "echo", func(t *testing.T, dial func() net.Conn) {
		c := dial()
		sent := bytes.Repeat([]byte("0123456789"), 100_000)
		go func() {
			_, _ = c.Write(sent)
			closeWrite(t, c)
		}()
		if got, err := io.ReadAll(c); !bytes.Equal(got, sent) || err != nil {
			t.Errorf("%d of %d bytes came back, %v", len(got), len(sent), err)
		}
	})
}

func TestTLSHTTP(t *testing.T) {
	eachTLS(t, "http", func(t *testing.T, dial func() net.Conn) {
		transport := &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			return dial(), nil
		}}
		defer transport.CloseIdleConnections()
		checkHTTP(t, transport, "https://localhost/")
	})
}

// A server may share the loops of other work.
func TestServerBesideOtherWork(t *testing.T) {
	listen := "unix://" + t.TempDir() + "/s"
	s, err := Open(Config{Listen: listen, Style: "receiver", Behaviour: "echo"})
	if err != nil {
		t.Fatal(err)
	}
	target, err := engine.ParseTarget(listen)
	if err != nil {
		t.Fatal(err)
	}
	g, err := engine.New(engine.Config{Target: target, Connections: 4, Verify: true, Beside: s.On,
		Parts: []engine.Part{{Name: "echo", Mode: &engine.Echo{}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Open(t.Context(), nil)
	found, failed := g.Run(t.Context(), engine.Phase{Time: 50 * time.Millisecond}, nil)
	if w := found.Windows[0]; err != nil || failed != nil || w.Messages == 0 || w.Errors.Total() != 0 {
		t.Errorf("%d messages, errors: %v, %v, %v", w.Messages, w.Errors, err, failed)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Config{
		{Listen: listen, Style: "net", Behaviour: "echo"},
		{Listen: "udp://127.0.0.1:0", Style: "receiver", Behaviour: "echo"},
		{Listen: "tls://127.0.0.1:0", Style: "receiver", Behaviour: "echo"},
		{Listen: "tcp://127.0.0.1", Style: "receiver", Behaviour: "echo"},
	} {
		if _, err := Open(bad); err == nil {
			t.Errorf("%+v was opened", bad)
		}
	}
}

func TestWrongServers(t *testing.T) {
	for _, bad := range []Config{
		{Listen: "tcp://127.0.0.1:0", Style: "receiver", Behaviour: "shout"},
		{Listen: "tcp://127.0.0.1:0", Style: "gaudy", Behaviour: "echo"},
		{Listen: "127.0.0.1:0", Style: "net", Behaviour: "echo"},
		{Listen: "tcp://192.0.2.1:1", Style: "net", Behaviour: "echo"},
		{Listen: "tcp://192.0.2.1:1", Style: "receiver", Behaviour: "echo", Loops: 2},
		{Listen: "udp://127.0.0.1:0", Style: "receiver", Behaviour: "chargen"},
		{Listen: "tls://127.0.0.1:0", Style: "task", Behaviour: "echo"},
		{Listen: "tls://127.0.0.1:0", Style: "receiver", Behaviour: "echo", TLS: &tls.Config{}},
		{Listen: "udp://127.0.0.1:0", Style: "handler", Behaviour: "echo"},
		{Listen: "tcp://127.0.0.1:0", Style: "receiver", Behaviour: "http"},
		{Listen: "tls://127.0.0.1:0", Style: "net", Behaviour: "echo"},
	} {
		if err := Run(t.Context(), bad); err == nil {
			t.Errorf("%+v was served", bad)
		}
	}
}
