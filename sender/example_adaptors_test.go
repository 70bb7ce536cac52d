package sender_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func ExampleUponError() {
	s := sender.UponError(sender.JustError[string](io.EOF), func(err error) string { return "nothing but " + err.Error() })
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: nothing but EOF <nil>
}

func ExampleUponStopped() {
	s := sender.UponStopped(sender.JustStopped[string](), func() string { return "given up" })
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: given up <nil>
}

func ExampleLetError() {
	ask := func(err error) sender.JustSender[string] {
		return sender.Just("a mirror's answer, after " + err.Error())
	}
	fmt.Println(sender.SyncWait(context.Background(), sender.LetError(sender.JustError[string](io.EOF), ask)))
	// Output: a mirror's answer, after EOF <nil>
}

func ExampleLetStopped() {
	s := sender.LetStopped(sender.JustStopped[int](), func() sender.JustSender[int] { return sender.Just(1) })
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: 1 <nil>
}

// say returns a sender that prints.
func say(text string) sender.FromFuncSender[string] {
	return sender.FromFunc(func() (string, error) {
		fmt.Println(text)
		return text, nil
	})
}

func ExampleSequence() {
	fmt.Println(sender.SyncWait(context.Background(), sender.Sequence(say("first"), say("second"))))
	// Output:
	// first
	// second
	// second <nil>
}

func ExampleSequenceSlice() {
	_, _ = sender.SyncWait(context.Background(),
		sender.SequenceSlice([]sender.FromFuncSender[string]{say("one"), say("two")}))
	// Output:
	// one
	// two
}

func ExampleFinally() {
	_, err := sender.SyncWait(context.Background(), sender.Finally(sender.JustError[int](io.EOF), say("closed")))
	fmt.Println(err)
	// Output:
	// closed
	// EOF
}

func ExampleFallback() {
	fmt.Println(sender.SyncWait(context.Background(),
		sender.Fallback(sender.JustError[string](io.EOF), sender.Just("spare"))))
	// Output: spare <nil>
}

func ExampleWhenAll() {
	name, size := sender.Just("file"), sender.Just(512)
	x, err := sender.SyncWait(context.Background(), sender.WhenAll(name, size))
	fmt.Println(x.A, x.B, err)
	// Output: file 512 <nil>
}

func ExampleWhenAllSlice() {
	pages := []sender.JustSender[string]{sender.Just("one"), sender.Just("two")}
	fmt.Println(sender.SyncWait(context.Background(), sender.WhenAllSlice(pages, 0)))
	// Output: [one two] <nil>
}

func ExampleRetry() {
	attempt := 0
	unsteady := sender.FromFunc(func() (string, error) {
		if attempt++; attempt < 3 {
			return "", io.ErrUnexpectedEOF
		}
		return "done", nil
	})
	again := func(failed int, err error) bool {
		fmt.Println(failed, err)
		return errors.Is(err, io.ErrUnexpectedEOF) && failed < 5
	}
	fmt.Println(sender.SyncWait(context.Background(), sender.Retry(unsteady, again)))
	// Output:
	// 1 unexpected EOF
	// 2 unexpected EOF
	// done <nil>
}

func ExampleRetryAfter() {
	backOff := func(failed int, _ error) (sender.FromFuncSender[string], bool) {
		wait := fmt.Sprintf("wait %d ms", 10<<failed) // in earnest: loop.SleepFor(10 << failed * time.Millisecond)
		return say(wait), failed < 3
	}
	_, err := sender.SyncWait(context.Background(), sender.RetryAfter(sender.JustError[int](io.EOF), backOff))
	fmt.Println(err)
	// Output:
	// wait 20 ms
	// wait 40 ms
	// EOF
}

func ExampleSplit() {
	lookup := sender.Split(say("looking it up"))
	upper := sender.Then(lookup, strings.ToUpper)
	x, err := sender.SyncWait(context.Background(), sender.WhenAll(lookup, upper))
	fmt.Println(x.A, x.B, err)
	// Output:
	// looking it up
	// looking it up LOOKING IT UP <nil>
}

func ExampleStartsOn() {
	var loop sender.RunLoop
	go loop.Run()
	defer loop.Finish()
	isLoop := sender.ReadEnv(func(e sender.Env) bool { return e.Scheduler() == sender.Scheduler(&loop) })
	fmt.Println(sender.SyncWait(context.Background(), sender.StartsOn(&loop, isLoop)))
	// Output: true <nil>
}

func ExampleContinuesOn() {
	var loop sender.RunLoop
	rec := new(sendertest.Recorder[int])
	s := sender.ContinuesOn(sender.Just(1), &loop)
	op := sender.StateOf(s)
	start := s.Connect(op, rec)
	rec.Starting()
	start.Start()
	fmt.Println(rec.Result())
	loop.Finish()
	loop.Run()
	fmt.Println(rec.Result())
	// Output:
	// none
	// value 1
}

func ExampleAffineOn() {
	var loop sender.RunLoop // where we are
	s := sender.Just(1)
	there := sender.AffineOn(s, &loop)
	fmt.Println(sender.CompletionBehaviorOf(&s), sender.CompletionBehaviorOf(&there))
	fmt.Println(sender.SyncWait(context.Background(), there)) // needs no way back: the loop need not even run
	// Output:
	// inline inline
	// 1 <nil>
}

func ExampleCompletionBehaviorOf() {
	timer := &sendertest.Leaf[int]{}
	s := sender.WhenAny(timer, sender.Just(1))
	fmt.Println(sender.CompletionBehaviorOf(&s))
	// Output: anywhere
}

func ExampleBulk() {
	words := []string{"a", "b"}
	s := sender.Bulk(sender.Just(words), len(words), func(i int, w []string) { w[i] = strings.ToUpper(w[i]) })
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: [A B] <nil>
}

func ExampleIntoOptional() {
	x, err := sender.SyncWait(context.Background(), sender.IntoOptional(sender.JustStopped[int]()))
	fmt.Println(x.Value, x.OK, err)
	// Output: 0 false <nil>
}

func ExampleIntoResult() {
	x, err := sender.SyncWait(context.Background(), sender.IntoResult(sender.JustError[int](io.EOF)))
	fmt.Println(err)
	fmt.Println(x.Get())
	// Output:
	// <nil>
	// 0 EOF
}

func ExampleErase() {
	s := sender.Erase(sender.Just("text"))
	s = sender.Erase(sender.Then(s, strings.ToUpper))
	fmt.Println(sender.SyncWait(context.Background(), s))
	// Output: TEXT <nil>
}
