package simring

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// cancel cancels what it matches. What is past stopping goes on, and ends by itself a little later, with
// a result if it has one by then; so does what a worker has begun.
func (e *entry) cancel() {
	r, k := e.ring, e.ring.k
	target, errno := e.target()
	if errno != 0 {
		e.fail(errno)
		return
	}
	all := e.OpFlags&(uring.CancelAll|uring.CancelAny) != 0
	var found []*entry
	for _, v := range r.entries {
		if e.means(v, target) && (all || len(found) == 0) {
			found = append(found, v)
		}
	}
	res := len(found)
	var victims []*entry
	for _, v := range found {
		switch {
		case v.late:
			res = e.result(all, res, unix.EALREADY)
		case v.job != nil && !v.job.cancel():
			res = e.result(all, res, unix.EALREADY)
		case v.job == nil && k.chance(k.Odds.CancelRace):
			v.late = true
			k.soon(v.endLate)
			res = e.result(all, res, unix.EALREADY)
		default:
			victims = append(victims, v)
			res = e.result(all, res, 0)
		}
	}
	if len(found) == 0 && !all {
		res = -int(unix.ENOENT)
	}
	first := k.rng.IntN(2) == 0
	if first {
		e.finish(res, 0)
	}
	for _, v := range victims {
		if v.job == nil && k.flawed(LoseCancels) {
			continue
		}
		if t, ok := v.stream(); ok && k.Odds.Flaw == LoseBytes && v.Opcode == uring.OpRecv && len(t.in) != 0 {
			t.in = t.in[1:]
		}
		v.finish(-int(unix.ECANCELED), 0)
	}
	if !first {
		e.finish(res, 0)
	}
}

// stream is the entry's connection.
func (e *entry) stream() (t *tcp, ok bool) {
	if e.file != nil {
		t, ok = e.file.object.(*tcp)
	}
	return t, ok
}

// target is the open file that a cancel is about, if it is about one.
func (e *entry) target() (*file, unix.Errno) {
	const fd, all, op = uring.CancelFd, uring.CancelAny, uring.CancelOp
	const known = uring.CancelAll | fd | all | uring.CancelFdFixed | uring.CancelUserData | op
	switch {
	case e.Off != 0 || e.FileIndex != 0 || e.OpFlags&^known != 0:
		return nil, unix.EINVAL
	case e.OpFlags&all != 0 && e.OpFlags&(fd|op) != 0:
		return nil, unix.EINVAL
	case e.OpFlags&fd == 0:
		return nil, 0
	}
	if f := e.ring.k.file(int(e.Fd)); f != nil && e.OpFlags&uring.CancelFdFixed == 0 {
		return f, 0
	}
	return nil, unix.EBADF
}

// result is what the cancel of one entry completes with; that of many with their number.
func (e *entry) result(all bool, count int, errno unix.Errno) int {
	if all {
		return count
	}
	return -int(errno)
}

// means: a cancel matches an entry, as io_cancel_req_match() in the kernel has it.
func (e *entry) means(v *entry, target *file) bool {
	const fd, op = uring.CancelFd, uring.CancelOp
	flags := e.OpFlags
	userData := flags&uring.CancelUserData != 0 || flags&(fd|op) == 0
	switch {
	case flags&uring.CancelAny != 0:
		return true
	case flags&fd != 0 && v.file != target:
		return false
	case flags&op != 0 && v.Opcode != uring.Op(e.Len):
		return false
	}
	return !userData || v.UserData == e.Addr
}

func (e *entry) endLate() {
	if e.over {
		return
	}
	if e.woken || e.Opcode != uring.OpPollAdd {
		e.attempt()
	}
	if !e.over {
		k := e.ring.k
		e.finish(-int([2]unix.Errno{unix.ECANCELED, unix.EINTR}[k.rng.IntN(2)]), 0)
	}
}
