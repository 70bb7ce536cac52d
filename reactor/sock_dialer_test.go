//go:build linux

package reactor_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// resolverFunc is a Resolver.
type resolverFunc func(ctx context.Context, network, host string) ([]netip.Addr, error)

func (f resolverFunc) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return f(ctx, network, host)
}

// always is a Resolver that finds these addresses.
func always(addrs ...string) resolverFunc {
	return func(context.Context, string, string) (found []netip.Addr, _ error) {
		for _, a := range addrs {
			found = append(found, netip.MustParseAddr(a))
		}
		return found, nil
	}
}

// dialled is how a Dial completed.
type dialled struct {
	socket  *reactor.Socket
	err     error
	stopped bool
}

// dialing is a Dial in progress.
type dialing struct {
	op     reactor.DialerOp
	source stop.Source
	ended  chan dialled
}

// dial starts to dial.
func (r *running) dial(d *reactor.Dialer, network, address string) *dialing {
	c := &dialing{ended: make(chan dialled, 2)}
	r.do(func() {
		d.Dial(r.Loop, network, address).Connect(&c.op, &sink[*reactor.Socket]{t: r.t, source: &c.source,
			value:   func(s *reactor.Socket) { c.ended <- dialled{socket: s} },
			failed:  func(err error) { c.ended <- dialled{err: err} },
			stopped: func() { c.ended <- dialled{stopped: true} },
		})
		c.op.Start()
		select {
		case <-c.ended:
			r.t.Error("it completed inside Start")
		default:
		}
	})
	return c
}

func (c *dialing) wait(t testing.TB) dialled {
	t.Helper()
	select {
	case d := <-c.ended:
		return d
	case <-time.After(patience):
		t.Fatal("it does not complete")
		return dialled{}
	}
}

// reaches asserts that it connects to the address, and closes the socket.
func (c *dialing) reaches(r *running, address string) {
	r.t.Helper()
	d := c.wait(r.t)
	if d.socket == nil {
		r.t.Fatalf("completed with %v, stopped: %v", d.err, d.stopped)
	}
	r.do(func() {
		if peer, err := d.socket.PeerAddress(); err != nil || peer.String() != address {
			r.t.Errorf("connected to %v, %v; want %s", peer, err, address)
		}
	})
	r.close(d.socket)
}

// blackHole is an address on port that does not answer: the backlog of its listener is full.
func blackHole(t *testing.T, ip string, port int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	at := &unix.SockaddrInet4{Port: port, Addr: netip.MustParseAddr(ip).As4()}
	if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(fd, at), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for range 4 { // one more than the backlog and those that the kernel takes besides
		client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(client) })
		if err := unix.Connect(client, at); err != nil && err != unix.EINPROGRESS {
			t.Fatal(err)
		}
	}
}

// listenAt listens on a port of an address; port 0: any.
func listenAt(t *testing.T, ip string, port int) (listener net.Listener, at int) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

// freePort is a port that no socket listens on, at any of the addresses 127.x.y.z.
func freePort(t *testing.T) int {
	t.Helper()
	l, port := listenAt(t, "0.0.0.0", 0)
	l.Close()
	return port
}

func TestDialAnAddress(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		_, port := listenAt(t, "127.0.0.1", 0)
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		d := &reactor.Dialer{Resolver: resolverFunc(func(context.Context, string, string) ([]netip.Addr, error) {
			return nil, errors.New("an address was looked up")
		})}
		for _, network := range []string{"tcp", "tcp4", "udp", "udp4"} {
			r.dial(d, network, at).reaches(r, at)
		}
		r.dial(d, "tcp", ":"+strconv.Itoa(port)).reaches(r, at)
		if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
			defer l.Close()
			r.dial(d, "tcp", l.Addr().String()).reaches(r, l.Addr().String())
			_, port, _ := net.SplitHostPort(l.Addr().String())
			r.dial(d, "tcp6", ":"+port).reaches(r, l.Addr().String())
		}
		for _, name := range []string{"@" + t.Name(), filepath.Join(t.TempDir(), "socket")} {
			l, err := net.Listen("unix", name)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			r.dial(d, "unix", name).reaches(r, name)
		}
	})
}

