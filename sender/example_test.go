package sender_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// connection embeds the operation state of its work, so that work on it allocates nothing.
type connection struct {
	echo   sender.ThenOp[int, string, sender.JustOp[int]]
	source stop.Source
}

func (c *connection) SetValue(text string)  { fmt.Println("value", text) }
func (c *connection) SetError(err error)    { fmt.Println("error", err) }
func (c *connection) SetStopped()           { fmt.Println("stopped") }
func (c *connection) Env() sender.Env       { return c }
func (c *connection) StopToken() stop.Token { return c.source.Token() }

func (c *connection) Scheduler() sender.Scheduler { return nil }
func (c *connection) Value(any) any               { return nil }

// Connect and Start are the basis operations. The storage is the caller's, and can be used again.
func Example() {
	s := sender.Then(sender.Just(42), strconv.Itoa)
	var c connection
	for range 2 {
		s.Connect(&c.echo, &c).Start()
	}
	// Output:
	// value 42
	// value 42
}

func ExampleJust() {
	fmt.Println(sender.SyncWait(context.Background(), sender.Just("hello")))
	// Output: hello <nil>
}

func ExampleJustError() {
	_, err := sender.SyncWait(context.Background(), sender.JustError[int](os.ErrNotExist))
	fmt.Println(err)
	// Output: file does not exist
}

func ExampleJustStopped() {
	_, err := sender.SyncWait(context.Background(), sender.JustStopped[int]())
	fmt.Println(err == sender.ErrStopped)
	// Output: true
}

func ExampleThen() {
	fmt.Println(sender.SyncWait(context.Background(), sender.Then(sender.Just(20),
		func(n int) string { return strconv.Itoa(n + 1) })))
	// Output: 21 <nil>
}

func ExamplePanicError() {
	_, err := sender.SyncWait(context.Background(), sender.Then(sender.Just(0), func(n int) int { return 1 / n }))
	var pe *sender.PanicError
	fmt.Println(errors.As(err, &pe), pe)
	// Output: true sender: panic: runtime error: integer divide by zero
}

func ExampleLet() {
	lookup := func(name string) sender.JustSender[int] { return sender.Just(len(name)) }
	fmt.Println(sender.SyncWait(context.Background(), sender.Let(sender.Just("reactor"), lookup)))
	// Output: 7 <nil>
}

func ExampleWhenAny() {
	slow := &sendertest.Leaf[string]{OnStop: sendertest.Inline} // until stop is requested
	fmt.Println(sender.SyncWait(context.Background(), sender.WhenAny(slow, sender.Just("quick"))))
	// Output: quick <nil>
}

func ExampleWhenAnySlice() {
	mirrors := []sender.JustSender[string]{sender.Just("first"), sender.Just("second")}
	fmt.Println(sender.SyncWait(context.Background(), sender.WhenAnySlice(mirrors)))
	// Output: first <nil>
}

func ExampleStopWhen() {
	forever := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
	_, err := sender.SyncWait(context.Background(), sender.StopWhen(forever, sender.Just("a signal")))
	fmt.Println(err)
	// Output: sender: stopped
}

func ExampleTimeout() {
	forever := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
	expired := sender.Just(struct{}{}) // in earnest: loop.SleepFor(time.Second)
	_, err := sender.SyncWait(context.Background(), sender.Timeout(forever, expired))
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
	// Output: true
}

func ExampleRepeat() {
	var source stop.Source
	left := 3
	packet := sender.Then(sender.Just("packet"), func(p string) string {
		fmt.Println(p, left)
		if left--; left == 0 {
			source.RequestStop()
		}
		return p
	})
	rec := &sendertest.Recorder[string]{Stop: &source}
	s := sender.Repeat(packet)
	op := sender.StateOf(s)
	start := s.Connect(op, rec)
	rec.Starting()
	start.Start()
	fmt.Println(rec.Result())
	// Output:
	// packet 3
	// packet 2
	// packet 1
	// stopped
}

func ExampleRepeatUntil() {
	n := 0
	next := sender.Then(sender.Just(10), func(step int) int { n += step; return n })
	fmt.Println(sender.SyncWait(context.Background(), sender.RepeatUntil(next, func(n int) bool { return n >= 50 })))
	// Output: 50 <nil>
}

func ExampleSchedule() {
	var loop sender.RunLoop
	go loop.Run()
	defer loop.Finish()
	s := sender.Then(sender.Schedule(&loop), func(struct{}) string { return "on the loop" })
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: on the loop <nil>
}

// printer is work for a scheduler.
type printer struct{ work sender.Work }

func (p *printer) Run()          { fmt.Println("running") }
func (p *printer) Abandon(error) { fmt.Println("abandoned") }

func ExampleRunLoop() {
	var loop sender.RunLoop
	var p printer
	p.work.Runner = &p
	loop.Enqueue(&p.work)
	loop.Finish()
	loop.Run()
	loop.Enqueue(&p.work)
	// Output:
	// running
	// abandoned
}

func ExampleSyncWait() {
	n, err := sender.SyncWait(context.Background(), sender.Then(sender.Just(1), func(n int) int { return n + 1 }))
	fmt.Println(n, err)
	// Output: 2 <nil>
}
