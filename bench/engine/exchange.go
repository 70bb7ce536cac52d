package engine

import (
	"github.com/reactord/reactord/bench/record"
)

// codec is a protocol of requests and replies on one connection. Replies come in the order of the requests.
type codec interface {
	// request returns the next request. Its bytes do not change later.
	request() []byte
	// reply reads received bytes, at least one, and returns how many of them belong to the current reply.
	// With done the reply is complete, and an error is a failure that the reply reports. Without done an
	// error means that the bytes are not of the protocol.
	reply(p []byte) (n int, done bool, err error)
	// last reports whether the last complete reply announced that the connection ends.
	last() bool
	// reset prepares for a new connection.
	reset()
}

// failure is an error of a codec.
type failure record.Failure

func (f failure) Error() string { return record.Failure(f).String() }

// exchange is the session of every mode with requests and replies. Several requests can be outstanding.
type exchange struct {
	base
	codec codec
	under []stamp // outstanding requests, as a ring buffer
	first int
	n     int
	part  bool // a part of the first reply was received
}

// stamp has the time when a request was due, and the time when it was sent.
type stamp struct{ intended, sent int64 }

func newExchange(c *conn, codec codec, depth int) *exchange {
	return &exchange{base: base{c}, codec: codec, under: make([]stamp, depth)}
}

func (e *exchange) opened() {
	e.codec.reset()
	now := e.c.clock()
	for range e.under {
		e.c.group.ready(e.c, now)
	}
}

func (e *exchange) begin(intended, now int64) {
	if e.n == 0 {
		e.c.since = now
	}
	at := e.first + e.n
	if at >= len(e.under) {
		at -= len(e.under)
	}
	e.under[at] = stamp{intended, now}
	e.n++
	e.c.write(e.codec.request())
}

// received reads all of p before the connection is ready for new work. So no byte of p can be taken for the reply to
// a later request.
func (e *exchange) received(p []byte) {
	c := e.c
	now := c.arrived()
	replies := 0
	for len(p) > 0 {
		if e.n == 0 {
			c.fail(record.Excess)
			return
		}
		n, done, err := e.codec.reply(p)
		if err != nil && !done {
			c.fail(kindOf(err))
			return
		}
		p = p[n:]
		if e.part = !done; e.part {
			continue
		}
		e.replied(err, now)
		if e.codec.last() {
			c.close(false)
			return
		}
		replies++
	}
	for range replies {
		c.group.ready(c, now)
	}
}

// replied records a complete reply to the first outstanding request.
func (e *exchange) replied(err error, now int64) {
	c, s := e.c, e.under[e.first]
	e.pop()
	if c.since = 0; e.n > 0 {
		c.since = e.under[e.first].sent
	}
	if err != nil {
		c.group.win.Errors[kindOf(err)]++
		c.group.done(1, now)
		return
	}
	c.group.messageDone(s.intended, s.sent, now)
}

// pop removes the first outstanding request.
func (e *exchange) pop() {
	e.n--
	if e.first++; e.first == len(e.under) {
		e.first = 0
	}
}

// kindOf returns the kind of failure of an error of a codec.
func kindOf(err error) record.Failure {
	if f, ok := err.(failure); ok { //nolint:errorlint // codecs return it bare
		return record.Failure(f)
	}
	return record.Protocol
}

// ended handles an EOF that came before the replies to the outstanding requests.
func (e *exchange) ended() {
	if e.n > 0 && e.part {
		e.c.fail(record.Short)
		return
	}
	e.c.fail(record.Closed)
}

func (e *exchange) closed() {
	n := e.n
	e.first, e.n, e.part = 0, 0, false
	if n > 0 {
		e.c.group.done(n, e.c.clock())
	}
	e.c.reopen()
}
