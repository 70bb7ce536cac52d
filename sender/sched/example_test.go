package sched_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/stop"
)

// greet prints where it is.
func greet(where string) func(struct{}) string {
	return func(struct{}) string { return "hello from " + where }
}

// A loop is driven by the goroutine that calls Run, until its token is stopped.
func ExampleTimedRunLoop() {
	var loop sched.TimedRunLoop
	var source stop.Source
	var driving sync.WaitGroup
	driving.Go(func() { loop.Run(source.Token()) })

	later := sender.Then(sender.ScheduleAfter(&loop, time.Millisecond), greet("the loop, a millisecond later"))
	never := sender.Then(sender.ScheduleAfter(&loop, time.Hour), greet("an hour later"))
	fmt.Println(sender.SyncWait(context.Background(), sender.WhenAny(never, later)))

	source.RequestStop()
	driving.Wait()
	// Output: hello from the loop, a millisecond later <nil>
}

func ExampleInline() {
	fmt.Println(sender.SyncWait(context.Background(), sender.Then(sender.Schedule(sched.Inline{}), greet("here"))))
	// Output: hello from here <nil>
}

func ExampleGoroutines() {
	s := sender.Then(sender.ScheduleAfter(sched.Goroutines{}, time.Millisecond), greet("a goroutine"))
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: hello from a goroutine <nil>
}

func ExampleNewThread() {
	s := sender.Then(sender.ScheduleAfter(sched.NewThread{}, time.Millisecond), greet("a thread of its own"))
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: hello from a thread of its own <nil>
}

func ExampleThreadPool() {
	pool := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 4})
	defer pool.Close()
	fmt.Println(sender.SyncWait(context.Background(), sender.Then(sender.Schedule(pool), greet("the pool"))))
	// Output: hello from the pool <nil>
}

func ExampleThreadDispatcher() {
	dispatcher := sched.NewThreadDispatcher(2)
	defer dispatcher.Close()
	id, err := sender.SyncWait(context.Background(), dispatcher.Schedule())
	fmt.Println(id == 1 || id == 2, err)
	// Output: true <nil>
}

func ExampleFallback() {
	pool := sched.NewThreadPool(sched.ThreadPoolConfig{})
	pool.Close() // or as much is waiting as may
	s := sched.Fallback{First: pool, Second: sched.Inline{}}
	fmt.Println(sender.SyncWait(context.Background(), sender.Then(sender.Schedule(s), greet("the second"))))
	// Output: hello from the second <nil>
}

func ExampleTimedFallback() {
	var ended sched.TimedRunLoop
	var stopped stop.Source
	stopped.RequestStop()
	ended.Run(stopped.Token())
	s := sched.TimedFallback{First: &ended, Second: sched.NewThread{}}
	after := sender.Then(sender.ScheduleAfter(s, time.Millisecond), greet("the second"))
	fmt.Println(sender.SyncWait(context.Background(), after))
	// Output: hello from the second <nil>
}

func ExampleDeadline() {
	var stuck sched.RunLoop // no goroutine runs it
	s := sched.Deadline{On: &stuck, Timer: sched.NewThread{}, Within: time.Millisecond}
	_, err := sender.SyncWait(context.Background(), s.Schedule())
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
	// Output: true
}

func ExampleAny() {
	var loop sched.RunLoop
	a, b := sched.AnyOf(&loop), sched.AnyOf(sched.AnyOf(&loop))
	fmt.Println(a == b, a.Equal(&loop), a.Equal(sched.Inline{}))
	// Output: true true false
}

// simpleContext is the simple_execution_context of D2006R1 Appendix A, example 4: a stack of tasks that
// are operation states, and so need no storage.
type simpleContext struct{ head *sender.Work }

// Enqueue makes a pointer to it a sender.Scheduler.
func (c *simpleContext) Enqueue(w *sender.Work) { w.Next, c.head = c.head, w }

// Drain processes all pending tasks until the queue is empty.
func (c *simpleContext) Drain() {
	for c.head != nil {
		w := c.head
		c.head = w.Next
		w.Runner.Run()
	}
}

// A resource needs no more than this.
func Example_simpleExecutionContext() {
	var c simpleContext
	hello := sender.Then(sender.Schedule(&c), func(struct{}) string { return "hello" })
	then := sender.Then(hello, func(s string) struct{} { fmt.Println(s, "from the context"); return struct{}{} })
	sender.StartDetached(then)
	sender.Execute(&c, func() { fmt.Println("the latest first") })
	fmt.Println("nothing has happened")
	c.Drain()
	// Output:
	// nothing has happened
	// the latest first
	// hello from the context
}

// A resource of one thread, with a clock that is advanced by hand: a sender.TimerDriver makes it a timed scheduler.
func Example_timerDriver() {
	var c manual
	s := sender.Then(sender.ScheduleAt(&c, 30), func(struct{}) int64 { return c.now })
	sender.StartDetached(sender.Then(s, func(at int64) struct{} { fmt.Println("called at", at); return struct{}{} }))
	for c.now < 40 {
		c.tick(10)
	}
	// Output: called at 30
}
