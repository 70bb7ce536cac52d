package proxy

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// change puts a plan in force.
func (p *Proxy) change(t testing.TB, f fixture) {
	t.Helper()
	c, err := p.prepareChange(f.plan())
	if err != nil {
		t.Fatal(err)
	}
	c.Commit()
}

// freePort is an address on which no socket listens. Its port is below those that the kernel gives to sockets that ask
// for any: no other process gets it in the meantime.
func freePort(t testing.TB) netip.AddrPort {
	t.Helper()
	for range 100 {
		at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(16384+rand.IntN(16384)))
		ln, err := net.Listen("tcp", at.String())
		if err != nil {
			continue
		}
		c, err := net.ListenPacket("udp", at.String())
		ln.Close()
		if err != nil {
			continue
		}
		c.Close()
		return at
	}
	t.Fatal("no port is free")
	return netip.AddrPort{}
}

// A listener that keeps its address keeps its connections and counters, whatever else changes. One that is gone accepts
// no more, and its connections live on.
func TestListenersComeAndGo(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		kept, gone, added := freePort(t), freePort(t), freePort(t)
		at := func(names string, addresses ...netip.AddrPort) {
			f.Listeners = nil
			for i, a := range addresses {
				f.Listeners = append(f.Listeners, Listener{Name: names[i : i+1], Address: a, Backend: "b"})
			}
		}
		at("ab", kept, gone)
		p := f.run(t)
		onKept, onGone := caller(t, p, 0), caller(t, p, 1)
		expectServed(t, onKept)
		expectServed(t, onGone)

		at("zn", kept, added)
		p.change(t, f)
		onAdded := caller(t, p, 0) // "n"
		for _, c := range []net.Conn{onKept, onGone, onAdded} {
			if c != onAdded {
				_, _ = c.Write([]byte{1})
			}
			expectServed(t, c)
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			c, err := net.Dial("tcp", gone.String())
			if err != nil {
				break
			}
			c.Close()
			if time.Now().After(deadline) {
				t.Fatal("a listener that is gone still accepts")
			}
		}
		stats := p.Stats().Listeners
		if len(stats) != 2 || stats[0].Name != "n" || stats[1].Name != "z" || stats[1].Accepted != 1 {
			t.Errorf("%+v", stats)
		}
		if n := p.Open(); n != 3 {
			t.Errorf("%d connections are open, want 3", n)
		}
	})
}

// Limits and the backend of a listener that stays are those of the new plan, for new connections.
func TestSettingsOfAListenerChange(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		first, second := listen(t), listen(t)
		answers := func(ln net.Listener, b byte) {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte{b})
			}
		}
		go answers(first, 1)
		go answers(second, 2)
		f := setupOf(Backend{}, first)
		f.Ring, f.Loops = ring, 2
		f.Listeners[0].Address = freePort(t)
		f.Listeners[0].MaxConnections = 1
		p := f.run(t)
		expect := func(c net.Conn, want byte) {
			t.Helper()
			var got [1]byte
			if _, err := io.ReadFull(c, got[:]); err != nil || got[0] != want {
				t.Errorf("server %d, %v, want %d", got[0], err, want)
			}
		}
		expect(caller(t, p, 0), 1)
		waits := caller(t, p, 0)
		f.addOther(second)
		f.Listeners[0].Backend, f.Listeners[0].MaxConnections = "other", 3
		p.change(t, f)
		expect(waits, 2)
		expect(caller(t, p, 0), 2)
		f.Listeners[0].OnLimit = "reject"
		p.change(t, f)
		c, err := net.Dial("tcp", p.Addrs()[0].String())
		if err == nil {
			defer c.Close()
			_, err = c.Read(make([]byte, 1))
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v beyond the limit, want a reset", err)
		}
	})
}

