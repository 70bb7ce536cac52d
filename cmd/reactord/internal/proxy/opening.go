package proxy

import (
	"errors"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// stage is how far an opening has come. It only advances. Stages that the listener does not ask for are skipped.
//
//	header   → preamble   a PROXY header came
//	preamble → hello      the client has asked for TLS
//	hello    → handshake  a whole ClientHello came
//	any      → routed     connect
type stage uint8

const (
	stageHeader stage = iota
	stagePreamble
	stageHello
	stageHandshake
	stageRouted // the early bytes are kept until a server has taken them
)

// opening is what a connection needs until its backend is known, if its listener has to learn something from the client
// first. What only has to be received is received by an operation whose receiver is the opening; when the client has to
// be answered, in a STARTTLS preamble or a TLS handshake, a task goes on. As little is received as is needed, and what
// was not consumed is in conn.early.
type opening struct {
	conn     *conn
	settings *settings // of the listener, when the connection was accepted
	recv     reactor.RecvLeaseOp
	task     *openingTask // nil: none is needed so far
	bytes    []byte       // what was received; its rest is conn.early
	stage    stage
}

// openingTask is what an opening needs while its task runs. It is the receiver of the task, and its environment.
type openingTask struct {
	sender.EmptyEnv
	opening *opening
	op      task.Op
	stop    stop.Source
	send    reactor.SendOp
	to      *upstream.Backend
	why     end
}

// errMore means that more bytes of the client are needed.
var errMore = errors.New("more bytes are needed")

// open begins the opening of a connection.
func (c *conn) open(s *settings) {
	o := c.worker().openings.get()
	o.conn, o.settings = c, s
	c.opening = o
	o.limit(s.InspectTimeout)
}

// limit sets the time that what follows may take.
func (o *opening) limit(d time.Duration) {
	c := o.conn
	c.loop().SetTimer(&c.timer, c.loop().Now()+int64(d))
}

// expire is called when it takes too long.
func (o *opening) expire() {
	why := endOpeningTimeout
	if o.stage == stageHandshake {
		why = endClientTLSTimeout
	}
	o.conn.close(why, bothSides)
}

// abandon is called when the connection is closed. It returns the side whose socket is to be closed. The task counts as
// another socket.
func (o *opening) abandon() sideSet {
	if o != nil && o.task != nil {
		o.conn.closes++
		o.task.stop.RequestStop()
	}
	return clientSide
}

// handshakeFailed is how the connection ends when the handshake with the client has failed.
func handshakeFailed(err error) end {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return endClientTLSTimeout
	}
	return endClientTLS
}

// forgetOpening gives back the opening, with the early bytes.
func (c *conn) forgetOpening() {
	if o := c.opening; o != nil {
		c.opening, c.early = nil, nil
		*o = opening{bytes: o.bytes[:0]}
		c.worker().openings.keep(o)
	}
}
