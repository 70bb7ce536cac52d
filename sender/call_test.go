package sender_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestCall(t *testing.T) {
	calls := func(f func(context.Context) (int, error)) sender.CallSender[int] { return sender.Call(f) }
	mayBe := func(want result) func(p sendertest.Point, x result) bool {
		return func(p sendertest.Point, x result) bool { return in(x, want) || mayStop(p) && in(x, itStopped) }
	}
	sendertest.Check(t, calls(func(context.Context) (int, error) { return 7, nil }),
		sendertest.Options[int]{Accept: mayBe(theValue), Restartable: true, Rounds: 50})
	sendertest.Check(t, calls(func(context.Context) (int, error) { return 0, errLeaf }),
		sendertest.Options[int]{Accept: mayBe(theError), Restartable: true, Rounds: 50})
	for name, err := range map[string]func(context.Context) error{
		"its context's error": context.Context.Err,
		"wrapped":             func(ctx context.Context) error { return fmt.Errorf("fetching: %w", ctx.Err()) },
		"its context's cause": context.Cause,
		"that of a context's child": func(ctx context.Context) error {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			return child.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			sendertest.Check(t, calls(func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, err(ctx) }),
				sendertest.Options[int]{Accept: mayBe(itStopped), Restartable: true, Rounds: 50, Endless: true})
		})
	}
}

// The context answers with the environment's values.
func TestCallForwardsValues(t *testing.T) {
	type key struct{}
	get := sender.Call(func(ctx context.Context) (any, error) { return ctx.Value(key{}), nil })
	v, err := sender.SyncWait(t.Context(), sender.WriteEnv(get, sender.ValueEnv{Key: key{}, Val: 5}))
	if v != 5 || err != nil {
		t.Errorf("the function read %v, %v", v, err)
	}
}

// What happens without a stop request is delivered as it is, a context's error too.
func TestCallFails(t *testing.T) {
	for name, test := range map[string]struct {
		f    func(context.Context) (int, error)
		want error
	}{
		"cancelled by itself": {func(ctx context.Context) (int, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return 0, ctx.Err()
		}, context.Canceled},
		"a deadline of its own": {func(ctx context.Context) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Microsecond)
			defer cancel()
			<-ctx.Done()
			return 0, ctx.Err()
		}, context.DeadlineExceeded},
		"Goexit":  {func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }, sender.ErrGoexit},
		"stopped": {func(context.Context) (int, error) { return 0, sender.ErrStopped }, sender.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := sender.SyncWait(context.Background(), sender.Call(test.f)); v != 0 || !errors.Is(err, test.want) {
				t.Errorf("completed with %d, %v", v, err)
			}
		})
	}
	_, err := sender.SyncWait(t.Context(), sender.Call(func(context.Context) (int, error) { panic("mine") }))
	if p, ok := errors.AsType[*sender.PanicError](err); !ok || p.Value != "mine" {
		t.Errorf("a panic is %v", err)
	}
}

func TestCallThatTimesOut(t *testing.T) {
	ended := false
	wait := sender.Call(func(ctx context.Context) (int, error) {
		<-ctx.Done()
		ended = true
		return 0, ctx.Err()
	})
	_, err := sender.SyncWait(t.Context(),
		sender.Timeout(wait, sender.ScheduleAfter(sched.Goroutines{}, time.Millisecond)))
	if !errors.Is(err, os.ErrDeadlineExceeded) || !ended {
		t.Errorf("completed with %v; the function has returned: %v", err, ended)
	}
}
