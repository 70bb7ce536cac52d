package task_test

import (
	"context"
	"fmt"
	"io"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// A task awaits senders in direct style, and is one.
func Example() {
	greet := task.NewValue(func(t *task.T) (string, error) {
		name, err := task.Await(t, sender.Just("world"))
		if err != nil {
			return "", err
		}
		return "hello, " + name, nil
	})
	loud := sender.Then(greet, func(s string) string { return s + "!" })
	fmt.Println(sender.SyncWait(context.Background(), loud))
	// Output: hello, world! <nil>
}

func ExampleNew() {
	_, err := sender.SyncWait(context.Background(), task.New(func(t *task.T) error { return io.EOF }))
	fmt.Println(err)
	// Output: EOF
}

func ExampleNewValue() {
	fmt.Println(sender.SyncWait(context.Background(), task.NewValue(func(t *task.T) (int, error) { return 42, nil })))
	// Output: 42 <nil>
}

// Errors and stopped are Go errors, and a panic is an error too.
func ExampleAwait() {
	f := func(t *task.T) error {
		_, err := task.Await(t, sender.JustError[int](io.ErrUnexpectedEOF))
		fmt.Println(err)
		_, err = task.Await(t, sender.JustStopped[int]())
		fmt.Println(err == sender.ErrStopped)
		_, err = task.Await(t, sender.Then(sender.Just(0), func(n int) int { return 1 / n }))
		fmt.Println(err)
		return nil
	}
	_, _ = sender.SyncWait(context.Background(), task.New(f))
	// Output:
	// unexpected EOF
	// true
	// sender: panic: runtime error: integer divide by zero
}

// A part of a task that blocks is done by threads that may.
func ExampleOn() {
	pool := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
	defer pool.Close()
	f := func(t *task.T) (int, error) {
		return task.On(t, pool, func(*task.T) (int, error) {
			return len("read from a slow disk"), nil
		})
	}
	fmt.Println(sender.SyncWait(context.Background(), task.NewValue(f)))
	// Output: 21 <nil>
}

// Cleaning up is done in spite of a stop request.
func ExampleUnstoppable() {
	var source stop.Source
	reply := &sendertest.Leaf[string]{OnStop: sendertest.Inline} // which never comes
	goodbye := &sendertest.Leaf[string]{OnStart: sendertest.Inline, OnStop: sendertest.Inline,
		Result: sendertest.Value("goodbye")}
	f := func(t *task.T) error {
		defer task.Unstoppable(t, func() { fmt.Println(task.Await(t, goodbye)) })
		source.RequestStop()
		_, err := task.Await(t, reply)
		return err
	}
	_, err := sender.SyncWait(context.Background(), sender.WriteEnv(task.New(f), stoppedBy{source: &source}))
	fmt.Println(err)
	// Output:
	// goodbye <nil>
	// sender: stopped
}

// Two tasks alternate on one thread.
func ExampleYield() {
	var scope sender.CountingScope
	var loop sender.RunLoop
	for _, name := range []string{"a", "b"} {
		sender.Spawn(&scope, sender.WriteEnv(task.New(func(t *task.T) error {
			for i := range 2 {
				fmt.Println(name, i)
				if err := task.Yield(t); err != nil {
					return err
				}
			}
			return nil
		}), on{sch: &loop}))
	}
	sender.Submit(scope.Join(), &finisher{loop: &loop})
	loop.Run()
	// Output:
	// a 0
	// b 0
	// a 1
	// b 1
}

// finisher ends a run loop when what it waits for is complete.
type finisher struct {
	sender.Discard[struct{}]
	loop *sender.RunLoop
}

func (f *finisher) SetValue(struct{}) { f.loop.Finish() }

// The token tells a task that computes for long.
func ExampleT_StopToken() {
	var source stop.Source
	f := func(t *task.T) (rounds int, err error) {
		for !t.StopToken().StopRequested() {
			if rounds++; rounds == 1000 {
				source.RequestStop()
			}
		}
		return rounds, nil
	}
	s := sender.WriteEnv(task.NewValue(f), stoppedBy{source: &source})
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: 1000 <nil>
}

// stoppedBy is an environment with a stop token.
type stoppedBy struct {
	sender.EmptyEnv
	source *stop.Source
}

func (e stoppedBy) StopToken() stop.Token { return e.source.Token() }

// Two tasks of one loop pass items: a channel would block the loop's thread.
func ExampleQueue() {
	words := task.Queue[string]{Limit: 2}
	produce := task.New(func(t *task.T) error {
		defer words.Close()
		for _, w := range []string{"one", "two", "three"} {
			if _, err := task.Await(t, words.Put(w)); err != nil {
				return err
			}
		}
		return nil
	})
	consume := task.New(func(t *task.T) error {
		for {
			w, err := task.Await(t, words.Pop())
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			fmt.Println(w)
		}
	})
	_, err := sender.SyncWait(context.Background(), sender.WhenAllSlice([]task.Sender{produce, consume}, 0))
	fmt.Println(err)
	// Output:
	// one
	// two
	// three
	// <nil>
}

// A task waits until another one has changed something.
func ExampleCond() {
	var cond task.Cond
	ready := false
	wait := task.New(func(t *task.T) error {
		for !ready {
			if _, err := task.Await(t, cond.Wait()); err != nil {
				return err
			}
		}
		fmt.Println("ready")
		return nil
	})
	set := task.New(func(*task.T) error {
		ready = true
		cond.Broadcast()
		return nil
	})
	_, err := sender.SyncWait(context.Background(), sender.WhenAllSlice([]task.Sender{wait, set}, 0))
	fmt.Println(err)
	// Output:
	// ready
	// <nil>
}
