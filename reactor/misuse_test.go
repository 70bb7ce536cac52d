//go:build linux

package reactor_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
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
		lease.Release() // is no harm any more
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

// iterOf calls f in a coroutine of its own.
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
