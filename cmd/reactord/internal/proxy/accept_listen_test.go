package proxy

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// onUnix makes a listener one of a unix socket.
func onUnix(path string) func(*plan.Listener) {
	return func(l *plan.Listener) {
		l.Network, l.Bind, l.Path = "unix", netip.AddrPort{}, path
	}
}

// socketPath is a path that is short enough.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p") //nolint:usetesting // the path of TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// unixCaller connects to a unix socket.
func unixCaller(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// Bytes flow through unix sockets, those of files and abstract ones, in bulk and with half-close. All loops share the
// socket, and the file is gone in the end.
func TestUnixSockets(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		file := socketPath(t)
		for _, path := range []string{file, fmt.Sprintf("@reactord-test-%d-%s", os.Getpid(), ring)} {
			ln := listen(t)
			f := setupOf(Backend{Set: func(b *config.Backend) { b.Balance.Policy = "source_hash" }}, ln)
			f.Ring, f.Loops, f.Listeners[0].Set = ring, 2, onUnix(path)
			p, err := f.start()
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Places(); len(got) != 1 || got[0] != "unix://"+path {
				t.Errorf("it listens on %v", got)
			}
			for range 4 {
				c := unixCaller(t, path)
				s, err := ln.Accept()
				if err != nil {
					t.Fatal(err)
				}
				transfer1MiB(t, c, s)
				_, _ = c.Close(), s.Close()
			}
			if n := p.Stats().Listeners[0].Accepted; n != 4 {
				t.Errorf("%d connections were accepted", n)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if c, err := net.Dial("unix", path); err == nil {
				c.Close()
				t.Error("a closed proxy accepts")
			}
		}
		if exists(file) {
			t.Error("the file is left")
		}
	})
}

// transfer1MiB sends bytes in both directions, and EOF behind them.
func transfer1MiB(t *testing.T, ends ...net.Conn) {
	t.Helper()
	want := make([]byte, 1<<20)
	_, _ = rand.Read(want[:1<<10])
	var wg sync.WaitGroup
	for _, end := range ends {
		_ = end.SetDeadline(time.Now().Add(20 * time.Second))
		wg.Go(func() {
			if _, err := end.Write(want); err != nil {
				t.Error(err)
			}
			_ = end.(interface{ CloseWrite() error }).CloseWrite()
		})
		wg.Go(func() {
			if got, err := io.ReadAll(end); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
}

// A connection of a unix socket has no address: it is listed as "unix".
func TestUnixClientsAreListed(t *testing.T) {
	ln, path := listen(t), socketPath(t)
	go echo(ln)
	f := setupOf(Backend{}, ln)
	f.Loops, f.Listeners[0].Set = 1, onUnix(path)
	p := f.run(t)
	c := unixCaller(t, path)
	_, _ = c.Write([]byte{1})
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	all, err := p.Connections(t.Context(), Filter{}, 0)
	if err != nil || len(all) != 1 || all[0].ClientName != "unix" || all[0].Client.IsValid() {
		t.Errorf("%+v, %v", all, err)
	}
	all, err = p.Connections(t.Context(), Filter{Client: netip.MustParsePrefix("0.0.0.0/0")}, 0)
	if err != nil || len(all) != 0 {
		t.Errorf("%+v, %v, of a network", all, err)
	}
}

// A client that closes with bytes unread resets its connection, and so the server's.
func TestUnixReset(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln, path := listen(t), socketPath(t)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops, f.Listeners[0].Set = ring, 1, onUnix(path)
		f.run(t)
		c := unixCaller(t, path)
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_ = s.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = s.Write([]byte("unread"))
		raw, _ := c.SyscallConn()
		_ = raw.Read(func(fd uintptr) bool { // until the bytes are there
			n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
			return n > 0 || err != nil && !errors.Is(err, syscall.EAGAIN)
		})
		c.Close()
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server's side: %v", err)
		}
	})
}