// What cannot be an address fails as of net.Dial, without a socket.
func TestDialNoAddress(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		var d reactor.Dialer
		for _, tc := range []struct{ network, address, want string }{
			{"ip", "127.0.0.1:80", "dial ip: unknown network ip"},
			{"tcp", "127.0.0.1", "dial tcp: address 127.0.0.1: missing port in address"},
			{"tcp", "127.0.0.1:", "dial tcp: address 127.0.0.1:: missing port in address"},
			{"tcp6", "127.0.0.1:80", "dial tcp6: address 127.0.0.1: no suitable address"},
			{"tcp4", "[::1]:80", "dial tcp4: address ::1: no suitable address"},
			{"unix", "", "dial unix: missing name of a unix socket"},
			{"unix", strings.Repeat("x", 200), "too long"},
			{"tcp", "[fe80::1%nowhere]:1", "no such device"},
			{"tcp", "127.0.0.1:no-such-service", "no-such-service"},
		} {
			got := r.dial(&d, tc.network, tc.address).wait(t)
			var op *net.OpError
			if got.err == nil || !strings.Contains(got.err.Error(), tc.want) || !errors.As(got.err, &op) {
				t.Errorf("%s %q: %v, want %q", tc.network, tc.address, got.err, tc.want)
			}
		}
	})
}

// An address that is refused is followed by the next immediately.
func TestDialAfterARefusal(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		_, port := listenAt(t, "127.0.0.2", 0)
		name := net.JoinHostPort("two.test", strconv.Itoa(port))
		d := &reactor.Dialer{Resolver: always("127.0.0.1", "::ffff:127.0.0.2"), AttemptDelay: time.Hour}
		r.dial(d, "tcp", name).reaches(r, net.JoinHostPort("127.0.0.2", strconv.Itoa(port)))
		d.AttemptDelay = -1
		r.dial(d, "tcp4", name).reaches(r, net.JoinHostPort("127.0.0.2", strconv.Itoa(port)))
	})
}

// An address that does not answer is followed by the next after the delay, and its socket is closed.
func TestDialBesideABlackHole(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		port := freePort(t)
		blackHole(t, "127.0.0.1", port)
		listenAt(t, "127.0.0.2", port)
		before := descriptors()
		d := &reactor.Dialer{Resolver: always("127.0.0.1", "127.0.0.2"), AttemptDelay: 20 * time.Millisecond}
		began := time.Now()
		r.dial(d, "tcp", net.JoinHostPort("two.test", strconv.Itoa(port))).
			reaches(r, net.JoinHostPort("127.0.0.2", strconv.Itoa(port)))
		if took := time.Since(began); took < d.AttemptDelay {
			t.Errorf("it took %v, less than the delay", took)
		}
		if after := descriptors(); after > before {
			t.Errorf("%d descriptors were open before and %d are now", before, after)
		}
	})
}

// The error names each address that was tried, and matches the error of each.
func TestDialAllFail(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		port := strconv.Itoa(freePort(t))
		mine := errors.New("mine")
		first := true
		d := &reactor.Dialer{Resolver: always("127.0.0.1", "127.0.0.2"), Options: func(*reactor.Socket) error {
			if first {
				first = false
				return mine
			}
			return nil
		}}
		err := r.dial(d, "tcp", "two.test:"+port).wait(t).err
		want := "dial tcp two.test:" + port + ": 127.0.0.1:" + port + ": mine; 127.0.0.2:" + port +
			": connect: connection refused"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if !errors.Is(err, mine) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v does not match its errors", err)
		}
		err = r.dial(&reactor.Dialer{}, "tcp", "127.0.0.1:"+port).wait(t).err
		if want := "dial tcp 127.0.0.1:" + port + ": connect: connection refused"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		d.Resolver = resolverFunc(func(context.Context, string, string) ([]netip.Addr, error) { return nil, mine })
		err = r.dial(d, "tcp", "none.test:"+port).wait(t).err
		if err == nil || err.Error() != "dial tcp: mine" || !errors.Is(err, mine) {
			t.Errorf("a name that is not found: %v", err)
		}
		d.Resolver = always()
		if err = r.dial(d, "tcp", "none.test:"+port).wait(t).err; err == nil ||
			err.Error() != "dial tcp: address none.test: no suitable address" {
			t.Errorf("a name without addresses: %v", err)
		}
	})
}

