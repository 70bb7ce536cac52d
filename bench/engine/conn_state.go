package engine

import "fmt"

// connState is the state of a connection. These are the transitions and what causes them:
//
//	idle        -> connecting               open
//	            -> backingOff               restart, after a failure
//	connecting  -> open                     stands: connected, and the TLS handshake has completed
//	            -> unopened                 failLater: there is no socket
//	            -> closing                  close
//	open        -> closing                  close
//	closing     -> idle                     the receiver of close: session.closed is called
//	unopened    -> idle                     the timer: session.closed is called
//	backingOff  -> idle                     the timer: the connection can be opened again
type connState uint8

const (
	connIdle connState = iota // no socket, nothing in flight
	connConnecting
	connOpen
	connClosing
	connUnopened
	connBackingOff
)

// connBefore has, for each state, the states that may precede it, as bits.
var connBefore = [...]uint8{
	connIdle:       1<<connClosing | 1<<connUnopened | 1<<connBackingOff,
	connConnecting: 1 << connIdle,
	connOpen:       1 << connConnecting,
	connClosing:    1<<connConnecting | 1<<connOpen,
	connUnopened:   1 << connConnecting,
	connBackingOff: 1 << connIdle,
}

var connNames = [...]string{
	connIdle:       "idle",
	connConnecting: "connecting",
	connOpen:       "open",
	connClosing:    "closing",
	connUnopened:   "unopened",
	connBackingOff: "backing off",
}

// become makes a transition. A transition that the table lacks is a bug of this package.
func (c *conn) become(next connState) {
	if connBefore[next]&(1<<c.state) == 0 {
		panic(fmt.Sprintf("engine: a connection cannot go from %s to %s", connNames[c.state], connNames[next]))
	}
	c.state = next
}

// live reports whether the connection has a socket that is not being closed.
func (c *conn) live() bool { return c.state == connConnecting || c.state == connOpen }
