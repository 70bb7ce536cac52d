//go:build linux

package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// mustPanic asserts that f panics, and says so in those words.
func mustPanic(t *testing.T, what, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, words) {
			t.Errorf("%s: panicked with %q, want %q", what, got, words)
		}
	}()
	f()
}

// What programs must not do is noticed in every build.
func TestMisusePanics(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer, lease := r.lease()
		ended, sent := newResult(), newResult()
		var recv reactor.RecvOp
		var send reactor.SendvOp
		var many reactor.RecvManyOp
		var sleep reactor.SleepOp
		var every reactor.EveryOp
		var closing reactor.CloseOp
		s.Recv(make([]byte, 1)).Connect(&recv, sinkOf[int](t, ended, nil))
		s.Sendv([][]byte{{1}}).Connect(&send, sinkOf[int](t, sent, nil))
		s.RecvMany(1).Connect(&many, seqSinkOf(t, ended, nil, func(reactor.Lease) {}))
		r.SleepFor(time.Hour).Connect(&sleep, sinkOf[struct{}](t, ended, nil))
		r.Every(time.Hour, 1).Connect(&every, seqSinkOf(t, ended, nil, func(reactor.Tick) {}))
		s.Close().Connect(&closing, sinkOf[struct{}](t, ended, nil))
		for what, f := range map[string]func(){
			"start": recv.Start, "start of a sequence": many.Start, "close": closing.Start, "sleep": sleep.Start,
			"every": every.Start, "release": lease.Release,
			"grant": func() { many.Grant(1) }, "grant of ticks": func() { every.Grant(1) },
			"reset": func() { sleep.Reset(0) }, "reset of ticks": func() { every.Reset(0, time.Hour) },
			"timer": func() { r.SetTimer(new(reactor.Timer), 0) },
		} {
			mustPanic(t, what+" elsewhere", "sender.StartsOn(loop, …)", f)
		}
		r.do(func() {
			recv.Start()
			many.Start()
			sleep.Start()
			every.Start()
			send.Start()
			mustPanic(t, "pieces of a send in flight", "Add of an operation that has not completed", func() { send.Add(nil) })
			mustPanic(t, "two starts", "RecvOp that has not completed", recv.Start)
			mustPanic(t, "two starts of a sequence", "RecvManyOp that has not completed", many.Start)
			mustPanic(t, "two starts of a sleep", "SleepOp that has not completed", sleep.Start)
			mustPanic(t, "two starts of ticks", "EveryOp that has not completed", every.Start)
			mustPanic(t, "a new descriptor under operations", "operations in flight", func() { s.Init(r.Loop, 0) })
			lease.Release()
			mustPanic(t, "two releases", "released before", lease.Release)
			closing.Start()
			mustPanic(t, "two closes with one operation state", "CloseOp that has not completed", closing.Start)
		})
		<-sent
		got := map[string]int{}
		for range 3 {
			got[<-ended]++
		}
		if got["{}"] != 1 || got["error: use of a closed descriptor"] != 2 {
			t.Errorf("%v", got)
		}
		unix.Close(peer)
		r.endTasks()
		ended.expect(t, "stopped")
		ended.expect(t, "stopped")
		lease.Release() // does no harm now
		mustPanic(t, "start on a loop that is no more", "has ended", sleep.Start)
		mustPanic(t, "a second Run", "Run of a Loop that has run", func() { _ = r.Run(nil) })
		mustPanic(t, "Discard after Run", "Discard of a Loop that has run", func() { _ = r.Discard() })
	})
}

// A loop that does not run yet takes work, but no operations.
func TestStartBeforeRun(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		var op reactor.NopOp
		l.Nop().Connect(&op, &sink[struct{}]{t: t})
		mustPanic(t, "start", "does not run yet", op.Start)
		sender.Submit(sender.StartsOn(l, l.Nop()), &sink[struct{}]{t: t, value: func(struct{}) { l.Stop() }})
		if err := l.Run(nil); err != nil {
			t.Error(err)
		}
	})
}

// On a loop's thread SyncWait would have the loop wait for itself.
func TestSyncWaitOnTheLoop(t *testing.T) {
	wait := func(r *running) { _, _ = sender.SyncWait(context.Background(), r.SleepFor(time.Millisecond)) }
	const words = "SyncWait on the thread of a loop"
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		r.do(func() { mustPanic(t, "in work", words, func() { wait(r) }) })
		mustPanic(t, "elsewhere", "sender.StartsOn(loop, …)", func() { wait(r) })
		done := make(chan struct{})
		r.Spawn(task.New(func(*task.T) error {
			defer close(done)
			mustPanic(t, "in a task", words, func() { wait(r) })
			for range iterOf(func() { mustPanic(t, "in a coroutine of a task", words, func() { wait(r) }) }) {
			}
			return nil
		}))
		<-done
		if _, err := sender.SyncWait(context.Background(), sender.StartsOn(r, r.SleepFor(time.Millisecond))); err != nil {
			t.Errorf("as it is meant: %v", err)
		}
		r.endTasks()
	})
}