// A file has the owner and the permissions of the plan, also of one that a reload brings.
func TestUnixAccess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	ln, path := listen(t), socketPath(t)
	go echo(ln)
	f := setupOf(Backend{}, ln)
	f.Loops = 2
	set := func(mode config.FileMode, owner, group string) {
		f.Listeners[0].Set = func(l *plan.Listener) {
			onUnix(path)(l)
			l.Socket.Mode, l.Socket.Owner, l.Socket.Group = mode, owner, group
		}
	}
	expect := func(mode fs.FileMode, uid, gid uint32) {
		t.Helper()
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if o := info.Sys().(*syscall.Stat_t); info.Mode() != fs.ModeSocket|mode || o.Uid != uid || o.Gid != gid {
			t.Errorf("mode %v, owner %d, group %d", info.Mode(), o.Uid, o.Gid)
		}
	}
	set(0o640, "12345", "23456")
	p := f.run(t)
	expect(0o640, 12345, 23456)
	set(0o666, "0", "")
	p.change(t, f)
	expect(0o666, 0, 23456)
	set(0o666, "no-such-user", "")
	if _, err := p.prepareChange(f.plan()); err == nil || !strings.Contains(err.Error(), `owner "no-such-user"`) {
		t.Errorf("an unknown owner: %v", err)
	}
	expectUnixServed(t, path)
}

func expectUnixServed(t *testing.T, path string) {
	t.Helper()
	c := unixCaller(t, path)
	_, _ = c.Write([]byte{1})
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

// Unix sockets come and go with plans, and their files with them. What another process listens on is refused.
func TestUnixSocketsComeAndGo(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln, first, second := listen(t), socketPath(t), socketPath(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		on := func(paths ...string) {
			f.Listeners = nil
			for i, path := range paths {
				f.Listeners = append(f.Listeners, Listener{Name: fmt.Sprint("u", i), Backend: "b", Set: onUnix(path)})
			}
		}
		on(first)
		p := f.run(t)
		held := unixCaller(t, first)
		on(second, first)
		p.change(t, f)
		expectUnixServed(t, first)
		expectUnixServed(t, second)
		on(second)
		p.change(t, f)
		if exists(first) || !exists(second) {
			t.Error("the wrong files are left")
		}
		_, _ = held.Write([]byte{1})
		if _, err := io.ReadFull(held, make([]byte, 1)); err != nil {
			t.Errorf("a connection of a listener that is gone: %v", err)
		}
		other := f
		if p, err := other.start(); err == nil || !strings.Contains(err.Error(), "another process answers there") {
			if err == nil {
				_ = p.Close()
			}
			t.Errorf("two proxies on one path: %v", err)
		}
		expectUnixServed(t, second)
		open := descriptors(t)
		f.Listeners = append(f.Listeners, Listener{Name: "v", Backend: "none", Set: onUnix(first)})
		if _, err := p.prepareChange(f.plan()); err == nil {
			t.Error("a plan without the backend was prepared")
		}
		f.Listeners[1] = Listener{Name: "v", Backend: "b", Set: onUnix(first)}
		c, err := p.prepareChange(f.plan())
		if err != nil {
			t.Fatal(err)
		}
		c.Discard()
		if n := descriptors(t); n > open || exists(first) {
			t.Errorf("%d descriptors of %d, the file exists: %v", n, open, exists(first))
		}
	})
}

// The file of a process that is gone is replaced. One that another process has put there is left alone.
func TestStaleAndForeignFiles(t *testing.T) {
	ln, path := listen(t), socketPath(t)
	go echo(ln)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	f := setupOf(Backend{}, ln)
	f.Loops, f.Listeners[0].Set = 1, onUnix(path)
	p, err := f.start()
	if err != nil {
		t.Fatal(err)
	}
	expectUnixServed(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	foreign, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if !exists(path) {
		t.Error("the file of another process was removed")
	}
}

// A proxy takes over the unix sockets of another one, whose end leaves the file.
func TestUnixSocketIsHandedOver(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln, path := listen(t), socketPath(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops, f.Listeners[0].Set = ring, 2, onUnix(path)
		old, err := f.start()
		if err != nil {
			t.Fatal(err)
		}
		next := f
		next.Loops = 3
		if next.Inherited, err = old.ListenSockets(); err != nil || len(next.Inherited) != 2 {
			t.Fatalf("%d sockets, %v", len(next.Inherited), err)
		}
		p := next.run(t)
		old.StopAccepting()
		if err := old.Close(); err != nil {
			t.Error(err)
		}
		for range 10 {
			expectUnixServed(t, path)
		}
		if n := p.Stats().Listeners[0].Accepted; n != 10 {
			t.Errorf("%d connections were accepted", n)
		}
		gone := next
		gone.Listeners = []Listener{{Name: "l", Address: netip.MustParseAddrPort("127.0.0.1:0"), Backend: "b"}}
		p.change(t, gone)
		if exists(path) {
			t.Error("the file is left")
		}
	})
}