// A listener that waits for its rate does not wait any more when the plan lifts it.
func TestRateIsLifted(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops, f.Listeners[0].Address = ring, 1, freePort(t)
		f.Listeners[0].Rate = config.Rate{Connections: 1, Burst: 1}
		f.Limits.Rate = config.Rate{Connections: 1000}
		p := f.run(t)
		expectServed(t, caller(t, p, 0))
		began := time.Now()
		waits := []net.Conn{caller(t, p, 0), caller(t, p, 0), caller(t, p, 0)}
		f.Listeners[0].Rate = config.Rate{}
		p.change(t, f)
		for _, c := range waits {
			expectServed(t, c)
		}
		if d := time.Since(began); d > 900*time.Millisecond {
			t.Errorf("served after %v", d)
		}
	})
}

// A socket of the service manager is found by its name, by all loops, and is there again for a later plan.
func TestSocketOfTheServiceManager(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln, passed := listen(t), listen(t)
		go echo(ln)
		file, err := passed.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		fd, err := duplicate(int(file.Fd()))
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		f.Inherited = []ListenSocket{{Key: plan.ListenerKey{FD: "web"}, FD: fd}}
		p := f.run(t)
		own := f.plan()
		withSocket := f.plan()
		l := Listener{Name: "m", Backend: "b"}.plan()
		l.FD = "web"
		withSocket.Listeners = append(withSocket.Listeners, l)
		for range 2 {
			for _, next := range []*plan.Plan{withSocket, own} {
				c, err := p.prepareChange(next)
				if err != nil {
					t.Fatal(err)
				}
				c.Commit()
				if next != own {
					if got, want := p.Addrs()[1].String(), passed.Addr().String(); got != want {
						t.Errorf("the address is %s, want %s", got, want)
					}
					expectServed(t, caller(t, p, 1))
				}
			}
		}
		unknown := *withSocket
		unknown.Listeners = slices.Clone(withSocket.Listeners)
		unknown.Listeners[1].FD = "none"
		if _, err := p.prepareChange(&unknown); err == nil || !strings.Contains(err.Error(), "fd://none") {
			t.Errorf("%v, want that there is no such socket", err)
		}
	})
}

// A plan that cannot be prepared leaves nothing open, and everything is as before.
func TestFailedPlanLeaksNothing(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		p := f.run(t)
		taken := listen(t).Addr().(*net.TCPAddr).AddrPort()
		open, before := descriptors(t), p.Plan()
		next := f
		next.Listeners = append([]Listener{
			{Name: "a", Address: freePort(t), Backend: "b"}, {Name: "m", Address: taken, Backend: "b"},
		}, f.Listeners...)
		if _, err := p.prepareChange(next.plan()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%v, want that the address is in use", err)
		}
		next.Listeners[1].Address = freePort(t)
		next.Listeners[1].Backend = "none"
		if _, err := p.prepareChange(next.plan()); err == nil {
			t.Error("a plan without the backend was prepared")
		}
		next.Listeners[1].Backend = "b"
		c, err := p.prepareChange(next.plan())
		if err != nil {
			t.Fatal(err)
		}
		c.Discard()
		if n := descriptors(t); n > open {
			t.Errorf("%d descriptors are open, want %d at most", n, open)
		}
		if p.Plan() != before || len(p.Stats().Listeners) != 1 {
			t.Error("the plan has changed")
		}
		expectServed(t, caller(t, p, 0))
		p.change(t, next)
		expectServed(t, caller(t, p, 0))
	})
}

// Another process has the address, with SO_REUSEPORT, too: the kernel would spread connections over both.
func TestAddressesAreNotShared(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		other := start(t, ring, Backend{}, ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		f.Listeners[0].Address = other.Addrs()[0]
		if p, err := f.start(); !errors.Is(err, syscall.EADDRINUSE) {
			if err == nil {
				_ = p.Close()
			}
			t.Errorf("%v, want that the address is in use", err)
		}
	})
}

