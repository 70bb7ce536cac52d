//go:build linux

package reactor_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// again is a receiver that plays one more round of something until the last.
type again[T any] struct {
	round func(T)
	env   sender.Env
}

func (a *again[T]) SetValue(v T)       { a.round(v) }
func (a *again[T]) SetNext(v T)        { a.round(v) }
func (a *again[T]) SetError(err error) { panic(err) }
func (a *again[T]) SetStopped()        { var v T; a.round(v) }
func (a *again[T]) Env() sender.Env    { return a.env }

// seqAgain is the same for a sequence, whose end ends nothing.
type seqAgain[T any] struct {
	again[T]
}

func (a *seqAgain[T]) SetValue(struct{}) {}
func (a *seqAgain[T]) SetError(error)    {}
func (a *seqAgain[T]) SetStopped()       {}

// rounds plays rounds on a loop: step begins one, and next is called when it has ended.
type rounds struct {
	r    *running
	left int
	done chan bool
	step func()
}

func (p *rounds) next() {
	if p.left--; p.left == 0 {
		p.done <- true
		return
	}
	p.step()
}

// play plays n rounds.
func (p *rounds) play(n int) {
	p.r.t.Helper()
	w := newWork(func() { p.step() }, nil)
	p.left = n
	p.r.Enqueue(&w.Work)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.r.t.Fatalf("%d rounds are left: %+v", p.left, p.r.Stats())
	}
}

// allocations is how many the process makes meanwhile, and their stacks. Those of the scheduler do not count: a
// thread, and what a goroutine waits with for a mutex, are made when none is left over on the processor at hand,
// and how often that happens is not the program's doing.
func allocations(do func()) (n int64, stacks string) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 0 // what is made to count does not count
	before := allocated()
	runtime.MemProfileRate = 1
	do()
	runtime.MemProfileRate = 0
	for stack, count := range allocated() {
		if count -= before[stack]; count > 0 &&
			!strings.Contains(stack, "runtime.allocm") && !strings.Contains(stack, "runtime.acquireSudog") {
			n += count
			stacks += fmt.Sprintf("\n%d times\n%s", count, stack)
		}
	}
	return n, stacks
}

// allocated is how often was allocated, by stack.
func allocated() map[string]int64 {
	runtime.GC() // which makes the profile complete
	records := make([]runtime.MemProfileRecord, 100)
	n, ok := runtime.MemProfile(records, true)
	for ; !ok; n, ok = runtime.MemProfile(records, true) {
		records = make([]runtime.MemProfileRecord, n+100)
	}
	counts := make(map[string]int64)
	for _, r := range records[:n] {
		var stack strings.Builder
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			fmt.Fprintf(&stack, "\t%s:%d\n", f.Function, f.Line)
		}
		counts[stack.String()] += r.AllocObjects
	}
	return counts
}

// steady are operations over and over, as a busy server does them: nothing is connected again but for what has to. Each
// makes a step, which leads to exactly one call of next, and what is to be closed.
var steady = map[string]func(r *running, next func()) (step func(), sockets []*reactor.Socket, fds []int){
	"nop": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		op := new(reactor.NopOp)
		r.Nop().Connect(op, &again[struct{}]{func(struct{}) { next() }, sender.EmptyEnv{}})
		return op.Start, nil, nil
	},
	"sleep": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		op := new(reactor.SleepOp)
		r.SleepFor(0).Connect(op, &again[struct{}]{func(struct{}) { next() }, sender.EmptyEnv{}})
		return op.Start, nil, nil
	},
	"shutdown": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		s, peer := r.pair()
		op := new(reactor.ShutdownOp)
		s.Shutdown(unix.SHUT_RD).Connect(op, &again[struct{}]{func(struct{}) { next() }, sender.EmptyEnv{}})
		return op.Start, []*reactor.Socket{s}, []int{peer}
	},
	"poll": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		s, peer := r.pair()
		op := new(reactor.PollOp)
		s.Poll(unix.POLLOUT).Connect(op, &again[uint32]{func(uint32) { next() }, sender.EmptyEnv{}})
		return op.Start, []*reactor.Socket{s}, []int{peer}
	},
	"schedule": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		op := new(sender.ScheduleOp)
		sender.Schedule(r.Loop).Connect(op, &again[struct{}]{func(struct{}) { next() }, sender.EmptyEnv{}})
		return op.Start, nil, nil
	},
	"send and recv": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		return echo(r, next, "recv")
	},
	"send and recv lease": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		return echo(r, next, "lease")
	},
	"send and recv many": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		return echo(r, next, "many")
	},
	"sendv and recv": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		return echo(r, next, "sendv")
	},
	"start and stop a recv": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		s, peer := r.pair()
		op, source := new(reactor.RecvOp), new(stop.Source)
		env := &sinkEnv[int]{source: source}
		s.Recv(make([]byte, 8)).Connect(op, &again[int]{func(int) { source.Reset(); next() }, env})
		return func() { op.Start(); source.RequestStop() }, []*reactor.Socket{s}, []int{peer}
	},
	"start and stop a recv in flight": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		s, peer := r.pair()
		op, source, nop := new(reactor.RecvOp), new(stop.Source), new(reactor.NopOp)
		env := &sinkEnv[int]{source: source}
		s.Recv(make([]byte, 8)).Connect(op, &again[int]{func(int) { source.Reset(); next() }, env})
		r.Nop().Connect(nop, &again[struct{}]{func(struct{}) { source.RequestStop() }, sender.EmptyEnv{}})
		return func() { op.Start(); nop.Start() }, []*reactor.Socket{s}, []int{peer}
	},
	"start and stop a sleep": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		op, source := new(reactor.SleepOp), new(stop.Source)
		env := &sinkEnv[struct{}]{source: source}
		r.SleepFor(time.Hour).Connect(op, &again[struct{}]{func(struct{}) { source.Reset(); next() }, env})
		return func() { op.Start(); source.RequestStop() }, nil, nil
	},
}

