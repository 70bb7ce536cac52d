package engine

import "github.com/reactord/reactord/bench/record"

// session is what a connection does; each mode has one type. Its methods are called on the loop's thread. Of the
// methods of conn only open may call one before it returns: opened.
type session interface {
	begin(intended, now int64) // a piece of work starts, which was due at intended
	opened()                   // the connection is open
	received(p []byte)         // in order; p is valid during the call only
	drained()                  // the kernel has taken all bytes that were written
	ended()                    // EOF: the peer closed its write side
	expired()                  // the timer of conn.setTimer
	overdue()                  // the wait since conn.since has reached Config.Timeout
	closed()                   // the connection is closed
}

// puller is a session that decides when to receive, and wants a small receive buffer in the kernel.
type puller interface {
	recvBuffer() int // in bytes, if Config.RecvBuffer is 0
	pull()           // the connection is open: receiving may begin
}

// base has the methods that most sessions share.
type base struct{ c *conn }

func (b *base) drained() {}
func (b *base) expired() {}
func (b *base) overdue() { b.c.fail(record.Timeout) }
func (b *base) ended()   { b.c.fail(record.Closed) }
