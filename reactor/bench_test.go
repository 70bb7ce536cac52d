//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

func eachRingB(b *testing.B, f func(b *testing.B, kind reactor.RingKind)) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		b.Run(string(kind), func(b *testing.B) {
			need(b, kind)
			f(b, kind)
		})
	}
}

// benchmarkSteady measures rounds of what steady has under the name.
func benchmarkSteady(b *testing.B, name string) {
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		b.ReportAllocs()
		r := run(b, reactor.LoopConfig{Ring: kind})
		p := &rounds{r: r, done: make(chan bool, 1)}
		var sockets []*reactor.Socket
		var fds []int
		p.step, sockets, fds = steady[name](r, p.next)
		p.play(100)
		b.ResetTimer()
		p.play(b.N)
		b.StopTimer()
		r.close(sockets...)
		for _, fd := range fds {
			unix.Close(fd)
		}
		r.end()
	})
}

// BenchmarkNop is the least that a turn of the loop costs: one entry in, one completion out.
func BenchmarkNop(b *testing.B) { benchmarkSteady(b, "nop") }

// BenchmarkCancelRecv starts a receive and cancels it once it is with the ring, by way of a nop.
func BenchmarkCancelRecv(b *testing.B) { benchmarkSteady(b, "start and stop a recv in flight") }

// crowd is how many operations the benchmarks of crowds have in flight.
const crowd = 64

// BenchmarkCancelRecvs has a crowd of receives in flight and cancels them all in one turn, as a server
// does that sheds its idle connections. The figures are for one of them.
func BenchmarkCancelRecvs(b *testing.B) {
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		r := run(b, reactor.LoopConfig{Ring: kind})
		p := &rounds{r: r, done: make(chan bool, 1)}
		var sockets []*reactor.Socket
		var fds []int
		var starts, stops []func()
		left := 0
		for range crowd {
			s, peer := r.pair()
			sockets, fds = append(sockets, s), append(fds, peer)
			op, source := new(reactor.RecvOp), new(stop.Source)
			s.Recv(make([]byte, 8)).Connect(op, &again[int]{func(int) {
				source.Reset()
				if left--; left == 0 {
					p.next()
				}
			}, &sinkEnv[int]{source: source}})
			starts = append(starts, op.Start)
			stops = append(stops, func() { source.RequestStop() })
		}
		nop := new(reactor.NopOp)
		r.Nop().Connect(nop, &again[struct{}]{func(struct{}) { each(stops) }, sender.EmptyEnv{}})
		p.step = func() {
			left = crowd
			each(starts)
			nop.Start()
		}
		p.play(10)
		b.ReportAllocs()
		b.ResetTimer()
		p.play((b.N + crowd - 1) / crowd)
		b.StopTimer()
		r.close(sockets...)
		for _, fd := range fds {
			unix.Close(fd)
		}
		r.end()
	})
}

func each(f []func()) {
	for _, f := range f {
		f()
	}
}

// BenchmarkCancelSleeps is the life of timeouts that are not needed, many of them in a turn. The figures
// are for one; SleepFor reads the clock.
func BenchmarkCancelSleeps(b *testing.B) {
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		b.Run("for", func(b *testing.B) { cancelSleeps(b, kind, false) })
		b.Run("until", func(b *testing.B) { cancelSleeps(b, kind, true) })
	})
}

func cancelSleeps(b *testing.B, kind reactor.RingKind, until bool) {
	r := run(b, reactor.LoopConfig{Ring: kind})
	p := &rounds{r: r, done: make(chan bool, 1)}
	left := 0
	var acts []func()
	for range crowd {
		op, source := new(reactor.SleepOp), new(stop.Source)
		s := r.SleepFor(time.Hour)
		if until {
			s = r.SleepUntil(r.Clock() + int64(time.Hour))
		}
		s.Connect(op, &again[struct{}]{func(struct{}) {
			source.Reset()
			if left--; left == 0 {
				p.next()
			}
		}, &sinkEnv[struct{}]{source: source}})
		acts = append(acts, func() { op.Start(); source.RequestStop() })
	}
	p.step = func() {
		left = crowd
		each(acts)
	}
	p.play(10)
	b.ReportAllocs()
	b.ResetTimer()
	p.play((b.N + crowd - 1) / crowd)
	b.StopTimer()
	r.end()
}

// BenchmarkCancelSleep measures the life of a timeout that is not needed, one in a turn.
func BenchmarkCancelSleep(b *testing.B) { benchmarkSteady(b, "start and stop a sleep") }

// BenchmarkEcho sends 128 bytes through a socket pair and receives them, both on one loop.
func BenchmarkEcho(b *testing.B) {
	for _, how := range []string{"recv", "recv lease", "recv many"} {
		b.Run(how, func(b *testing.B) { benchmarkSteady(b, "send and "+how) })
	}
}
