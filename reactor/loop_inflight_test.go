//go:build linux

package reactor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// What is in flight is listed with its descriptor and age, from any thread; a blocked loop is reported, too.
func TestInFlight(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Name: "listed", SlowTurn: -1})
		s, peer := r.pair()
		recv, sleep := new(reactor.RecvOp), new(reactor.SleepOp)
		done := newResult()
		r.do(func() {
			s.Recv(make([]byte, 1)).Connect(recv, sinkOf[int](t, done, nil)).Start()
			r.SleepFor(time.Hour).Connect(sleep, sender.Discard[struct{}]{}).Start()
		})
		var all []reactor.InFlight
		for deadline := time.Now().Add(patience); len(all) == 0 || all[0].Age < 5*time.Millisecond; {
			r.do(func() { all = r.InFlight() })
			if time.Now().After(deadline) {
				t.Fatalf("%v", all)
			}
		}
		byName := map[string]reactor.InFlight{}
		for _, f := range all {
			byName[f.Operation] = f
		}
		if f := byName["Recv"]; len(all) != 2 || f.Fd != s.Fd() || f.State != "in the ring" || f.Age > patience {
			t.Errorf("%+v", all)
		}
		if f := byName["Sleep"]; f.Fd != -1 || f.State != "timer" {
			t.Errorf("%+v", f)
		}

		var text bytes.Buffer
		if err := reactor.WriteInFlight(t.Context(), &text, r.Loop); err != nil {
			t.Error(err)
		}
		want := regexp.MustCompile(`^loop listed: 2 in flight\n( .*\n)* +Recv +fd \d+ +[\d.]+m?s  in the ring\n`)
		if !want.Match(text.Bytes()) {
			t.Errorf("%q", &text)
		}

		blocked, proceed := make(chan bool), make(chan bool)
		w := newWork(func() { close(blocked); <-proceed }, nil)
		r.Enqueue(&w.Work)
		<-blocked
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		text.Reset()
		if err := reactor.WriteInFlight(ctx, &text, r.Loop); err != nil {
			t.Error(err)
		}
		cancel()
		if !regexp.MustCompile(`^loop listed: no answer: .*, in a callback for [\d.]+m?s\n$`).Match(text.Bytes()) {
			t.Errorf("%q", &text)
		}
		close(proceed)
		unix.Close(peer)
		done.expect(t, "0")
		r.close(s)
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		text.Reset()
		err := reactor.WriteInFlight(t.Context(), &text, r.Loop)
		if err != nil || !bytes.Contains(text.Bytes(), []byte("ended")) {
			t.Errorf("%q, %v", &text, err)
		}
	})
}

// Each task is listed with what it awaits, that operation's descriptor, and the line where it does. A task that is
// resumed by the listing has noticed nothing.
func TestInFlightTasks(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		var queue task.Queue[int]
		var lines [3]int
		line := func() int { _, _, line, _ := runtime.Caller(1); return line + 1 }
		results := make(chan error, len(lines))
		for _, f := range []func(t *task.T) error{
			func(t *task.T) error {
				lines[0] = line()
				_, err := task.Await(t, s.Recv(make([]byte, 1)))
				return err
			},
			func(t *task.T) error {
				lines[1] = line()
				_, err := task.Await(t, queue.Pop())
				return err
			},
			func(t *task.T) error {
				lines[2] = line()
				_, err := task.Await(t, r.SleepFor(time.Hour))
				return err
			},
		} {
			r.Spawn(task.New(func(t *task.T) error { results <- f(t); return nil }))
		}
		for range 2 {
			var all []reactor.InFlight
			r.do(func() { all = r.InFlight() })
			found := 0
			for i, want := range []reactor.InFlight{{Fd: s.Fd(), State: "waits for Recv"}, {Fd: -1, State: "waits for Pop"},
				{Fd: -1, State: "waits for Sleep"}} {
				where := fmt.Sprintf("/loop_inflight_test.go:%d", lines[i])
				for _, f := range all {
					if f.Operation == "task" && f.Fd == want.Fd && f.State == want.State && strings.HasSuffix(f.Where, where) {
						found++
					}
				}
			}
			if found != 3 || len(all) != 5 { // Recv and Sleep are operations, too
				t.Errorf("%d of 3 tasks are listed in\n%v", found, all)
			}
		}
		r.do(func() { queue.Push(1) })
		if err := <-results; err != nil {
			t.Error(err)
		}
		unix.Close(peer)
		if err := <-results; err != nil {
			t.Error(err)
		}
		r.close(s)
		r.Stop()
		if err := <-results; !errors.Is(err, sender.ErrStopped) {
			t.Error(err)
		}
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}

// A loop with many operations lists them in several turns.
func TestInFlightInTurns(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		const n = 20_000
		ops := make([]reactor.SleepOp, n)
		r.do(func() {
			for i := range ops {
				r.SleepFor(time.Hour).Connect(&ops[i], sender.Discard[struct{}]{}).Start()
			}
		})
		before := r.Stats().Enters
		var text bytes.Buffer
		if err := reactor.WriteInFlight(t.Context(), &text, r.Loop); err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text.Bytes(), []byte("Sleep")); lines != n {
			t.Errorf("%d operations are listed of %d", lines, n)
		}
		if turns := r.Stats().Enters - before; turns < 5 {
			t.Errorf("they were listed in %d turns", turns)
		}
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}
