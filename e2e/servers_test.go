package e2e

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// names answers every connection with a name, and closes it.
func names(t *testing.T, name string) (addr string) {
	t.Helper()
	return serve(t, func(c *net.TCPConn) { _, _ = c.Write([]byte(name)) })
}

// blackHole returns an address that neither accepts nor refuses connections: the queue of a listening socket is full,
// and the kernel drops every further SYN.
func blackHole(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err = errors.Join(err, unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: sa.(*unix.SockaddrInet4).Port}).String()
	for range 8 {
		c, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			return addr
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the queue of a listening socket does not fill up")
	return ""
}

func TestRoundRobin(t *testing.T) {
	const connections = 100
	onEachRing(t, func(t *testing.T, ring string) {
		file := filepath.Join(t.TempDir(), "reactord.yaml")
		write(t, file, fmt.Sprintf(`
ring: %s
loops: 1
listeners: [{name: in, address: "127.0.0.1:0", backend: all}]
backends: [{name: all, servers: ["%s", "%s"], balance: {policy: round_robin}}]
`, ring, names(t, "a"), names(t, "b")))
		d := spawn(t, nil, nil, "serve", "--config", file)
		d.addr = d.await("listening").str("address")
		served := map[byte]int{}
		for range connections {
			c := dial(t, d.addr)
			name := make([]byte, 1)
			if _, err := c.Read(name); err != nil {
				t.Fatal(err)
			}
			c.expectEOF()
			c.Close()
			served[name[0]]++
		}
		if served['a'] != connections/2 || served['b'] != connections/2 {
			t.Errorf("a served %d and b %d of %d connections", served['a'], served['b'], connections)
		}
		d.stop()
	})
}

// A server that cannot be reached costs the clients nothing while there is another server.
func TestFailover(t *testing.T) {
	for name, unreachable := range map[string]func(*testing.T) string{"refused": testenv.Vacant, "black hole": blackHole} {
		t.Run(name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring string) {
				servers := []string{unreachable(t), names(t, "b")}
				d := startProxy(t, ring, servers, "--loops", "1", "--connect-timeout", "200ms")
				for range 4 {
					c := dial(t, d.addr)
					c.expect([]byte("b"))
					c.expectEOF()
					c.Close()
				}
				d.stop()
			})
		})
	}
}

// turnedAway checks that a client of addr is soon told that it will not be served, while it connects, sends, or waits.
func turnedAway(t *testing.T, addr string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err == nil {
		p := newPeer(t, c)
		defer p.Close()
		if _, err = p.Write([]byte("anybody?")); err == nil {
			p.expectGone()
			return
		}
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
}

// Without any server a client does not wait.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for name, unreachable := range map[string]func(*testing.T) string{"refused": testenv.Vacant, "black hole": blackHole} {
		t.Run(name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring string) {
				d := startProxy(t, ring, []string{unreachable(t), unreachable(t)}, "--connect-timeout", "100ms")
				start := time.Now()
				turnedAway(t, d.addr)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("the client was told after %v", took)
				}
				d.stop()
			})
		})
	}
}

// A server that accepts and closes immediately ends the client's connection, whatever the client sends.
func TestServerClosesImmediately(t *testing.T) {
	const connections = 200
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, func(*net.TCPConn) {})})
		for range connections {
			c := dial(t, d.addr)
			_, err := c.Write([]byte("request"))
			if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Fatal(err)
			}
			c.expectGone()
			c.Close()
		}
		d.stop()
	})
}

// A server that could not be reached is used when it can be reached again.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		addr := testenv.Vacant(t)
		d := startProxy(t, ring, []string{addr})
		turnedAway(t, d.addr)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		late := dial(t, d.addr)
		late.send([]byte("now?"))
		s := server{l.(*net.TCPListener), t}.accept()
		s.expect([]byte("now?"))
		s.Close()
		late.expectEOF()
		late.Close()
		d.stop()
	})
}