// A proxy that was given sockets, and ends before it serves, leaves the file to the process that has made it.
func TestUnixSocketOfAFailedSuccessor(t *testing.T) {
	ln, path := listen(t), socketPath(t)
	go echo(ln)
	f := setupOf(Backend{}, ln)
	f.Loops, f.Listeners[0].Set = 1, onUnix(path)
	old := f.run(t)
	next := f
	var err error
	if next.Inherited, err = old.ListenSockets(); err != nil {
		t.Fatal(err)
	}
	p, err := next.start()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	expectUnixServed(t, path)
}

// optionsOf are some options of the sockets of a listener, each by its loop.
func optionsOf(t *testing.T, p *Proxy, listener, level, option int) (all []int) {
	t.Helper()
	sockets, err := p.ListenSockets()
	if err != nil {
		t.Fatal(err)
	}
	defer CloseSockets(sockets)
	for _, s := range sockets {
		v, err := unix.GetsockoptInt(s.FD, level, option)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// The sockets have the options of the plan, and of the next one.
func TestOptionsOfListeners(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		port := freePort(t).Port()
		f.Listeners[0].Address = netip.AddrPortFrom(netip.IPv6Unspecified(), port)
		set := func(o config.Socket) {
			f.Listeners[0].Set = func(l *plan.Listener) { l.Socket = o }
		}
		set(config.Socket{MSS: 1000, TOS: 0x28, FastOpen: 7, Interface: "lo"})
		p := f.run(t)
		expect := func(name string, level, option, want int) {
			t.Helper()
			for _, got := range optionsOf(t, p, 0, level, option) {
				if got != want {
					t.Errorf("%s is %d, want %d", name, got, want)
				}
			}
		}
		expect("TCP_MAXSEG", unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1000)
		expect("IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, 0x28)
		expect("IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, 0x28)
		expect("TCP_FASTOPEN", unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 7)
		expect("TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		accepted := func(want int) {
			t.Helper()
			for _, network := range []string{"tcp4", "tcp6"} {
				c, err := net.Dial(network, fmt.Sprintf("localhost:%d", port))
				if err != nil {
					t.Logf("%s: %v", network, err) // there may be no IPv6
					continue
				}
				defer c.Close()
				_, _ = c.Write([]byte{1})
				if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				p.on(func(w *worker) {
					for l := w.conns.First(); l != nil; l = l.Next() {
						level, option := unix.IPPROTO_IP, unix.IP_TOS
						if connOf(l).peerAddr().Addr().Is6() {
							level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
						}
						if connOf(l).peerAddr() == c.LocalAddr().(*net.TCPAddr).AddrPort() {
							if got, err := unix.GetsockoptInt(connOf(l).sockets[client].Fd(), level, option); got != want {
								t.Errorf("%s: the connection has the class %#x, %v, want %#x", network, got, err, want)
							}
						}
					}
				})
			}
		}
		accepted(0x28)
		before, _ := p.ListenSockets()
		set(config.Socket{MSS: 1200, FastOpen: 9, Backlog: 5, Interface: "lo"})
		p.change(t, f)
		expect("TCP_MAXSEG", unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1200)
		expect("IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, 0)
		expect("TCP_FASTOPEN", unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 9)
		accepted(0)
		after, _ := p.ListenSockets()
		for i := range before {
			if !sameSocket(t, before[i].FD, after[i].FD) {
				t.Error("the sockets were opened anew")
			}
			if n := queueLimit(t, after[i].FD); n != 5 {
				t.Errorf("the backlog is %d, want 5", n)
			}
		}
		CloseSockets(before)
		CloseSockets(after)
		set(config.Socket{IPv6Only: true})
		p.change(t, f)
		expect("IPV6_V6ONLY", unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
		if c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			t.Error("an IPv4 client is accepted on IPv6 only")
		}
	})
}

func sameSocket(t *testing.T, a, b int) bool {
	t.Helper()
	var one, two unix.Stat_t
	if err := errors.Join(unix.Fstat(a, &one), unix.Fstat(b, &two)); err != nil {
		t.Fatal(err)
	}
	return one.Ino == two.Ino
}

// queueLimit is how many connections wait on a listening socket at most.
func queueLimit(t *testing.T, fd int) uint32 {
	t.Helper()
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sacked // tcp_info has it there, see tcp(7)
}

// A socket of the service manager must be of the kind that the listener takes.
func TestInheritedSocketsOfTheWrongKind(t *testing.T) {
	ln, path := listen(t), socketPath(t)
	go echo(ln)
	passed := func(l any, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		file, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		_ = l.(io.Closer).Close()
		fd, err := duplicate(int(file.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	f := setupOf(Backend{}, ln)
	f.Loops = 2
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	udp := passed(packets, err)
	stream, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		stream.SetUnlinkOnClose(false)
	}
	f.Inherited = []ListenSocket{
		{Key: plan.ListenerKey{FD: "udp"}, FD: udp}, {Key: plan.ListenerKey{FD: "unix"}, FD: passed(stream, err)},
	}
	p := f.run(t)
	for _, test := range []struct {
		network  config.Network
		fd, want string
		deny     []config.Prefix
	}{
		{"tcp", "udp", "is for datagrams: write fd+udp://udp", nil},
		{"udp", "unix", "is not one of UDP", nil},
		{"tcp", "unix", "remove allow and deny", []config.Prefix{{Prefix: netip.MustParsePrefix("10.0.0.0/8")}}},
		{"tcp", "none", "has passed no socket of this name", nil},
		{"tcp", "unix", "", nil},
	} {
		f.Listeners[0].Set = func(l *plan.Listener) {
			l.Network, l.Bind, l.FD, l.Deny = test.network, netip.AddrPort{}, test.fd, test.deny
		}
		c, err := p.prepareChange(f.plan())
		if err == nil && test.want == "" {
			c.Commit()
			continue
		}
		if err == nil || test.want == "" || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	if got := p.Places(); got[0] != "unix://"+path {
		t.Errorf("it listens on %v", got)
	}
	expectUnixServed(t, path)
}

// Clients that are not allowed are reset, and counted. IPv4 clients of an IPv6 socket are IPv4 clients.
func TestAllowAndDeny(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		for _, address := range []string{"127.0.0.1:0", "[::]:0"} {
			f.Listeners[0].Address = netip.MustParseAddrPort(address)
			f.Listeners[0].Address = netip.AddrPortFrom(f.Listeners[0].Address.Addr(), freePort(t).Port())
			for _, test := range []struct {
				allow, deny string
				want        bool
			}{
				{"", "", true}, {"127.0.0.0/8", "", true}, {"10.0.0.0/8", "", false}, {"::/0", "", false},
				{"", "127.0.0.1/32", false}, {"", "::/0", true}, {"127.0.0.0/8", "127.0.0.1/32", false},
			} {
				f.Listeners[0].Set = func(l *plan.Listener) {
					for text, list := range map[string]*[]config.Prefix{test.allow: &l.Allow, test.deny: &l.Deny} {
						if text != "" {
							*list = []config.Prefix{{Prefix: netip.MustParsePrefix(text)}}
						}
					}
				}
				p, err := f.start()
				if err != nil {
					t.Fatal(err)
				}
				served := false
				c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", p.Addrs()[0].Port()))
				if err == nil {
					_ = c.SetDeadline(time.Now().Add(10 * time.Second))
					_, first := c.Write([]byte{1}) // which may be told of the reset instead of the read
					_, err = io.ReadFull(c, make([]byte, 1))
					served = err == nil
					err = cmp.Or(first, err)
					c.Close()
				}
				if served != test.want || !served && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("%s, %+v: %v", address, test, err)
				}
				denied := uint64(0)
				for _, r := range p.Stats().Listeners[0].Rejected {
					if r.Reason == "denied" {
						denied = r.Count
					}
				}
				if (denied == 1) == test.want {
					t.Errorf("%s, %+v: %d were denied", address, test, denied)
				}
				_ = p.Close()
			}
		}
	})
}

// With free_bind a listener is opened on an address that this machine does not have.
func TestFreeBind(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, ip := range []string{"192.0.2.1", "2001:db8::1"} {
			for _, udp := range []*config.UDP{nil, {IdleTimeout: time.Second}} {
				f := setupOf(Backend{}).on(ring)
				f.Listeners[0].Address, f.Listeners[0].UDP = netip.AddrPortFrom(netip.MustParseAddr(ip), 4711), udp
				if p, err := f.start(); err == nil {
					p.Close()
					t.Errorf("%s: a listener was opened without free_bind", ip)
				}
				f.Listeners[0].Set = func(l *plan.Listener) { l.Socket.FreeBind = true }
				p, err := f.start()
				if err != nil {
					t.Errorf("%s: %v", ip, err)
					continue
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
