package sender_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestSubmit(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		done := make(chan bool)
		rec := &sendertest.Recorder[int]{T: t, Then: func(result) { close(done) }}
		rec.Starting()
		sender.Submit(l, rec)
		if endless(l) {
			l.Result = itStopped
			l.Finish()
		}
		<-done
		if !in(rec.Result(), l.Result) {
			t.Errorf("completed with %v", rec.Result())
		}
	})
}

func TestStartDetached(t *testing.T) {
	for _, x := range []result{theValue, itStopped} {
		l := &leaf{Result: x}
		sender.StartDetached(l)
		if l.Finish() != 1 {
			t.Error("not started")
		}
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, errLeaf) {
			t.Errorf("recovered %v, want the error", err)
		}
	}()
	sender.StartDetached(sender.JustError[int](errLeaf))
}

func TestAsFuture(t *testing.T) {
	th := sendertest.NewThread(t)
	for _, how := range []sendertest.Action{sendertest.Inline, sendertest.Later} {
		for _, x := range []result{theValue, theError, itStopped} {
			f := sender.AsFuture(&leaf{OnStart: how, Result: x, Thread: th})
			want := x.Err
			if x == itStopped {
				want = sender.ErrStopped
			}
			for range 2 {
				if v, err := f.Get(t.Context()); v != x.Value || !errors.Is(err, want) {
					t.Errorf("%v: got %d, %v", x, v, err)
				}
			}
			<-f.Done()
		}
	}
}

// It starts immediately. Get may give up waiting, and wait again. The work can be stopped.
func TestFutureGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leaf{OnStop: sendertest.Inline}
		f := sender.AsFuture(l)
		if l.InFlight() != 1 {
			t.Fatal("not started")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error)
		get := func() {
			_, err := f.Get(ctx)
			got <- err
		}
		go get()
		synctest.Wait()
		cancel(errCleanup)
		if err := <-got; !errors.Is(err, errCleanup) || l.InFlight() != 1 {
			t.Errorf("given up with %v, %d in flight", err, l.InFlight())
		}
		ctx = t.Context()
		go get()
		synctest.Wait()
		f.RequestStop()
		if err := <-got; !errors.Is(err, sender.ErrStopped) {
			t.Errorf("stopped with %v", err)
		}
	})
}
