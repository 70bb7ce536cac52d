package sched_test

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// manual is a timed scheduler whose clock is advanced by hand, on one thread.
type manual struct {
	now    int64
	queue  []*sender.Work
	timers timerqueue.Queue
}

func (c *manual) Enqueue(w *sender.Work) { c.queue = append(c.queue, w) }
func (c *manual) Clock() int64           { return c.now }

func (c *manual) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	w.Submit(c, deadline, token)
}

// Arm and Disarm make it a sender.TimerDriver.
func (c *manual) Arm(w *sender.TimedWork) {
	w.Timer().Init((*manualTimer)(w))
	c.timers.Push(w.Timer(), w.Deadline())
}

func (c *manual) Disarm(w *sender.TimedWork) bool { return c.timers.Remove(w.Timer()) }

// tick runs what was enqueued, advances the clock, and expires what is due.
func (c *manual) tick(ns int64) {
	for len(c.queue) > 0 {
		w := c.queue[0]
		c.queue = c.queue[1:]
		w.Runner.Run()
	}
	c.now += ns
	for t := c.timers.Pop(c.now); t != nil; t = c.timers.Pop(c.now) {
		t.Handler.OnTimer(c.now)
	}
}

type manualTimer sender.TimedWork

func (t *manualTimer) OnTimer(int64) { (*sender.TimedWork)(t).Settle(true) }
