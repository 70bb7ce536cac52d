package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// always are the events that a poll reports without being asked.
const always = unix.POLLERR | unix.POLLHUP | unix.POLLNVAL | unix.POLLRDHUP

func (r *Ring) issuePoll(i uint32) {
	e := r.slab.at(i)
	multishot := e.Len&uring.PollAddMulti != 0
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.BufIndex != 0 || e.Off != 0 || e.Addr != 0 || e.Len&^uring.PollAddMulti != 0,
		multishot && e.Flags&uring.SQECQESkipSuccess != 0:
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

// issuePollRemove ends a poll, or changes it and starts it anew.
func (r *Ring) issuePollRemove(i uint32) {
	e := r.slab.at(i)
	const known = uring.PollUpdateEvents | uring.PollUpdateUserData | uring.PollAddMulti
	events, userData := e.Len&uring.PollUpdateEvents != 0, e.Len&uring.PollUpdateUserData != 0
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.BufIndex != 0 || e.FileIndex != 0 || e.Len&^known != 0 || e.Len == uring.PollAddMulti,
		!userData && e.Off != 0, !events && e.OpFlags != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	v := r.users.first(e.Addr)
	for v != 0 && (r.slab.at(v).UserData != e.Addr || r.slab.at(v).Opcode != uring.OpPollAdd) {
		v = r.slab.at(v).chain
	}
	if v == 0 {
		r.fail(i, unix.ENOENT)
		return
	}
	if !events && !userData {
		r.finish(i, 0, 0)
		r.fail(v, unix.ECANCELED)
		return
	}
	p := r.slab.at(v)
	r.users.remove(&r.slab, v)
	if events {
		p.OpFlags = p.OpFlags&^0xffff | e.OpFlags&0xffff
	}
	if userData {
		p.UserData = e.Off
	}
	r.users.insert(&r.slab, v)
	r.settle(p)
	r.poll(v)
	r.finish(i, 0, 0)
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
