package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const cancelFlags = uring.CancelAll | uring.CancelFd | uring.CancelAny | uring.CancelFdFixed | uring.CancelUserData | uring.CancelOp

// issueCancel cancels what is in flight. As with the kernel its own completion comes first, then those
// of what it has reached. What the pool has begun is past stopping, and completes by itself.
func (r *Ring) issueCancel(i uint32) {
	e := r.slab.at(i)
	if errno := r.badCancel(e); errno != 0 {
		r.fail(i, errno)
		return
	}
	all := e.OpFlags&(uring.CancelAll|uring.CancelAny) != 0
	count, late := r.find(e, all)
	res := int32(count)
	if !all {
		switch {
		case late != 0:
			res = -int32(unix.EALREADY)
		case count == 0:
			res = -int32(unix.ENOENT)
		default:
			res = 0
		}
	} else {
		res += int32(late)
	}
	r.finish(i, res, 0)
	for _, v := range r.victims {
		r.fail(v, unix.ECANCELED)
	}
}

func (r *Ring) badCancel(e *entry) unix.Errno {
	flags := e.OpFlags
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		return unix.EOPNOTSUPP
	case e.Ioprio != 0 || e.Off != 0 || e.FileIndex != 0 || flags&^cancelFlags != 0,
		flags&uring.CancelAny != 0 && flags&(uring.CancelFd|uring.CancelOp) != 0:
		return unix.EINVAL
	case flags&uring.CancelFd == 0:
		return 0
	case flags&uring.CancelFdFixed != 0 || e.Flags&uring.SQEFixedFile != 0:
		return unix.EBADF // there are no registered files
	}
	if f := r.file(e.Fd); f != nil && f.live != 0 && f.state&closing == 0 {
		return 0
	}
	return r.open(e.Fd)
}

// find collects in r.victims what a cancel reaches: all of it or the first. It returns their number,
// and that of the matches which are past stopping.
func (r *Ring) find(c *entry, all bool) (count, late int) {
	r.victims = r.victims[:0]
	flags := c.OpFlags
	switch {
	case flags&(uring.CancelAny|uring.CancelFd) == uring.CancelFd:
		if f := r.file(c.Fd); f != nil {
			for at := waitingIn; at <= pooled && (all || len(r.victims)+late == 0); at++ {
				for i := f.listOf(at).head; i != 0; i = r.slab.at(i).next {
					if r.reach(c, i, &late) && !all {
						break
					}
				}
			}
		}
		if r.guests != 0 && (all || len(r.victims)+late == 0) {
			r.findGuests(c, all, &late)
		}
	case flags&(uring.CancelAny|uring.CancelOp) == 0:
		for i := r.users.first(c.Addr); i != 0; i = r.slab.at(i).chain {
			if r.reach(c, i, &late) && !all {
				break
			}
		}
	default:
		for i := uint32(1); i <= r.used; i++ {
			if r.reach(c, i, &late) && !all {
				break
			}
		}
	}
	return len(r.victims), late
}

// reach reports whether the entry is one that the cancel c means, and makes it a victim, or counts it
// as late.
func (r *Ring) reach(c *entry, i uint32, late *int) bool {
	e := r.slab.at(i)
	if !e.at.inFlight() || !c.means(e) {
		return false
	}
	if (e.at == pooled || e.at == unfiled) && !r.pool.cancel(i) {
		*late++
	} else {
		r.victims = append(r.victims, i)
	}
	return true
}

// means reports whether the cancel matches an entry. See io_uring_prep_cancel(3).
func (e *entry) means(target *entry) bool {
	flags := e.OpFlags
	switch {
	case flags&uring.CancelAny != 0:
		return true
	case flags&uring.CancelFd != 0 && target.Fd != e.Fd,
		flags&uring.CancelOp != 0 && uint32(target.Opcode) != e.Len:
		return false
	}
	byUserData := flags&uring.CancelUserData != 0 || flags&(uring.CancelFd|uring.CancelOp) == 0
	return !byUserData || target.UserData == e.Addr
}
