package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// listenUnix listens on a unix socket: a path, or "@" and an abstract name.
func listenUnix(t *testing.T, path string) net.Listener {
	t.Helper()
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// listenPath listens on a unix socket with a path.
func listenPath(t *testing.T) net.Listener { return listenUnix(t, socketPath(t)) }

func acceptUnix(t *testing.T, ln net.Listener) *net.UnixConn {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	_ = ln.(*net.UnixListener).SetDeadline(deadline)
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(deadline)
	t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

// fullBacklog makes a unix socket whose server accepts nothing, and fills its backlog. leave closes what fills it.
func fullBacklog(t *testing.T, path string) (listener int, leave func()) {
	t.Helper()
	at := &unix.SockaddrUnix{Name: path}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == nil {
		err = errors.Join(unix.Bind(fd, at), unix.Listen(fd, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	var all []int
	leave = sync.OnceFunc(func() {
		for _, c := range all {
			unix.Close(c)
		}
	})
	t.Cleanup(leave)
	for {
		c, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		if err := unix.Connect(c, at); errors.Is(err, unix.EAGAIN) {
			return fd, leave
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// failuresOf returns how many connects to a server have failed for a reason.
func failuresOf(p *Proxy, server, reason string) (n uint64) {
	for _, s := range p.Stats().Servers {
		for _, f := range s.FailuresByReason {
			if s.Name == server && f.Reason == reason {
				n = f.Count
			}
		}
	}
	return n
}

// TestUnixServers checks that bytes flow to servers on unix sockets, in bulk and with half-close.
func TestUnixServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		abstract := fmt.Sprintf("@reactord-server-%d-%s", os.Getpid(), ring)
		for _, path := range []string{socketPath(t), abstract} {
			ln := listenUnix(t, path)
			p := startAs(t, ring, nil, func(b *config.Backend) {
				b.Balance.Policy, b.UserTimeout, b.KeepAlive.Idle = "source_hash", time.Second, time.Second
			}, ln)
			for range 3 {
				c := dialProxy(t, p)
				s := acceptUnix(t, ln)
				all := list(t, p, Filter{Address: serveraddr.Unix(path)}, 0)
				if len(all) != 1 || all[0].Address.String() != "unix://"+path || all[0].Server != path {
					t.Errorf("listed: %+v", all)
				}
				transfer1MiB(t, c, s)
				_, _ = c.Close(), s.Close()
			}
			expectEnd(t, p, reasonNormal)
		}
	})
}

// TestUnixServerReset checks that a server which closes with bytes unread resets its connection, and so the client's.
func TestUnixServerReset(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listenUnix(t, socketPath(t))
		p := startAs(t, ring, nil, nil, ln)
		c := dialProxy(t, p)
		s := acceptUnix(t, ln)
		write(t, c, "unread")
		raw, _ := s.SyscallConn()
		_ = raw.Read(func(fd uintptr) bool { // until the bytes are there
			n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
			return n > 0 || err != nil && !errors.Is(err, syscall.EAGAIN)
		})
		s.Close()
		if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client's side: %v", err)
		}
		expectEnd(t, p, reasonServerReset)
	})
}

// TestUnixServerFaults checks that a unix socket without a server, or whose server does not accept, is a failed connect
// with a reason, and that another server gets the connection.
func TestUnixServerFaults(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for reason, path := range map[string]func(path string){
			"refused":      func(string) {},
			"backlog_full": func(path string) { fullBacklog(t, path) },
		} {
			bad, ln := socketPath(t), listen(t)
			path(bad)
			go echo(ln)
			f := setupOf(Backend{}, ln)
			f.Backends[0].Servers[0].Priority = 1
			f.Backends[0].Servers = append(f.Backends[0].Servers, Server{Name: "bad", Path: bad})
			f.Backends[0].Set = func(b *config.Backend) { b.Retries = 1 }
			f.Ring, f.Loops = ring, 1
			p := f.run(t)
			for range 3 {
				c := dialProxy(t, p)
				write(t, c, "x")
				expect(t, c, "x")
				c.Close()
			}
			if n := failuresOf(p, "bad", reason); n != 3 {
				t.Errorf("%s: counted %d times", reason, n)
			}
		}
	})
}

