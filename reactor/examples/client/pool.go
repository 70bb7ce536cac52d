package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// options say how requests are made.
type options struct {
	addr        string        // of the server: host:port
	requests    int           // how many
	connections int           // how many of them at a time, each on its own connection
	timeout     time.Duration // of one attempt, with connecting
	attempts    int           // of one request
	backoff     time.Duration // before the second attempt; it doubles from then on
}

// maxDoublings is how often the backoff doubles.
const maxDoublings = 6

// counts are what became of the requests. wrong replies are retried.
type counts struct{ answered, failed, retries, wrong, dialed int }

// pool makes requests over connections of one loop. It is used on the loop's thread.
type pool struct {
	loop *reactor.Loop
	options
	idle []*reactor.Socket // the last one was used last
	counts
}

// errReply is a reply that does not belong to the request.
var errReply = errors.New("the wrong reply")

// run makes all requests, and closes the connections.
func (p *pool) run(t *task.T) error {
	defer task.Unstoppable(t, func() {
		for _, s := range p.idle {
			_, _ = task.Await(t, s.Close())
		}
	})
	requests := make([]sender.Any[struct{}], p.requests)
	for i := range requests {
		requests[i] = p.request(fmt.Appendf(nil, "request %d\n", i))
	}
	_, err := task.Await(t, sender.WhenAllSlice(requests, p.connections))
	return err
}

// request returns a sender of one request: some attempts, each with a deadline. If all of them fail it counts that, so
// that the other requests are made nevertheless.
func (p *pool) request(message []byte) sender.Any[struct{}] {
	exchange := task.New(func(t *task.T) error { return p.exchange(t, message) })
	attempt := sender.Timeout(exchange, p.loop.SleepFor(p.timeout))
	attempts := sender.RetryAfter(attempt, func(failed int, err error) (sender.ScheduleAtSender, bool) {
		if errors.Is(err, errReply) {
			p.wrong++
		}
		if failed == p.attempts {
			return sender.ScheduleAtSender{}, false
		}
		p.retries++
		return sender.ScheduleAfter(p.loop, p.backoff<<min(failed-1, maxDoublings)), true
	})
	return sender.Erase(sender.UponError(attempts, func(error) struct{} {
		p.failed++
		return struct{}{}
	}))
}

// exchange sends a request and receives the reply. Only a connection that has done that goes back to the pool: after an
// error, such as the deadline, a late reply could be taken for that of the next request.
func (p *pool) exchange(t *task.T, message []byte) error {
	s, err := p.connect(t)
	if err != nil {
		return err
	}
	if err := roundTrip(t, s, message); err != nil {
		task.Unstoppable(t, func() { _, _ = task.Await(t, s.Close()) })
		return err
	}
	p.idle = append(p.idle, s)
	p.answered++
	return nil
}

// connect takes the idle connection that was used last, or makes a new one.
func (p *pool) connect(t *task.T) (*reactor.Socket, error) {
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return s, nil
	}
	p.dialed++
	return task.Await(t, reactor.Dial(p.loop, "tcp", p.addr))
}

// roundTrip sends a message and expects it back.
func roundTrip(t *task.T, s *reactor.Socket, message []byte) error {
	if _, err := task.Await(t, s.SendAll(message)); err != nil {
		return err
	}
	reply := make([]byte, len(message))
	n, err := task.Await(t, s.RecvFlags(reply, unix.MSG_WAITALL))
	switch {
	case err != nil:
		return err
	case n < len(message):
		return io.ErrUnexpectedEOF
	case !bytes.Equal(reply, message):
		return errReply
	}
	return nil
}
