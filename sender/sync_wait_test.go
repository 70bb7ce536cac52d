package sender_test

import (
	"context"
	"errors"
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

// readEnv completes with its receiver's environment.
type readEnv struct{}

type readEnvOp struct{ r sender.Receiver[sender.Env] }

func (readEnv) Connect(op *readEnvOp, r sender.Receiver[sender.Env]) { op.r = r }
func (op *readEnvOp) Start()                                         { op.r.SetValue(op.r.Env()) }

// Work that asks for a scheduler is run by the waiting goroutine.
func TestSyncWaitIsAScheduler(t *testing.T) {
	s := sender.Let(readEnv{}, func(e sender.Env) sender.ScheduleSender {
		if e.StopToken().StopPossible() || e.Value("key") != nil {
			t.Error("there is something in the environment")
		}
		return sender.Schedule(e.Scheduler())
	})
	if _, err := sender.SyncWait(context.WithoutCancel(t.Context()), s); err != nil {
		t.Error(err)
	}
}
