package proxy

import (
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// needIncomingCPU returns two CPUs, or skips the test.
func needIncomingCPU(t *testing.T) (cpus []int) {
	t.Helper()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; len(cpus) < 2 && cpu < 64*len(allowed); cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	switch err := ProbeIncomingCPU(); {
	case len(cpus) < 2:
		t.Skip("the process may run on one CPU only")
	case errors.Is(err, errIncomingCPU):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return cpus
}

// connectFrom connects n times from a thread on a CPU, which then receives the packets, on the loopback device. The
// sockets are closed at the end of the test.
func connectFrom(t *testing.T, cpu, kind int, to netip.AddrPort, n int) {
	t.Helper()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		var set unix.CPUSet
		set.Set(cpu)
		err := unix.SchedSetaffinity(0, &set)
		for range n {
			fd, failure := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
			t.Cleanup(func() { _ = unix.Close(fd) })
			err = errors.Join(err, failure, unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}))
			if kind == unix.SOCK_DGRAM {
				_, failure = unix.Write(fd, []byte("session"))
				err = errors.Join(err, failure)
			}
		}
		failed <- err
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// awaitAccepted waits until the loops have accepted n connections together, and have counted which are local, and
// returns their counters.
func awaitAccepted(t *testing.T, p *Proxy, n uint64) []stats.Loop {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		sum := uint64(0)
		for _, l := range p.LoopStats() {
			sum += l.Accepted
		}
		if sum == n {
			for i := range p.workers {
				onWorker(p, i, func(*worker) {}) // after the turn that has accepted
			}
			return p.LoopStats()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections were accepted, want %d", sum, n)
		}
	}
}

// onIncomingCPU returns a fixture of TCP or UDP with a loop on each of two CPUs.
func onIncomingCPU(t *testing.T, ring reactor.RingKind, kind int) fixture {
	f := setupOf(Backend{}, listen(t))
	if kind == unix.SOCK_DGRAM {
		f = udpFixture(Backend{}, config.UDP{}, netip.MustParseAddrPort(listenPacket(t)))
	}
	f.Ring, f.Loops, f.Pin, f.IncomingCPU = ring, 2, true, true
	return f
}

// listenPacket returns the address of a socket that nobody reads from.
func listenPacket(t *testing.T) string {
	return dialUDP(t, netip.MustParseAddrPort("127.0.0.1:9")).LocalAddr().String()
}

// Each loop gets what its CPU receives, until that is given up: then both get some of it.
func TestIncomingCPU(t *testing.T) {
	cpus := needIncomingCPU(t)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			p := onIncomingCPU(t, ring, kind).run(t)
			const n = 32
			connectFrom(t, cpus[0], kind, p.Addrs()[0], n)
			loops := awaitAccepted(t, p, n)
			if loops[0].Accepted != n || kind == unix.SOCK_STREAM && loops[0].Local != n {
				t.Errorf("after connections on the first CPU: %+v", loops)
			}
			connectFrom(t, cpus[1], kind, p.Addrs()[0], n)
			loops = awaitAccepted(t, p, 2*n)
			if loops[1].Accepted != n || kind == unix.SOCK_STREAM && loops[1].Local != n {
				t.Errorf("after connections on the second CPU: %+v", loops)
			}
			p.spreadByHash()
			for i := range p.workers {
				onWorker(p, i, func(w *worker) {
					if w.cpu != noCPU {
						t.Error("a loop still prefers its CPU")
					}
				})
			}
			connectFrom(t, cpus[0], kind, p.Addrs()[0], n)
			loops = awaitAccepted(t, p, 3*n)
			if loops[0].Accepted == n || loops[1].Accepted == n || p.Stats().Process.IncomingCPU {
				t.Errorf("spread by hash: %+v", loops)
			}
		}
	})
}

func onWorker(p *Proxy, i int, f func(*worker)) {
	done := make(chan struct{})
	c := &call{w: p.workers[i], f: func(w *worker) { f(w); close(done) }}
	c.Runner = c
	c.w.loop.Enqueue(&c.Work)
	<-done
}

// Sockets that were given in another order, or for more loops, prefer the CPU of the loop that has them; and none when
// the next process does not want it. A listener of UDP has no socket for loops that there were not before.
func TestIncomingCPUOfInheritedSockets(t *testing.T) {
	cpus := needIncomingCPU(t)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, loops := range []int{1, 2, 4} {
			for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
				if kind == unix.SOCK_DGRAM && loops == 1 {
					continue
				}
				f := onIncomingCPU(t, ring, kind)
				f.Loops = loops
				old := f.run(t)
				sockets, err := old.ListenSockets()
				if err != nil || len(sockets) != loops {
					t.Fatalf("%d sockets, %v", len(sockets), err)
				}
				slices.Reverse(sockets)
				f.Inherited, f.Loops = sockets, 2
				f.Listeners[0].Address = old.Addrs()[0]
				for i := range f.Inherited {
					f.Inherited[i].Key = f.plan().Listeners[0].Key()
				}
				next := f.run(t)
				old.StopAccepting()
				awaitStopped(t, old)
				const n = 32
				for i, cpu := range cpus {
					connectFrom(t, cpu, kind, next.Addrs()[0], n)
					if all := awaitAccepted(t, next, uint64(i+1)*n); all[i].Accepted != n {
						t.Errorf("%d loops before: connections on CPU %d came to %+v", loops, cpu, all)
					}
				}
				if f.Inherited, err = next.ListenSockets(); err != nil {
					t.Fatal(err)
				}
				for i := range f.Inherited {
					f.Inherited[i].Key = f.plan().Listeners[0].Key()
				}
				f.IncomingCPU = false
				for _, l := range f.run(t).table.Load().listeners[0].loops {
					for _, fd := range l.fds() {
						if cpu, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_CPU); err != nil || cpu != noCPU {
							t.Errorf("without incoming_cpu a socket prefers CPU %d, %v", cpu, err)
						}
					}
				}
			}
		}
	})
}

// awaitStopped waits until no loop accepts any more.
func awaitStopped(t *testing.T, p *Proxy) {
	for i := range p.workers {
		onWorker(p, i, func(w *worker) {
			if w.state < workerStopped {
				t.Error("a worker accepts")
			}
		})
	}
}

func TestOverloaded(t *testing.T) {
	for _, test := range []struct {
		loops []load
		want  int
	}{
		{[]load{{1, 1000}, {0.1, 10}}, 0},
		{[]load{{0.1, 10}, {0.8, 1000}}, 1},
		{[]load{{0.7, 1000}, {0.1, 10}}, -1},               // it can keep up
		{[]load{{1, 1000}, {1, 900}}, -1},                  // all have much to do
		{[]load{{1, 60}, {0, 0}}, -1},                      // few connections, of which one may be busy
		{[]load{{1, 250}, {1, 260}, {1, 240}, {0, 0}}, -1}, // three of four
		{[]load{{1, 500}, {1, 500}, {0, 0}, {0, 0}}, 0},
		{[]load{{1, 1000}}, -1},
		{nil, -1},
	} {
		if got := overloaded(test.loops); got != test.want {
			t.Errorf("%v: %d, want %d", test.loops, got, test.want)
		}
	}
}

func BenchmarkProbeIncomingCPU(b *testing.B) {
	for b.Loop() {
		if err := ProbeIncomingCPU(); err != nil && !errors.Is(err, errIncomingCPU) {
			b.Fatal(err)
		}
	}
}
