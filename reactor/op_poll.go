package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// waiting is how an operation waits for its descriptor by polls.
//
// A poll of the ring always tells of POLLRDHUP too, which holds for ever once the peer has sent its end. To who waits
// for room that is no answer: it would find none, and poll again, for as long as the peer does not read. So when
// there is nothing else to tell, a multishot poll follows, which tells what has changed only.
type waiting struct {
	events uint32 // what is an answer; 0: the entry is not a poll
	told   int32  // what the multishot poll has answered; 0: nothing yet
}

// poll makes the entry, which is to be armed, one that waits for events of d, or for an error.
func (w *waiting) poll(o *op, d *Descriptor, events uint32) {
	*w = waiting{events: events | unix.POLLERR | unix.POLLHUP}
	if d.peerEnded && events&unix.POLLIN == 0 {
		o.sqe.PrepPollMultishot(int(d.fd), events)
	} else {
		o.sqe.PrepPollAdd(int(d.fd), events)
	}
}

// item takes in what the multishot poll tells.
func (w *waiting) item(o *op, res int32) {
	if uint32(res)&w.events != 0 {
		w.told = res
		o.disarm()
	}
}

// answered takes in the final completion of a poll, and leaves in res what it has answered, or why it has not. False:
// the wait goes on.
func (w *waiting) answered(o *op, d *Descriptor) bool {
	switch events := uint32(max(o.res, 0)); {
	case events&w.events != 0:
	case w.told != 0:
		o.res = w.told
	case o.res < 0:
	case o.over():
		o.res = -int32(syscall.ECANCELED)
	default: // the peer's end, or the ring has ended the multishot poll for reasons of its own
		if events&unix.POLLRDHUP != 0 {
			d.noteEnd()
		}
		o.sqe.PrepPollMultishot(int(d.fd), w.events)
		o.arm()
		return false
	}
	w.events = 0
	return true
}

// polls: the entry is a poll.
func (w *waiting) polls() bool { return w.events != 0 }