// A listener moves to an address that overlaps its own.
func TestListenerMovesToAnOverlappingAddress(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		port := freePort(t).Port()
		at := func(ip string) { f.Listeners[0].Address = netip.AddrPortFrom(netip.MustParseAddr(ip), port) }
		at("127.0.0.1")
		p := f.run(t)
		for _, ip := range []string{"0.0.0.0", "127.0.0.1"} {
			at(ip)
			p.change(t, f)
			expectServed(t, caller(t, p, 0))
		}
	})
}

// Nothing keeps a listener that is gone once its last connection has ended.
func TestRetiredListenersAreFreed(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		p := f.run(t)
		var shared []weak.Pointer[sharedListener]
		own := f.Listeners[0]
		var last net.Conn
		for i := range 10 {
			f.Listeners = []Listener{own, {Name: fmt.Sprint("x", i), Address: freePort(t), Backend: "b"}}
			p.change(t, f)
			shared = append(shared, weak.Make(p.table.Load().listeners[1]))
			last = caller(t, p, 1)
			expectServed(t, last)
			if i != 9 {
				last.Close()
			}
		}
		f.Listeners = f.Listeners[:1]
		p.change(t, f)
		alive := func() (n int) {
			runtime.GC()
			for _, s := range shared {
				if s.Value() != nil {
					n++
				}
			}
			return n
		}
		await := func(want int) {
			t.Helper()
			for deadline := time.Now().Add(10 * time.Second); alive() != want; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d listeners are alive, want %d", alive(), want)
				}
			}
		}
		await(1)
		_, _ = last.Write([]byte{1})
		expectServed(t, last)
		last.Close()
		await(0)
	})
}

// The sockets of a proxy are handed to another one, which has more loops or fewer: no connection is refused.
func TestHandOver(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, loops := range []int{1, 2, 3} {
			t.Run(fmt.Sprint(loops), func(t *testing.T) {
				ln := listen(t)
				go echo(ln)
				f := setupOf(Backend{}, ln)
				f.Ring, f.Loops, f.Listeners[0].Address = ring, 2, freePort(t)
				old := f.run(t)
				stop := make(chan struct{})
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							c := caller(t, old, 0)
							expectServed(t, c)
							c.Close()
						}
					})
				}
				sockets, err := old.ListenSockets()
				if err != nil || len(sockets) != 2 {
					t.Fatalf("%d sockets, %v", len(sockets), err)
				}
				f.Inherited, f.Loops = sockets, loops
				next := f.run(t)
				old.StopAccepting()
				served := next.Stats().Listeners[0].Accepted
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
					if next.Stats().Listeners[0].Accepted > served+100 {
						break
					}
					if time.Now().After(deadline) {
						t.Fatal("the other proxy does not accept")
					}
				}
				close(stop)
				wg.Wait()
			})
		}
	})
}

// BenchmarkPrepare is 1 000 listeners, prepared, put in force, and taken back.
func BenchmarkPrepare(b *testing.B) {
	server := freePort(b)
	f := fixture{Backends: []Backend{{Name: "b", Servers: []Server{{Name: "s", Address: server}}}}}
	f.Loops = 2
	p, err := f.start()
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	many := f
	for i := range 1000 {
		many.Listeners = append(many.Listeners, Listener{
			Name: fmt.Sprintf("%04d", i), Backend: "b",
			Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 1, byte(i % 250)}), uint16(20000+i)),
		})
	}
	var prepare, commit, retire time.Duration
	for b.Loop() {
		began := time.Now()
		c, err := p.prepareChange(many.plan())
		if err != nil {
			b.Fatal(err)
		}
		prepared := time.Now()
		c.Commit()
		committed := time.Now()
		p.change(b, f)
		prepare, commit, retire = prepare+prepared.Sub(began), commit+committed.Sub(prepared), retire+time.Since(committed)
	}
	n := float64(b.N)
	b.ReportMetric(prepare.Seconds()*1e3/n, "ms/prepare")
	b.ReportMetric(commit.Seconds()*1e3/n, "ms/commit")
	b.ReportMetric(retire.Seconds()*1e3/n, "ms/retire")
}
