//go:build linux

package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// unasked are the events that a poll reports even if it does not ask for them.
const unasked = unix.POLLERR | unix.POLLHUP | unix.POLLNVAL | unix.POLLRDHUP

func (r *Ring) issuePoll(e *entry) {
	multishot := e.Len&uring.PollAddMulti != 0
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.BufIndex != 0 || e.Off != 0 || e.Addr != 0 || e.Len&^uring.PollAddMulti != 0:
		r.fail(e, unix.EINVAL)
		return
	}
	switch errno := r.arm(e.Fd, true); errno {
	case 0:
	case unix.EPERM: // it is ready now, or never
		if events := r.tmp.pollNow(e.Fd, e.OpFlags|unasked); events != 0 {
			r.finish(e, int32(events), 0)
		} else {
			r.fail(e, unix.EINVAL)
		}
		return
	default:
		r.fail(e, errno)
		return
	}
	// The events that the epoll set has by now are part of what poll will find, and must not make a multishot poll
	// report it twice.
	for multishot && r.collect(0) == eventBatch {
	}
	if r.poll(e, r.tmp.pollNow(e.Fd, e.OpFlags|unasked)) == wouldBlock {
		r.park(e, watches)
	}
}

// poll reports events to a poll entry.
func (r *Ring) poll(e *entry, events uint32) verdict {
	switch {
	case events == 0:
		return wouldBlock
	case e.Len&uring.PollAddMulti != 0:
		r.cq.push(uring.CQE{UserData: e.UserData, Res: int32(events), Flags: uring.CQEMore})
		return wouldBlock
	}
	r.finish(e, int32(events), 0)
	return completed
}

// showEvent gives each watching entry of a file an attempt. The event says what holds now; only what the epoll set is
// not asked for takes a system call.
func (r *Ring) showEvent(f *file, events uint32) {
	for e := r.entries.first(&f.watch); e != nil; {
		next := r.entries.nextOf(e)
		switch {
		case e.Opcode != uring.OpPollAdd:
			r.tryOutOfBand(e)
		case e.OpFlags&^(interest|unasked) != 0:
			r.poll(e, r.tmp.pollNow(e.Fd, e.OpFlags|unasked))
		default:
			r.poll(e, events&(e.OpFlags|unasked))
		}
		e = next
	}
}
