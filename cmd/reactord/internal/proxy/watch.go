package proxy

import (
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// watch waits for a side that has sent its end to be reset, which no receive would tell any more.
type watch struct {
	conn *conn
	poll reactor.PollManyOp
	side int
}

// watchFor watches a side that has sent its end. When both have, the connection ends anyway.
func (c *conn) watchFor(side int) {
	if c.watch != nil {
		return
	}
	w := c.worker().watches.get()
	w.conn, w.side = c, side
	c.watch = w
	c.sockets[side].PollMany(0).Connect(&w.poll, w) // errors and hang-ups are always reported
	w.poll.Start()
}

// SetNext is told what holds: an end does already, and a reset is an error.
func (w *watch) SetNext(events uint32) {
	if events&unix.POLLERR != 0 && w.conn.phase == phaseFlowing {
		w.conn.sideReset(w.side)
	}
}

// SetValue cannot happen: watching has no end of its own.
func (w *watch) SetValue(struct{}) {}

// SetError says that the socket is being closed.
func (w *watch) SetError(error) {}

// SetStopped says that the loop is ending; the receives bring the connection to its end.
func (w *watch) SetStopped() {}

// Env is empty.
func (w *watch) Env() sender.Env { return sender.EmptyEnv{} }