// A stop request ends the look-up, and attempts that get no answer; a loop that drains does, too.
func TestDialIsStopped(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		port := freePort(t)
		blackHole(t, "127.0.0.1", port)
		blackHole(t, "127.0.0.2", port)
		looking := make(chan bool, 2)
		lookUp := resolverFunc(func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			looking <- true
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for name, d := range map[string]*reactor.Dialer{
			"look-up":          {Resolver: lookUp},
			"first attempt":    {Resolver: always("127.0.0.1", "127.0.0.2"), AttemptDelay: time.Hour},
			"several attempts": {Resolver: always("127.0.0.1", "127.0.0.2"), AttemptDelay: 1},
		} {
			for _, drains := range []bool{false, true} {
				before := descriptors()
				r := run(t, reactor.LoopConfig{Ring: kind})
				c := r.dial(d, "tcp", net.JoinHostPort("two.test", strconv.Itoa(port)))
				if name == "look-up" {
					<-looking
				}
				r.settle()
				r.settle()
				if drains {
					r.Stop()
				} else {
					c.source.RequestStop()
				}
				if got := c.wait(t); !got.stopped {
					t.Errorf("%s: %+v", name, got)
				}
				if !drains {
					r.Stop()
				}
				if err := r.wait(); err != nil {
					t.Error(err)
				}
				if after := descriptors(); after != before {
					t.Errorf("%s: %d descriptors were open before and %d are now", name, before, after)
				}
			}
		}
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		c := &dialing{ended: make(chan dialled, 2)}
		c.source.RequestStop()
		r.do(func() {
			reactor.Dial(r.Loop, "tcp", "two.test:1").Connect(&c.op, &sink[*reactor.Socket]{t: t, source: &c.source,
				stopped: func() { c.ended <- dialled{stopped: true} }})
			c.op.Start()
		})
		c.wait(t)
	})
}

// The local address chooses the family, and is that of the socket.
func TestDialFromALocalAddress(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		_, port := listenAt(t, "127.0.0.1", 0)
		local, err := reactor.IPAddress(netip.MustParseAddrPort("127.0.0.9:0"))
		if err != nil {
			t.Fatal(err)
		}
		d := &reactor.Dialer{Resolver: always("::1", "127.0.0.1"), Local: local}
		got := r.dial(d, "tcp", net.JoinHostPort("two.test", strconv.Itoa(port))).wait(t)
		if got.err != nil {
			t.Fatal(got.err)
		}
		r.do(func() {
			if a, err := got.socket.LocalAddr(); err != nil || a.Addr().String() != "127.0.0.9" {
				t.Errorf("the local address is %v, %v", a, err)
			}
		})
		r.close(got.socket)
		if err := r.dial(d, "tcp6", "[::1]:1").wait(t).err; err == nil {
			t.Error("an IPv6 address was reached from an IPv4 address")
		}
	})
}

// The system's resolver finds this machine.
func TestDialByName(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		if _, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip4", "localhost"); err != nil {
			t.Skip(err)
		}
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		_, port := listenAt(t, "127.0.0.1", 0)
		at := strconv.Itoa(port)
		r.dial(&reactor.Dialer{}, "tcp", "localhost:"+at).reaches(r, "127.0.0.1:"+at)
	})
}

var _ sender.Operation = (*reactor.DialerOp)(nil)
