package engine

import "fmt"

// connState is where a connection stands.
//
//	idle        -> connecting               open
//	            -> backingOff               restart, after a failure
//	connecting  -> open                     stands: connect, and the handshake of TLS, have completed
//	            -> unopened                 failLater: there is no socket
//	            -> closing                  close
//	open        -> closing                  close
//	closing     -> idle                     the descriptor is closed, and every operation has completed
//	unopened    -> idle                     its timer: the session is told now
//	backingOff  -> idle                     its timer: the connection may be opened again
type connState uint8

const (
	connIdle connState = iota // no socket, nothing in flight
	connConnecting
	connOpen
	connClosing
	connUnopened
	connBackingOff
)

// connBefore are, for each state, the states that it may follow, as bits.
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

// become is the transition to the next state.
func (c *conn) become(next connState) {
	if connBefore[next]&(1<<c.state) == 0 {
		panic(fmt.Sprintf("engine: a connection cannot go from %s to %s", connNames[c.state], connNames[next]))
	}
	c.state = next
}

// live: the connection has a socket, which is not being closed.
func (c *conn) live() bool { return c.state == connConnecting || c.state == connOpen }
