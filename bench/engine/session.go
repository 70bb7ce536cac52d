package engine

import "github.com/reactord/reactord/bench/record"

// session is what a connection does: one type a mode. Its methods are called on the loop's thread, and
// none inside of one of the conn's methods but open, which may call opened.
type session interface {
	begin(intended, now int64) // a piece of work is due, and was so at intended
	opened()                   // the connection stands
	received(p []byte)         // in the order in which they came; p is lent for the call
	drained()                  // the kernel has taken all that was written
	ended()                    // the peer sends nothing more
	expired()                  // the timer that the session has set
	overdue()                  // what is awaited since conn.since has taken too long
	closed()                   // the connection is gone
}

// puller is a session that receives in its own time, and wants the kernel to receive little ahead of that.
type puller interface {
	recvBuffer() int // in bytes, if the load asks for none
	pull()           // the connection stands: receiving may begin
}

// base is what most sessions have in common.
type base struct{ c *conn }

func (b *base) drained() {}
func (b *base) expired() {}
func (b *base) overdue() { b.c.fail(record.Timeout) }
func (b *base) ended()   { b.c.fail(record.Closed) }
