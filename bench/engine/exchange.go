package engine

import (
	"github.com/reactord/reactord/bench/record"
)

// codec is a protocol of requests and replies as one connection speaks it. Replies come in the order
// of the requests.
type codec interface {
	// request is the next request. Its bytes stay as they are.
	request() []byte
	// reply looks at bytes that came, at least one, and tells how many of them belong to the reply in
	// progress. done: that is whole; an error then says that the reply is one of failure, else that it
	// makes no sense.
	reply(p []byte) (n int, done bool, err error)
	// last: the reply that was whole last has announced the end of the connection.
	last() bool
	// reset forgets what is under way: the connection is a new one.
	reset()
}

// failure is an error of a codec.
type failure record.Failure

func (f failure) Error() string { return record.Failure(f).String() }

// exchange is the session of every mode that sends requests and waits for their replies, a number of
// them at a time on each connection.
type exchange struct {
	base
	codec codec
	under []stamp // requests under way, as a ring
	first int
	n     int
	part  bool // the first reply has come in part
}

// stamp is when a request was meant to be sent, and when it was.
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

// received gives out new work only behind all of p, so that none of it is taken for the reply to what has not been
// sent.
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

// replied records a reply that is whole, to the first request under way.
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

// pop takes the first request off the ring.
func (e *exchange) pop() {
	e.n--
	if e.first++; e.first == len(e.under) {
		e.first = 0
	}
}

// kindOf is what an error of a codec counts as.
func kindOf(err error) record.Failure {
	if f, ok := err.(failure); ok { //nolint:errorlint // codecs return it bare
		return record.Failure(f)
	}
	return record.Protocol
}

// ended is the end of the stream: too early for what is under way.
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