// iterOf calls f in its own coroutine.
func iterOf(f func()) iter.Seq[int] {
	return func(yield func(int) bool) {
		next, stop := iter.Pull(func(yield func(int) bool) { f(); yield(1) })
		defer stop()
		if n, ok := next(); ok {
			yield(n)
		}
	}
}

// A coroutine that a task has made for itself may start operations, for it is on the loop's thread.
func TestStartInACoroutine(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		done := newResult()
		r.Spawn(task.New(func(tk *task.T) error {
			for range iterOf(func() {
				_, err := task.Await(tk, r.Nop())
				done <- fmt.Sprint(err)
			}) {
			}
			return nil
		}))
		done.expect(t, "<nil>")
		r.endTasks()
	})
}

// BenchmarkThreadCheck is what it costs an operation to see that it is started on its loop's thread.
func BenchmarkThreadCheck(b *testing.B) {
	r := run(b, reactor.LoopConfig{Ring: reactor.Epoll})
	r.do(func() {
		for b.Loop() {
			r.AssertOnThread()
		}
	})
	r.end()
}

// An operation state that was not connected as it should be says so.
func TestUnconnected(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var none reactor.Socket
		file := (*reactor.File)(&none)
		buf := make([]byte, 1)
		in, seqIn := sinkOf[int](t, nil, nil), seqSinkOf(t, nil, nil, func(reactor.Lease) {})
		const noReceiver = "not connected to a receiver: call its sender's Connect"
		const noLoop = "was never opened: call Open or Init"
		for what, start := range map[string]func(){
			"recv":        new(reactor.RecvOp).Start,
			"recv many":   new(reactor.RecvManyOp).Start,
			"send":        new(reactor.SendOp).Start,
			"accept":      new(reactor.AcceptOp).Start,
			"close":       new(reactor.CloseOp).Start,
			"sleep":       new(reactor.SleepOp).Start,
			"every":       new(reactor.EveryOp).Start,
			"offload":     new(reactor.OffloadOp[int]).Start,
			"nop":         new(reactor.NopOp).Start,
			"dial":        new(reactor.DialOp).Start,
			"no receiver": none.Recv(buf).Connect(new(reactor.RecvOp), nil).Start,
		} {
			mustPanic(t, "zero: "+what, noReceiver, func() { inLoop(r, start) })
		}
		for what, start := range map[string]func(){
			"recv":      none.Recv(buf).Connect(new(reactor.RecvOp), in).Start,
			"recv many": none.RecvMany(1).Connect(new(reactor.RecvManyOp), seqIn).Start,
			"send":      none.Send(buf).Connect(new(reactor.SendOp), in).Start,
			"accept":    none.Accept().Connect(new(reactor.AcceptOp), in).Start,
			"read":      file.Read(buf).Connect(new(reactor.ReadOp), in).Start,
			"close":     none.Close().Connect(new(reactor.CloseOp), sinkOf[struct{}](t, nil, nil)).Start,
			"sleep":     none.Loop().SleepFor(1).Connect(new(reactor.SleepOp), sinkOf[struct{}](t, nil, nil)).Start,
		} {
			mustPanic(t, "never opened: "+what, noLoop, func() { inLoop(r, start) })
		}
		mustPanic(t, "grant", "call its sender's Connect", func() { new(reactor.RecvManyOp).Grant(1) })
		mustPanic(t, "Init without a loop", "without a Loop", func() { none.Init(nil, 0) })
		var box reactor.Mailbox[int]
		mustPanic(t, "Post before Init", "call Init first", func() { box.Post(new(reactor.Envelope[int])) })
		mustPanic(t, "Mailbox without a handler", "without a Loop or a handler", func() { box.Init(r.Loop, nil) })
		mustPanic(t, "job without a func", "Offload of a nil func", func() { reactor.Offload[int](r.Loop, nil) })
		mustPanic(t, "reset of a sleep", "call its sender's Connect", func() { new(reactor.SleepOp).Reset(0) })
		take := func(*reactor.Loop, int) {}
		if _, err := reactor.NewBalancer(reactor.BalancerConfig{Loops: []*reactor.Loop{nil}, Take: take}); err == nil {
			t.Error("a Balancer has a nil Loop")
		}
		mustPanic(t, "empty buffer", "empty buffer", func() { none.Recv(nil).Connect(new(reactor.RecvOp), in) })
		r.end()
	})
}

