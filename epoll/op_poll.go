package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// always are the events that a poll reports without being asked.
const always = unix.POLLERR | unix.POLLHUP | unix.POLLNVAL | unix.POLLRDHUP

func (r *Ring) issuePoll(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.BufIndex != 0 || e.Off != 0 || e.Addr != 0 || e.Len&^uring.PollAddMulti != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	switch errno := r.arm(e.Fd, true); errno {
	case 0:
	case unix.EPERM: // it is ready now, or never
		if events := r.events(e.Fd, e.OpFlags|always); events != 0 {
			r.finish(i, int32(events), 0)
		} else {
			r.fail(i, unix.EINVAL)
		}
		return
	default:
		r.fail(i, errno)
		return
	}
	r.settle(r.slab.at(i))
	if r.poll(i) == wouldBlock {
		r.park(i, watching)
	}
}

// settle precedes a first look for a poll entry: what the epoll set has to say by now is part of what will be
// seen, and must not make a multishot poll say it twice.
func (r *Ring) settle(e *entry) {
	for e.Len&uring.PollAddMulti != 0 && r.collect(0) == eventBatch {
	}
}

// poll looks at a descriptor for a poll entry.
func (r *Ring) poll(i uint32) verdict {
	e := r.slab.at(i)
	events := r.events(e.Fd, e.OpFlags|always)
	switch {
	case events == 0:
		return wouldBlock
	case e.Len&uring.PollAddMulti != 0:
		r.cq.push(uring.CQE{UserData: e.UserData, Res: int32(events), Flags: uring.CQEMore})
		return wouldBlock
	}
	r.finish(i, int32(events), 0)
	return finished
}

// show lets the watchers of fd look at it.
func (r *Ring) show(fd int32) {
	for i := r.files.at(fd).watch.head; i != 0; {
		next := r.slab.at(i).next
		if r.slab.at(i).Opcode == uring.OpPollAdd {
			r.poll(i)
		} else {
			r.tryOutOfBand(i)
		}
		i = next
	}
}
