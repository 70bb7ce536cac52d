//go:build linux

package reactor

import (
	"time"

	"github.com/reactord/reactord/timerqueue"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// pollState says what an entry that waits for a descriptor to become ready is.
//
// A poll of the ring always reports POLLRDHUP too, which holds forever once the peer has closed its write side. To an
// operation that waits for room this is no answer: it would find no room, and poll again, as long as the peer does not
// read. So when there is nothing else to report, a multishot poll follows, which reports changes only.
//
//	none → once        the operation has to wait
//	once → changes     the poll reported nothing that was waited for
//	none → changes     the same is known beforehand
//	changes → answered the multishot poll has reported what was waited for, and is being taken back
//	once, changes, answered → none
type pollState uint8

const (
	pollNone     pollState = iota // the entry is no poll
	pollOnce                      // it completes as soon as something holds
	pollChanges                   // it reports changes, one item each
	pollAnswered                  // it has: op.res is what
)

// poll makes the entry, which is to be armed, one that waits for events of d, or for an error.
func (o *op) poll(d *Descriptor, events uint32) {
	if d.peerEnded && events&unix.POLLIN == 0 {
		o.pollForChanges(int(d.fd), events)
		return
	}
	o.polling = pollOnce
	o.sqe.PrepPollAdd(int(d.fd), events)
}

func (o *op) pollForChanges(fd int, events uint32) {
	o.polling = pollChanges
	o.sqe.PrepPollMultishot(fd, events)
}

// pollAnswers reports whether the events are what the poll is for.
func (o *op) pollAnswers(events int32) bool {
	return uint32(events)&(o.sqe.OpFlags|unix.POLLERR|unix.POLLHUP) != 0
}

// pollItem takes in a change.
func (o *op) pollItem(events int32) {
	if events > 0 && o.polling == pollChanges && o.pollAnswers(events) {
		o.res, o.flags, o.polling = events, 0, pollAnswered
		o.disarm()
	}
}

// classifyPoll interprets the final completion of a poll, which is no failure. The kind outcomeOfRing means nothing
// yet; the poll is armed again.
func (o *op) classifyPoll() (out outcome, next reaction) {
	events, p := o.res, &policies[o.policy]
	hangup := uint32(events)&(unix.POLLRDHUP|unix.POLLHUP) != 0
	if !o.pollAnswers(events) {
		if o.over() {
			o.polling = pollNone
			return o.cancelled(), report
		}
		if uint32(events)&unix.POLLRDHUP != 0 {
			o.polled().notePeerEnd()
		}
		o.pollForChanges(int(o.sqe.Fd), o.sqe.OpFlags)
		o.arm()
		return outcome{}, report
	}
	o.polling = pollNone
	switch {
	case p.answers:
		return outcomeOf(events), report
	case hangup && p.hangup != 0:
		return failure(p.hangup), report
	case o.over():
		return o.cancelled(), report
	}
	return outcomeOf(events), retry
}

// polled returns the descriptor that the entry polls.
func (o *op) polled() *Descriptor {
	if o.second != nil && o.second.fd == o.sqe.Fd {
		return o.second
	}
	return o.on
}

// sleepFirst makes the ring wait for readiness before it tries the next receive, if the flags of the last one say that
// nothing is left to receive. The try would find nothing.
func (o *op) sleepFirst(flags uint32) {
	o.sqe.Ioprio &^= uring.RecvsendPollFirst
	if flags&uring.CQESockNonempty == 0 {
		o.sqe.Ioprio |= uring.RecvsendPollFirst
	}
}

// noteEOF takes a receive of no bytes as the end of the peer's write side, except on a socket for datagrams, where it
// is a datagram of no bytes.
func (d *Descriptor) noteEOF() {
	if !d.peerEnded && d.ended() {
		d.notePeerEnd()
	}
}

// notePeerEnd notes that the peer has closed its write side.
func (d *Descriptor) notePeerEnd() {
	if d.peerEnded {
		return
	}
	d.peerEnded = true
	if d.sending != nil {
		d.sending.disarm() // it is retried in the other way, see sendOp
	}
}

// futileSends are dormant sends that found no room although their sockets were reported to have some: they wait on one
// timer, and are all retried when it expires.
type futileSends struct {
	ids   []uint64
	timer timerqueue.Timer
}

// futileBackoff is the time that they wait.
const futileBackoff = time.Millisecond

func (l *Loop) retryLater(o *op) {
	o.state = opDormant
	f := &l.futile
	if f.ids = append(f.ids, o.id); !f.timer.Pending() {
		f.timer.Init((*retryFutile)(l))
		l.timers.Push(&f.timer, l.now+int64(futileBackoff))
	}
}

// retryFutile handles that timer of a Loop.
type retryFutile Loop

func (r *retryFutile) OnTimer(int64) {
	l := (*Loop)(r)
	ids := l.futile.ids
	l.futile.ids = nil // what is retried may become futile again
	for _, id := range ids {
		if s := l.slots.find(id); s != nil && s.op.state == opDormant { // else it was stopped
			s.op.rearm(s.run)
		}
	}
	if l.futile.ids == nil {
		l.futile.ids = ids[:0]
	}
}

// backoff is the timer on which a dormant operation waits before it is retried.
type backoff struct {
	timer timerqueue.Timer
	o     *op
}

func (b *backoff) init(o *op) {
	b.o = o
	b.timer.Init(b)
}

// begin makes the operation dormant for d.
func (b *backoff) begin(d time.Duration) {
	o := b.o
	o.state = opDormant
	o.loop.timers.Push(&b.timer, o.loop.now+int64(d))
}

// end stops the timer before the operation completes.
func (b *backoff) end() { b.o.loop.timers.Remove(&b.timer) }

// OnTimer implements [timerqueue.Handler].
func (b *backoff) OnTimer(int64) {
	if o := b.o; o.state == opDormant {
		o.rearm(o.run())
	}
}
