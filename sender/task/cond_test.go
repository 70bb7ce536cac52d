package task_test

import (
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// Tasks of one thread wait for a condition; Signal wakes one of them, and Broadcast all.
func TestCond(t *testing.T) {
	for name, sch := range map[string]sender.Scheduler{
		"coroutines": newCoroutineLoop(t), "run loop": newRunLoop(t, false),
	} {
		t.Run(name, func(t *testing.T) {
			var cond task.Cond
			tokens, waiting := 0, 0
			var all []*outcome[unit]
			for range 5 {
				all = append(all, begin(t, sch, task.New(func(t *task.T) error {
					waiting++
					for tokens == 0 {
						if _, err := task.Await(t, cond.Wait()); err != nil {
							return err
						}
					}
					tokens--
					waiting--
					return nil
				}), nil))
			}
			on := func(f func()) { _ = run[unit](t, sch, task.New(func(*task.T) error { f(); return nil })) }
			left := -1
			on(func() { tokens = 1; cond.Signal() })
			for left != 4 {
				on(func() { left = waiting })
			}
			on(func() { tokens = 4; cond.Broadcast() })
			for _, o := range all {
				if x := o.result(); x.Channel != sendertest.OnValue {
					t.Error(x)
				}
			}
			if tokens != 0 {
				t.Errorf("%d tokens are left", tokens)
			}
		})
	}
}

// A task that was stopped takes no Signal away from another.
func TestCondSignalAfterAStop(t *testing.T) {
	var cond task.Cond
	first, second := new(sendertest.Recorder[unit]), new(sendertest.Recorder[unit])
	first.Stop = new(stop.Source)
	started[unit](first, cond.Wait(), new(task.WaitOp))
	started[unit](second, cond.Wait(), new(task.WaitOp))
	first.Stop.RequestStop()
	cond.Signal()
	if first.Result().Channel != sendertest.OnStopped || !second.Completed() {
		t.Errorf("%v, and the second has completed: %v", first.Result(), second.Completed())
	}
}

// A Broadcast wakes those that waited when it began, and not those that wait again.
func TestCondBroadcastEnds(t *testing.T) {
	var cond task.Cond
	woken := 0
	op := new(task.WaitOp)
	again := &sendertest.Recorder[unit]{}
	again.Then = func(sendertest.Result[unit]) {
		if woken++; woken < 5 {
			started[unit](new(sendertest.Recorder[unit]), cond.Wait(), new(task.WaitOp))
		}
	}
	started[unit](again, cond.Wait(), op)
	cond.Broadcast()
	if woken != 1 {
		t.Errorf("woken %d times", woken)
	}
}

// Signal on another thread could be missed, so it panics; so do tasks of two threads that wait.
func TestCondOnTheWrongThread(t *testing.T) {
	panicOf := func(f func()) (v any) {
		defer func() { v = recover() }()
		f()
		return nil
	}
	var cond task.Cond
	a, b := newCoroutineLoop(t), newCoroutineLoop(t)
	wait := task.New(func(t *task.T) error {
		_, err := task.Await(t, cond.Wait())
		return err
	})
	o := begin(t, a, wait, nil)
	a.do(func() {})
	if v, ok := panicOf(cond.Signal).(string); !ok || !strings.Contains(v, "off the thread") {
		t.Errorf("Signal panicked with %v", v)
	}
	if x := run[unit](t, b, wait); x.Channel != sendertest.OnError || !strings.Contains(x.Err.Error(), "several threads") {
		t.Errorf("a task of another thread: %v", x)
	}
	a.do(cond.Signal)
	if x := o.result(); x.Channel != sendertest.OnValue {
		t.Error(x)
	}
	a.end()
	cond.Signal() // nothing runs there now
}
