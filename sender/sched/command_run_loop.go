package sched

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// CommandRunLoop is TimedRunLoop but for how a timer is cancelled: by a command to the driving thread
// that is nobody's operation. The timer does not wait for it, so one that is due while it is being
// stopped completes at once and not a turn later; and the list of commands is the loop's, so that its
// memory is, too.
//
// A command that was not obeyed by the time its timer is over would name storage that is somebody else's
// by now. It is therefore withdrawn before the receiver hears of the end: nothing is left over.
//
// Source: the second version that the article on sender factories mentions; the withdrawal is ours.
type CommandRunLoop struct{ timedLoop }

// EnqueueAt implements sender.TimedScheduler.
func (l *CommandRunLoop) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	w.Owner, w.Deadline, w.Cancelled, w.Tag = l, deadline, false, noCommand
	w.Submission.Runner = (*commanded)(w)
	w.Stop.Register(token, (*commanded)(w))
	l.Enqueue(&w.Submission)
}

// noCommand is the Tag of timed work that is not to be cancelled. Else it is the place in the list.
const noCommand = ^uint64(0)

// commanded is timed work of a CommandRunLoop: as what arms it, as the handler of its timer, and as
// that of its stop callback.
type commanded sender.TimedWork

func (c *commanded) loop() *CommandRunLoop { return c.Owner.(*CommandRunLoop) }

func (c *commanded) Run() {
	if c.Cancelled {
		c.end(false, sender.ErrStopped)
		return
	}
	c.loop().arm((*sender.TimedWork)(c), c)
}

func (c *commanded) Abandon(reason error) { c.end(false, reason) }
func (c *commanded) OnTimer(now int64)    { c.end(c.Deadline <= now, sender.ErrStopped) }
func (c *commanded) OnStop()              { c.loop().command((*sender.TimedWork)(c)) }

// end completes the work, which is abandoned for reason unless it is due. Once the callback is deregistered
// there will be no command if there is none.
func (c *commanded) end(due bool, reason error) {
	c.Stop.Deregister()
	if c.Tag != noCommand {
		c.loop().withdraw((*sender.TimedWork)(c))
	}
	if due {
		c.Runner.Run()
	} else {
		c.Runner.Abandon(reason)
	}
}

// command orders w to be cancelled.
func (l *timedLoop) command(w *sender.TimedWork) {
	l.mu.Lock()
	if l.closed { // w is about to be abandoned
		l.mu.Unlock()
		return
	}
	w.Tag = uint64(len(l.commands))
	l.commands = append(l.commands, w)
	l.unlockAndWake()
}

// withdraw takes back the command to cancel w, unless it has been obeyed.
func (l *timedLoop) withdraw(w *sender.TimedWork) {
	l.mu.Lock()
	if w.Tag < uint64(len(l.commands)) && l.commands[w.Tag] == w {
		l.commands[w.Tag] = nil
	}
	l.mu.Unlock()
}

// obey cancels what is to be cancelled. Nothing but that ends a timer meanwhile, so that what is obeyed
// need not be withdrawn.
func (l *timedLoop) obey() {
	l.mu.Lock()
	l.commands, l.obeying = l.obeying[:0], l.commands
	l.mu.Unlock()
	l.cancelObeyed()
}

// cancelObeyed cancels what is left of the commands of this turn.
func (l *timedLoop) cancelObeyed() {
	for i, w := range l.obeying {
		if w == nil {
			continue
		}
		l.obeying[i] = nil
		w.Cancelled = true
		if l.timers.Remove(&w.Timer) {
			(*commanded)(w).end(false, sender.ErrStopped)
		}
	}
}
