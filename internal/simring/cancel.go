package simring

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// cancel cancels what it matches. What is past stopping goes on, and ends by itself a little later, with
// a result if it has one by then.
func (e *entry) cancel() {
	r, k := e.ring, e.ring.k
	all := e.OpFlags&(uring.CancelAll|uring.CancelAny) != 0
	var found []*entry
	for _, v := range r.entries {
		if e.means(v) && (all || len(found) == 0) {
			found = append(found, v)
		}
	}
	res := len(found)
	var victims []*entry
	for _, v := range found {
		switch {
		case v.late:
			res = e.result(all, res, unix.EALREADY)
		case k.chance(k.Odds.CancelRace):
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
		if k.Odds.Flaw == LoseBytes && v.Opcode == uring.OpRecv && len(v.file.end.in) != 0 {
			v.file.end.in = v.file.end.in[1:]
		}
		v.finish(-int(unix.ECANCELED), 0)
	}
	if !first {
		e.finish(res, 0)
	}
}

// result is what the cancel of one entry completes with; that of many with their number.
func (e *entry) result(all bool, count int, errno unix.Errno) int {
	if all {
		return count
	}
	return -int(errno)
}

func (e *entry) means(v *entry) bool {
	switch {
	case e.OpFlags&uring.CancelAny != 0:
		return true
	case e.OpFlags&uring.CancelFd != 0:
		return v.Fd == e.Fd
	}
	return v.UserData == e.Addr
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
