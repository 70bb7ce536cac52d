package sender_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestSyncWait(t *testing.T) {
	th := sendertest.NewThread(t)
	for _, how := range []sendertest.Action{sendertest.Inline, sendertest.Later} {
		for _, x := range []result{theValue, theError, itStopped} {
			v, err := sender.SyncWait(t.Context(), &leaf{OnStart: how, Result: x, Thread: th})
			want := x.Err
			if x == itStopped {
				want = sender.ErrStopped
			}
			if v != x.Value || !errors.Is(err, want) {
				t.Errorf("%v: got %d, %v", x, v, err)
			}
		}
	}
}

// Work that asks for a scheduler is run by the waiting goroutine.
func TestSyncWaitIsAScheduler(t *testing.T) {
	s := sender.Let(sender.ReadEnv(func(e sender.Env) sender.Env { return e }), func(e sender.Env) sender.ScheduleSender {
		if e.StopToken().StopPossible() || e.Value("key") != nil {
			t.Error("there is something in the environment")
		}
		return sender.Schedule(e.Scheduler())
	})
	if _, err := sender.SyncWait(context.WithoutCancel(t.Context()), s); err != nil {
		t.Error(err)
	}
}

func TestSyncWaitContext(t *testing.T) {
	th := sendertest.NewThread(t)
	errCause := errors.New("cause")
	for _, l := range []*leaf{{OnStop: sendertest.Inline}, {OnStop: sendertest.Later, Thread: th}} {
		for _, before := range []bool{true, false} {
			ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), ctxKey{}, "ctx"))
			if before {
				cancel(errCause)
			} else {
				go cancel(errCause)
			}
			_, err := sender.SyncWait(ctx, l)
			if !errors.Is(err, sender.ErrStopped) || !errors.Is(err, errCause) {
				t.Errorf("error %v, want that it was stopped, and the cause", err)
			}
			v, err := sender.SyncWait(ctx, sender.ReadEnv(func(e sender.Env) any { return e.Value(ctxKey{}) }))
			if v != "ctx" || err != nil {
				t.Errorf("what succeeds all the same: %v, %v", v, err)
			}
		}
	}
}

// In a run loop's work SyncWait would have the loop wait for itself.
func TestSyncWaitInARunLoop(t *testing.T) {
	var l sender.RunLoop
	var text any
	sender.Execute(&l, func() {
		defer l.Finish()
		defer func() { text = recover() }()
		_, _ = sender.SyncWait(context.Background(), sender.Schedule(&l))
	})
	l.Run()
	if got := fmt.Sprint(text); !strings.Contains(got, "would wait for itself") {
		t.Errorf("panicked with %q", got)
	}
	if v, err := sender.SyncWait(context.Background(), sender.Just(1)); v != 1 || err != nil {
		t.Errorf("after Run: %v, %v", v, err)
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "Run of a RunLoop that runs or has run") {
			t.Errorf("a second Run panicked with %q", got)
		}
	}()
	l.Run()
}
