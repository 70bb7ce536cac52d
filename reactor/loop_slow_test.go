//go:build linux

package reactor_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// blockUntil blocks the caller, in place of a call that blocks.
func blockUntil(c <-chan reactor.SlowTurn) (s reactor.SlowTurn) {
	select {
	case s = <-c:
	case <-time.After(patience):
	}
	return s
}

// A turn that lasts too long is reported while it lasts, with the stack of the callback or task, and counts as busy.
func TestSlowTurn(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		const limit = 40 * time.Millisecond
		for _, inTask := range []bool{false, true} {
			slow := make(chan reactor.SlowTurn, 1)
			r := run(t, reactor.LoopConfig{Ring: kind, Name: "slow", SlowTurn: limit,
				OnSlowTurn: func(s reactor.SlowTurn) { slow <- s }})
			var got reactor.SlowTurn
			ended := make(chan bool, 1)
			before := r.Stats()
			if inTask {
				r.Spawn(task.New(func(t *task.T) error {
					_ = task.Yield(t)
					got = blockUntil(slow)
					ended <- true
					return nil
				}))
			} else {
				r.do(func() { got = blockUntil(slow); ended <- true })
			}
			<-ended
			r.do(func() {})
			if got.Loop != r.Loop || got.Lasted < limit || !bytes.Contains(got.Stack, []byte("blockUntil")) {
				t.Errorf("task: %v: reported after %v:\n%s", inTask, got.Lasted, got.Stack)
			}
			text := got.String()
			if !strings.Contains(text, "loop slow has been") || !strings.Contains(text, "Offload") {
				t.Error(text)
			}
			after := r.Stats()
			if after.LongestTurn < limit {
				t.Errorf("the longest turn took %v", after.LongestTurn)
			}
			if busy := after.Busy - before.Busy; busy < limit-cpuStale || busy > after.LongestTurn+limit {
				t.Errorf("busy for %v", busy)
			}
			r.Stop()
			if err := r.wait(); err != nil {
				t.Error(err)
			}
			if len(slow) != 0 {
				t.Errorf("reported again: %v", <-slow)
			}
		}
	})
}

// cpuStale is how inexact Busy may be for each long turn.
const cpuStale = 10 * time.Millisecond

// The turn in progress counts as busy, too.
func TestBusyWhileATurnLasts(t *testing.T) {
	r := run(t, reactor.LoopConfig{SlowTurn: -1})
	blocked, proceed := make(chan bool), make(chan bool)
	w := newWork(func() { close(blocked); <-proceed }, nil)
	r.Enqueue(&w.Work)
	<-blocked
	for deadline := time.Now().Add(patience); r.Stats().Busy < 50*time.Millisecond; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", r.Stats())
		}
	}
	close(proceed)
	r.end()
}

// A process that was stopped is not mistaken for a loop that is blocked.
func TestStoppedProcessIsNotSlow(t *testing.T) {
	if os.Getenv("REACTOR_TEST_STOPPED") != "" {
		beStopped()
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestStoppedProcessIsNotSlow$")
	child.Env = append(os.Environ(), "REACTOR_TEST_STOPPED=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	if _, err := out.Read(line); err != nil || string(line) != "ready\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := child.Process.Signal(unix.SIGSTOP); err != nil {
		t.Error(err)
	}
	time.Sleep(1200 * time.Millisecond) // the time that is to be overlooked
	if err := errors.Join(child.Process.Signal(unix.SIGCONT), child.Process.Signal(unix.SIGTERM)); err != nil {
		t.Error(err)
	}
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(out); err != nil {
		t.Error(err)
	}
	if err := child.Wait(); err != nil || !strings.HasPrefix(rest.String(), "PASS") {
		t.Errorf("%v\n%s", err, &rest)
	}
}

// beStopped is a process with a loop that is always in a turn of 10 ms, until SIGTERM.
func beStopped() {
	end := make(chan os.Signal, 1)
	_ = reactor.Run(context.Background(), reactor.Config{Loops: 1, Loop: reactor.LoopConfig{
		SlowTurn:   200 * time.Millisecond,
		OnSlowTurn: func(s reactor.SlowTurn) { os.Stdout.WriteString(s.String()) },
	}}, func(l *reactor.Loop) error {
		signal.Notify(end, unix.SIGTERM)
		os.Stdout.WriteString("ready\n")
		l.Spawn(task.New(func(t *task.T) error {
			for len(end) == 0 {
				time.Sleep(10 * time.Millisecond)
				if err := task.Yield(t); err != nil {
					return err
				}
			}
			if d := l.Stats().LongestTurn; d > time.Second {
				os.Stdout.WriteString("the longest turn took " + d.String())
			}
			l.Stop()
			return nil
		}))
		return nil
	})
}

// The goroutines of a loop, its tasks and its jobs have its label.
func TestLabels(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		cfg := reactor.Config{Loops: 2, Loop: reactor.LoopConfig{Ring: kind, Name: "label-" + string(kind)}}
		proceed := make(chan bool)
		var profile bytes.Buffer
		err := reactor.Run(t.Context(), cfg, func(l *reactor.Loop) error {
			if !strings.HasSuffix(l.Name(), "/0") {
				close(proceed)
				return nil
			}
			l.Spawn(task.New(func(tk *task.T) error {
				_, err := task.Await(tk, reactor.Offload(l, func() (int, error) {
					inLabelledJob(proceed, &profile)
					return 0, nil
				}))
				return errors.Join(err, context.Canceled)
			}))
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for _, want := range []string{"inLabelledJob", "TestLabels.func1.1.1"} {
			if !labelled(profile.String(), want, cfg.Loop.Name+"/0") {
				t.Errorf("%s has no label of loop 0:\n%s", want, &profile)
			}
		}
		if !strings.Contains(profile.String(), cfg.Loop.Name+"/1") {
			t.Error("loop 1 has no label")
		}
	})
}

func inLabelledJob(proceed chan bool, profile *bytes.Buffer) {
	<-proceed
	_ = pprof.Lookup("goroutine").WriteTo(profile, 1)
}

// labelled reports whether a goroutine in the profile that runs the function has the label.
func labelled(profile, function, label string) bool {
	for group := range strings.SplitSeq(profile, "\n\n") {
		if strings.Contains(group, function) && strings.Contains(group, `"`+reactor.Label+`":"`+label+`"`) {
			return true
		}
	}
	return false
}