// echo sends a message from one socket of the loop to another: over when it has arrived.
func echo(r *running, next func(), how string) (step func(), sockets []*reactor.Socket, fds []int) {
	a, peer := r.pair()
	b := new(reactor.Socket)
	if err := unix.SetNonblock(peer, true); err != nil {
		r.t.Fatal(err)
	}
	b.Init(r.Loop, peer)
	message := make([]byte, 128)
	pending := 0
	over := func() {
		if pending--; pending == 0 {
			next()
		}
	}
	sent := &again[int]{func(int) { over() }, sender.EmptyEnv{}}
	send, sendv := new(reactor.SendOp), new(reactor.SendvOp)
	a.SendAll(message).Connect(send, sent)
	a.Sendv([][]byte{message[:64], message[64:]}).Connect(sendv, sent)
	begin := func() {
		pending = 2
		if how == "sendv" {
			sendv.Reset()
			sendv.Add(message[:64])
			sendv.Add(message[64:])
			sendv.Start()
		} else {
			send.Start()
		}
	}
	sockets = []*reactor.Socket{a, b}
	release := func(l reactor.Lease) { l.Release(); over() }
	switch how {
	case "lease":
		op := new(reactor.RecvLeaseOp)
		b.RecvLease().Connect(op, &again[reactor.Lease]{release, sender.EmptyEnv{}})
		return func() { op.Start(); begin() }, sockets, nil
	case "many":
		op, started := new(reactor.RecvManyOp), false
		b.RecvMany(4).Connect(op, &seqAgain[reactor.Lease]{again[reactor.Lease]{func(l reactor.Lease) {
			op.Grant(1)
			release(l)
		}, sender.EmptyEnv{}}})
		return func() {
			if !started {
				started = true
				op.Start()
			}
			begin()
		}, sockets, nil
	}
	op := new(reactor.RecvOp)
	b.Recv(make([]byte, 256)).Connect(op, &again[int]{func(int) { over() }, sender.EmptyEnv{}})
	return func() { op.Start(); begin() }, sockets, nil
}

// TestNothingIsAllocated plays ten thousand rounds of everything. The test itself makes a handful, so anything
// that allocates once a round shows, and once in a hundred as well.
func TestNothingIsAllocated(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, how := range steady {
			t.Run(name, func(t *testing.T) {
				r := run(t, reactor.LoopConfig{Ring: kind})
				p := &rounds{r: r, done: make(chan bool, 1)}
				var sockets []*reactor.Socket
				var fds []int
				p.step, sockets, fds = how(r, p.next)
				n := 10_000
				if testing.Short() {
					n = 500
				}
				p.play(n / 10) // until tables have grown to their size
				if made, stacks := allocations(func() { p.play(n) }); made > 20 {
					t.Errorf("%d allocations in %d rounds:%s", made, n, stacks)
				}
				r.close(sockets...)
				for _, fd := range fds {
					unix.Close(fd)
				}
				r.end()
			})
		}
	})
}
