package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

type unit = struct{}

// threadScheduler runs work on a thread.
type threadScheduler struct{ th *sendertest.Thread }

func (s threadScheduler) Enqueue(w *sender.Work) { s.th.Do(w.Runner.Run) }

func TestSchedule(t *testing.T) {
	th := sendertest.NewThread(t)
	sendertest.Check(t, sender.Schedule(threadScheduler{th}), sendertest.Options[unit]{
		Accept: func(p sendertest.Point, x sendertest.Result[unit]) bool {
			switch p {
			case sendertest.BeforeConnect, sendertest.BeforeStart:
				return x.Channel == sendertest.OnStopped
			case sendertest.Never, sendertest.InCompletion:
				return x.Channel == sendertest.OnValue
			default:
				return x.Channel != sendertest.OnError
			}
		},
		Do:          th.Do,
		Where:       th.Here,
		Restartable: true,
		Rounds:      200,
	})
}

func TestScheduleCompletesOnTheThread(t *testing.T) {
	th := sendertest.NewThread(t)
	here, err := sender.SyncWait(t.Context(), sender.Then(sender.Schedule(threadScheduler{th}),
		func(unit) bool { return th.Here() }))
	if !here || err != nil {
		t.Errorf("on the thread: %v, %v", here, err)
	}
}

func TestScheduleStoppedInTheQueue(t *testing.T) {
	var l sender.RunLoop
	var source stop.Source
	rec := &sendertest.Recorder[unit]{Stop: &source}
	run(t, sender.Schedule(&l), rec)
	source.RequestStop()
	if rec.Completed() {
		t.Error("completed inside the stop request")
	}
	l.Finish()
	l.Run()
	if x := rec.Result(); x.Channel != sendertest.OnStopped {
		t.Errorf("completed with %v", x)
	}
}

func TestScheduleAbandoned(t *testing.T) {
	var l sender.RunLoop
	l.Finish()
	l.Run()
	rec := new(sendertest.Recorder[unit])
	run(t, sender.Schedule(&l), rec)
	if x := rec.Result(); x != sendertest.Error[unit](sender.ErrClosed) {
		t.Errorf("completed with %v", x)
	}
}