// TestUnixServerIsReplaced removes the file of a unix socket and lets another server listen there. Meanwhile another
// server gets the connections; the one that was open stays with the first.
func TestUnixServerIsReplaced(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		path, other := socketPath(t), listen(t)
		go echo(other)
		first := listenUnix(t, path)
		first.(*net.UnixListener).SetUnlinkOnClose(false)
		f := setupOf(Backend{Servers: []Server{{Name: "unix", Path: path}}, Set: func(b *config.Backend) { b.Retries = 1 }},
			other)
		f.Backends[0].Servers[1].Priority = 1
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		held, heldBy := dialProxy(t, p), acceptUnix(t, first)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		c := dialProxy(t, p)
		write(t, c, "x")
		expect(t, c, "x")
		c.Close()
		if n := failuresOf(p, "unix", "refused"); n != 1 {
			t.Errorf("the missing file has failed %d connects", n)
		}
		second := listenUnix(t, path)
		transfer1MiB(t, dialProxy(t, p), acceptUnix(t, second))
		transfer1MiB(t, held, heldBy)
	})
}

// TestUnixServerThatNeverAccepts checks that connections of another listener flow while those of a server with a full
// backlog fail, and that a retry reaches that server once it accepts.
func TestUnixServerThatNeverAccepts(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		path, ln := socketPath(t), listen(t)
		full, leave := fullBacklog(t, path)
		go echo(ln)
		f := setupOf(Backend{Servers: []Server{{Name: "full", Path: path}}, Set: func(b *config.Backend) {
			b.Retries, b.RetryDelay = 1000, 10*time.Millisecond
		}})
		f.addOther(ln)
		f.Listeners = append(f.Listeners, f.Listeners[0])
		f.Listeners[1].Name, f.Listeners[1].Backend = "other", "other"
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		waiting := dialProxy(t, p)
		write(t, waiting, "x")
		waitFor(t, "connects fail", func() bool { return failuresOf(p, "full", "backlog_full") > 3 })
		for range 5 {
			c, err := net.Dial("tcp", p.Addrs()[1].String())
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			write(t, c, "y")
			expect(t, c, "y")
			c.Close()
		}
		leave()
		accepted := make(chan struct{})
		go func() { // what has filled the backlog comes first
			defer close(accepted)
			for {
				fd, _, err := unix.Accept(full)
				switch {
				case errors.Is(err, unix.EAGAIN):
					time.Sleep(time.Millisecond)
				case err != nil:
					return
				default:
					b := make([]byte, 1)
					if n, _ := unix.Read(fd, b); n == 1 {
						_, _ = unix.Write(fd, b)
						unix.Close(fd)
						return
					}
					unix.Close(fd)
				}
			}
		}()
		expect(t, waiting, "x")
		<-accepted
	})
}

// TestPROXYHeaderOfUnixListener checks what servers on unix sockets learn of the clients of a unix socket.
func TestPROXYHeaderOfUnixListener(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, version := range []config.ProxyVersion{"v1", "v2"} {
			ln, path := listenUnix(t, socketPath(t)), socketPath(t)
			f := setupOf(Backend{Set: telling(version)}, ln)
			f.Ring, f.Loops, f.Listeners[0].Set = ring, 1, onUnix(path)
			f.run(t)
			c := unixCaller(t, path)
			s := acceptUnix(t, ln)
			write(t, c, "!")
			got := make([]byte, 0, 300)
			for !strings.HasSuffix(string(got), "!") {
				b := make([]byte, 300)
				n, err := s.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b[:n]...)
			}
			h, n, err := proxyproto.Parse(got)
			want := map[config.ProxyVersion]string{"v1": "", "v2": path}[version]
			if err != nil || n != len(got)-1 || string(h.UnixDestination) != want || len(h.UnixSource) != 0 ||
				h.Unix != (want != "") || h.Local {
				t.Errorf("%s: %+v, %v", version, h, err)
			}
			s.Close()
		}
	})
}