// inLoop calls f on the loop's thread, and panics as that does.
func inLoop(r *running, f func()) {
	var v any
	r.do(func() {
		defer func() { v = recover() }()
		f()
	})
	if v != nil {
		panic(v)
	}
}

// duplicate is a copy that go vet does not see.
func duplicate[T any](p *T) *T {
	v := *p
	return &v
}

// A copy of a descriptor or of an operation in flight is noticed when it is used.
func TestCopies(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		type conn struct {
			s    reactor.Socket
			recv reactor.RecvOp
		}
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		conns, ended := make([]conn, 1), newResult()
		r.do(func() {
			c := &conns[0]
			c.s.Init(r.Loop, fds[0])
			c.s.Recv(make([]byte, 1)).Connect(&c.recv, sinkOf[int](t, ended, nil))
			c.recv.Start()
		})
		old := &conns[0].s
		grown := duplicate(&conns[0]) // what append does
		moved := &grown.s
		in := sinkOf[int](t, ended, nil)
		const words = "on a copy of a descriptor"
		for what, start := range map[string]func(){
			"recv":   moved.Recv(make([]byte, 1)).Connect(new(reactor.RecvOp), in).Start,
			"close":  moved.Close().Connect(new(reactor.CloseOp), sinkOf[struct{}](t, ended, nil)).Start,
			"splice": reactor.Splice(old.Stream(), moved.Stream(), 1).Connect(new(reactor.SpliceOp), in).Start,
		} {
			mustPanic(t, what, words, func() { inLoop(r, start) })
		}
		mustPanic(t, "an operation that was in flight", "it was copied meanwhile", func() { inLoop(r, grown.recv.Start) })
		unix.Close(fds[1])
		ended.expect(t, "0")
		mustPanic(t, "an operation that has completed", "it was copied meanwhile", func() { inLoop(r, grown.recv.Start) })
		r.close(old)
		r.end()
	})
}

// go vet finds copies where they are written.
func TestVetFindsCopies(t *testing.T) {
	source, err := os.ReadFile("testdata/copies/copies.go")
	if err != nil {
		t.Fatal(err)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	out, err := exec.Command(goTool, "vet", "-copylocks", "./testdata/copies").CombinedOutput()
	if err == nil {
		t.Error("go vet has found nothing")
	}
	for i, line := range strings.Split(string(source), "\n") {
		want := strings.HasSuffix(line, "// copy")
		if got := strings.Contains(string(out), fmt.Sprintf("copies.go:%d:", i+1)); got != want {
			t.Errorf("line %d: found %v, want %v: %s", i+1, got, want, line)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// A descriptor has one owner on a loop, until that is closed or gives it away.
func TestInitTwice(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, other := run(t, reactor.LoopConfig{Ring: kind}), run(t, reactor.LoopConfig{Ring: kind})
		a, peer := r.pair()
		fd := a.Fd()
		second := func() { new(reactor.Socket).Init(r.Loop, fd) }
		mustPanic(t, "the same descriptor", "another Descriptor of this Loop owns", second)
		mustPanic(t, "the same Socket", "another Descriptor of this Loop owns", func() { a.Init(r.Loop, fd) })
		var b, c reactor.Socket
		var move reactor.MoveOp
		moved := newResult()
		r.do(func() {
			a.MoveTo(other.Loop, &b).Connect(&move, sinkOf[struct{}](t, moved, nil))
			move.Start()
		})
		moved.expect(t, "{}")
		if n, m := r.Stats().Descriptors, other.Stats().Descriptors; n != 0 || m != 1 {
			t.Errorf("%d and %d descriptors", n, m)
		}
		mustPanic(t, "after it was moved", "another Descriptor of this Loop owns", func() { c.Init(other.Loop, fd) })
		other.close(&b)
		unix.Close(peer)
		again, peer := r.pair() // takes the old number
		r.close(again)
		unix.Close(peer)
		r.end()
		other.end()
	})
}

// What a program leaves behind at the end of Run is reported, and counted.
func TestLeftBehind(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		var told []error
		r := run(t, reactor.LoopConfig{Ring: kind, OnMisuse: func(err error) { told = append(told, err) }})
		s, peer, _ := r.lease()
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if n := r.Stats().Descriptors; n != 1 {
			t.Errorf("%d descriptors", n)
		}
		if len(told) != 2 || !errors.Is(told[0], reactor.ErrNotClosed) || !errors.Is(told[1], reactor.ErrNotReleased) ||
			!strings.Contains(told[0].Error(), fmt.Sprintf(": %d: start Close", s.Fd())) {
			t.Errorf("told %v", told)
		}
		unix.Close(s.Fd())
		unix.Close(peer)
	})
}

