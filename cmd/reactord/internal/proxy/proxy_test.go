package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(abandoned...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// abandoned are the coroutines of tasks of simulated runs that have failed, as was intended. Nothing resumes them.
var abandoned []goleak.Option

// abandonTasks is called at the end of a test whose runs fail.
func abandonTasks() { abandoned = append(abandoned, goleak.IgnoreCurrent()) }

// onEachRing runs a test on every ring that is available.
func onEachRing(t *testing.T, test func(t *testing.T, ring reactor.RingKind)) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			c, err := reactor.ChooseRing(kind)
			testenv.NeedIOUring(t, err)
			if c.Kind != kind {
				t.Skipf("%s asks for %s", reactor.RingVariable, c.Kind)
			}
			test(t, kind)
		})
	}
}

// setupOf has one listener, and one backend with the given servers.
func setupOf(b Backend, servers ...net.Listener) fixture {
	b.Name = "b"
	for _, s := range servers {
		server := Server{Name: s.Addr().String()}
		if server.Path = server.Name; s.Addr().Network() != "unix" {
			server.Path, server.Address = "", netip.MustParseAddrPort(server.Name)
		}
		b.Servers = append(b.Servers, server)
	}
	return fixture{
		Listeners: []Listener{{Name: "l", Address: netip.MustParseAddrPort("127.0.0.1:0"), Backend: "b"}},
		Backends:  []Backend{b},
	}
}

// start runs a proxy in front of the given servers.
func start(t *testing.T, ring reactor.RingKind, b Backend, servers ...net.Listener) *Proxy {
	t.Helper()
	cfg := setupOf(b, servers...)
	cfg.Ring, cfg.Loops = ring, 2
	return cfg.run(t)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// pair is a client's connection to the proxy, and the server's connection from it.
func pair(t *testing.T, p *Proxy, ln net.Listener) (client, server *net.TCPConn) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	_, _ = c.SetDeadline(deadline), s.SetDeadline(deadline)
	t.Cleanup(func() { c.Close(); s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func TestBytesInBothDirections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s := pair(t, p, ln)
		want := make([]byte, 8<<20)
		_, _ = rand.Read(want)
		var wg sync.WaitGroup
		for _, end := range []*net.TCPConn{c, s} {
			wg.Go(func() {
				if _, err := end.Write(want); err != nil {
					t.Error(err)
				}
				_ = end.CloseWrite()
			})
			wg.Go(func() {
				got, err := io.ReadAll(end)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			})
		}
		wg.Wait()
	})
}

func TestHalfClose(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s := pair(t, p, ln)
		_, _ = c.Write([]byte("question"))
		_ = c.CloseWrite()
		if got, err := io.ReadAll(s); err != nil || string(got) != "question" {
			t.Fatalf("%q, %v", got, err)
		}
		for range 3 {
			_, _ = s.Write([]byte("answer"))
		}
		_ = s.Close()
		if got, err := io.ReadAll(c); err != nil || string(got) != "answeransweranswer" {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func TestResetIsPassedOnBehindTheBytes(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for range 20 {
			ln := listen(t)
			p := start(t, ring, Backend{}, ln)
			c, s := pair(t, p, ln)
			_, _ = c.Write([]byte("last words"))
			buf := make([]byte, 10)
			if _, err := io.ReadFull(s, buf); err != nil {
				t.Fatal(err)
			}
			_ = c.SetLinger(0)
			_ = c.Close()
			if _, err := s.Read(buf); !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("the server's side: %v", err)
			}
			c, s = pair(t, p, ln)
			swap(t, c, s, 1) // else it may be a connect that fails
			_ = s.SetLinger(0)
			_ = s.Close()
			if _, err := c.Read(buf); !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("the client's side: %v", err)
			}
			_ = p.Close()
		}
	})
}

func TestResetAfterEOF(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s := pair(t, p, ln)
		_ = c.CloseWrite()
		if got, err := io.ReadAll(s); err != nil || len(got) != 0 {
			t.Fatalf("%q, %v", got, err)
		}
		_ = c.SetLinger(0)
		_ = c.Close()
		// The server's side is told although neither side sends anything.
		raw, _ := s.SyscallConn()
		_ = raw.Control(func(fd uintptr) {
			if ready := testenv.Poll(t, int(fd), 0, 5*time.Second); ready&unix.POLLERR == 0 {
				t.Errorf("poll: %#x", ready)
			}
		})
	})
}

// A server answers and closes while the client is still sending: the answer arrives, whatever happens to the bytes of
// the client.
func TestAnswerSurvivesAReset(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		for range 20 {
			c, s := pair(t, p, ln)
			want := bytes.Repeat([]byte("answer"), 10000)
			go func() {
				_, _ = c.Write(make([]byte, 4<<20))
			}()
			if _, err := io.ReadFull(s, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			_, _ = s.Write(want)
			_ = s.CloseWrite()
			awaitAcknowledged(t, s)
			_ = s.Close() // with bytes unread: a reset
			got := make([]byte, len(want))
			if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("got %d bytes, %v", n, err)
			}
			c.Close()
		}
	})
}

func TestNextServerAndNoServer(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		dead, ln := listen(t), listen(t)
		dead.Close()
		p := start(t, ring, Backend{}, dead, ln)
		for range 4 {
			pair(t, p, ln)
		}
		none := start(t, ring, Backend{}, dead)
		c, err := net.Dial("tcp", none.Addrs()[0].String())
		if err == nil { // else it was reset already
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, err = c.Read(make([]byte, 1))
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("no server: %v", err)
		}
	})
}

func TestSlowReaderBoundsWhatIsLeased(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{Buffer: 32 << 10}, ln)
		c, s := pair(t, p, ln)
		_ = s.SetReadBuffer(64 << 10)
		const total = 16 << 20
		go func() {
			_, _ = c.Write(make([]byte, total))
			_ = c.CloseWrite()
		}()
		awaitLeased(t, p, 1)
		most, n := int64(0), 0
		for buf := make([]byte, 16<<10); ; {
			most = max(most, leased(p))
			got, err := s.Read(buf)
			if n += got; err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		// The bytes in flight are bounded, to one buffer. While a piece that does not fill its buffer is being sent, the
		// rest may wait in a second one.
		limit := 2 * int64(p.workers[0].loop.Buffers().Size())
		if n != total || most > limit {
			t.Errorf("%d bytes of %d arrived; %d were leased at most, want no more than %d", n, total, most, limit)
		}
	})
}

func TestIdleTimeout(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{IdleTimeout: 100 * time.Millisecond}, ln)
		c, s := pair(t, p, ln)
		_, _ = c.Write([]byte("x"))
		last := time.Now()
		_, _ = io.ReadFull(s, make([]byte, 1))
		if _, err := c.Read(make([]byte, 1)); err == nil || time.Since(last) < 90*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(last))
		}
	})
}

func TestDrain(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{HalfCloseTimeout: 100 * time.Millisecond}, ln)
		c, s := pair(t, p, ln)
		drained := make(chan error, 1)
		go func() { drained <- p.Drain(context.Background(), config.Drain{Timeout: time.Minute}) }()
		for {
			late, err := net.Dial("tcp", p.Addrs()[0].String())
			if err != nil {
				break
			}
			late.Close()
		}
		_, _ = c.Write([]byte("still"))
		if _, err := io.ReadFull(s, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-drained:
			t.Fatal("drained with a connection open")
		default:
		}
		c.Close()
		s.Close()
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
	})
}