// Receives that wait because no lease is ever released are reported once.
func TestExhausted(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		var told []error
		cfg := few(kind, 1)
		cfg.OnMisuse = func(err error) { told = append(told, err) }
		r := run(t, cfg)
		held, heldPeer, lease := r.lease()
		a, b := r.leaser(), r.leaser()
		write(t, a.peer, []byte("x"))
		write(t, b.peer, []byte("x"))
		r.settle()
		r.do(r.ExpireExhausted)
		r.do(func() {
			if len(told) != 1 || !errors.Is(told[0], reactor.ErrNotReleased) ||
				!strings.Contains(told[0].Error(), "2 receives have waited") {
				t.Errorf("told %v", told)
			}
			r.ExpireExhausted()
			if lease.Release(); len(told) != 1 {
				t.Errorf("told %v", told)
			}
		})
		a.done.expect(t, "x")
		b.done.expect(t, "x")
		r.close(held, a.s, b.s)
		for _, fd := range []int{heldPeer, a.peer, b.peer} {
			unix.Close(fd)
		}
		r.end()
	})
}

// Loops that were made and forgotten are freed.
func TestForgottenLoops(t *testing.T) {
	var text strings.Builder
	var mu sync.Mutex
	log.SetOutput(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(p)
	}))
	defer log.SetOutput(os.Stderr)
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		before := descriptors()
		for range 50 {
			if _, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind}); err != nil {
				t.Fatal(err)
			}
		}
		for deadline := time.Now().Add(patience); descriptors() > before; runtime.GC() {
			if time.Now().After(deadline) {
				t.Fatalf("%d descriptors, and %d before", descriptors(), before)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if !strings.Contains(text.String(), "call its Run, or Discard") {
			t.Errorf("logged %q", text.String())
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A size out of range is an error that names it. It is not replaced by something else.
func TestSizesOutOfRange(t *testing.T) {
	type cfg = reactor.LoopConfig
	buffers := func(b reactor.BufferConfig) cfg { return cfg{Buffers: b} }
	for name, all := range map[string][]cfg{
		"LoopConfig.Entries":      {{Entries: -5}, {Entries: 1 << 30}},
		"LoopConfig.MaxOffloads":  {{MaxOffloads: -1}, {MaxOffloads: 1 << 20}},
		"LoopConfig.DrainTimeout": {{DrainTimeout: -1}},
		"LoopConfig.TimerSlack":   {{TimerSlack: time.Hour}},
		"LoopConfig.MinWait":      {{MinWait: -1}, {MinWait: time.Hour}},
		"LoopConfig.CPUs":         {{CPUs: []int{0, -1}}, {CPUs: []int{1 << 20}}},
		"LoopConfig.Buffers.Size": {
			buffers(reactor.BufferConfig{Size: -1}), buffers(reactor.BufferConfig{Size: 1 << 30}),
		},
		"LoopConfig.Buffers.Window": {
			buffers(reactor.BufferConfig{Window: -1}), buffers(reactor.BufferConfig{Window: 100_000}),
		},
		"LoopConfig.Buffers.Limit": {
			buffers(reactor.BufferConfig{Limit: -1}), buffers(reactor.BufferConfig{Limit: 1 << 20}),
		},
		"LoopConfig.Buffers.LargeSize": {
			buffers(reactor.BufferConfig{LargeSize: -1}), buffers(reactor.BufferConfig{LargeSize: 1 << 30}),
		},
		"LoopConfig.Buffers.LargeLimit": {buffers(reactor.BufferConfig{LargeLimit: 1 << 20})},
	} {
		for _, c := range all {
			for _, kind := range []reactor.RingKind{reactor.Auto, reactor.Epoll} {
				c.Ring = kind
				_, err := reactor.NewLoop(c)
				if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "out of range") {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	for _, n := range []int{-1, 1 << 20} {
		if _, err := reactor.New(reactor.Config{Loops: n}); err == nil || !strings.Contains(err.Error(), "Config.Loops is ") {
			t.Errorf("%d loops: %v", n, err)
		}
	}
}

// Two Runs at a time: the second one panics, and the first is none the worse for it.
func TestTwoRuns(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		r.do(func() {})
		mustPanic(t, "a second Run", "is running", func() { _ = r.Run(nil) })
		mustPanic(t, "Discard", "is running", func() { _ = r.Discard() })
		r.end()
	})
}

// A send that a timeout ends after a part says so, and how much was sent.
func TestTimeoutOfSendAll(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		var drain, caller stop.Source
		timed := func() error {
			return awaitIn(r, func(tk *task.T) error {
				_, err := task.Await(tk, sender.Timeout(s.SendAll(make([]byte, 10<<20)), r.SleepFor(20*time.Millisecond)))
				return err
			})
		}
		err := timed()
		part, ok := errors.AsType[*sender.PartialError[int]](err)
		if !ok || part.Value <= 0 || part.Value >= 10<<20 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("completed with %v", err)
		}
		// Nothing further is sent: there is no part.
		if err := timed(); err != os.ErrDeadlineExceeded {
			t.Errorf("completed with %v", err)
		}
		for name, what := range map[string]func(*task.T) error{
			"the timeout reaches what has a stop token": func(tk *task.T) error {
				recv := sender.WriteEnv(s.Recv(make([]byte, 1)), sender.StopEnv{Token: drain.Token()})
				_, err := task.Await(tk, sender.Timeout(recv, r.SleepFor(time.Millisecond)))
				return err
			},
			"a part and the reason": func(tk *task.T) error {
				got := make([]byte, 1<<16)
				n, err := unix.Read(peer, got)
				for err == nil && n > 0 {
					if n, err = unix.Read(peer, got); n < len(got) {
						break
					}
				}
				stopping := sender.WriteEnv(s.SendAll(make([]byte, 10<<20)), sender.StopEnv{Token: caller.Token()})
				r.Spawn(task.New(func(tk *task.T) error {
					_, _ = task.Await(tk, r.SleepFor(20*time.Millisecond))
					caller.RequestStop()
					return nil
				}))
				sent, err := task.Await(tk, stopping)
				if sent > 0 && sent < 10<<20 && errors.Is(err, sender.ErrStopped) {
					return os.ErrDeadlineExceeded // as it should be
				}
				return fmt.Errorf("%d, %w", sent, err)
			},
		} {
			if err := awaitIn(r, what); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		r.close(s)
		unix.Close(peer)
		r.endTasks()
	})
}

// awaitIn is what f returns in a task of the loop.
func awaitIn(r *running, f func(*task.T) error) error {
	_, err := sender.SyncWait(r.t.Context(), sender.StartsOn(r, task.New(f)))
	return err
}

// Accept waits while there are no descriptors, and skips connections that are gone, so that a server outlives both.
func TestAcceptOutlives(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, errno := range []unix.Errno{unix.EMFILE, unix.ENOBUFS, unix.ECONNABORTED} {
			l, h := hook(t, kind, reactor.LoopConfig{})
			fail := failing(h, errno)
			r := runLoop(t, l)
			ln := r.listen()
			accepted := make(chan int, 1)
			var op reactor.AcceptOp
			r.do(func() {
				fail.Store(true)
				ln.Accept().Connect(&op, &sink[int]{t: t, value: func(fd int) { accepted <- fd }})
				op.Start()
			})
			ln.dial()
			r.settle()
			select {
			case fd := <-accepted:
				t.Errorf("%v: accepted %d", errno, fd)
			default:
			}
			fail.Store(false)
			ln.dial()
			unix.Close(<-accepted)
			r.close(&ln.Socket)
			ln.hangUp()
			r.end()
		}
	})
}

// A timer without a handler, and an envelope that is posted before it was delivered, are found immediately. An
// envelope that was delivered may be posted again, also by its handler.
func TestUnreadyTimerAndEnvelopeInFlight(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		r.do(func() {
			mustPanic(t, "timer", "call its Init first", func() { r.SetTimer(new(reactor.Timer), 0) })
		})
		var box reactor.Mailbox[int]
		got := make(chan int, 1)
		box.Init(r.Loop, postsAgain{&box, got})
		m := &reactor.Envelope[int]{Value: 3}
		r.do(func() { // so that it is not delivered meanwhile
			box.Post(m)
			mustPanic(t, "post", "was not delivered yet", func() { box.Post(m) })
		})
		for want := 3; want > 0; want-- {
			if n := <-got; n != want {
				t.Errorf("%d was delivered, want %d", n, want)
			}
		}
		r.end()
	})
}

// postsAgain posts a message again until its value is 1.
type postsAgain struct {
	box *reactor.Mailbox[int]
	got chan int
}

func (a postsAgain) OnMessage(m *reactor.Envelope[int]) {
	value := m.Value
	if m.Value--; m.Value != 0 {
		a.box.Post(m)
	}
	a.got <- value
}
