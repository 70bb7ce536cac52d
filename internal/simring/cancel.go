package simring

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// cancel cancels what it matches. What is past stopping goes on, and ends by itself a little later, with
// a result if it has one by then.
func (c *entry) cancel() {
	r, k := c.ring, c.ring.k
	all := c.OpFlags&(uring.CancelAll|uring.CancelAny) != 0
	var found []*entry
	for _, e := range r.entries {
		if c.means(e) && (all || len(found) == 0) {
			found = append(found, e)
		}
	}
	res := len(found)
	var victims []*entry
	for _, e := range found {
		switch {
		case e.late:
			res = c.result(all, res, unix.EALREADY)
		case k.chance(k.Odds.CancelRace):
			e.late = true
			k.soon(e.endLate)
			res = c.result(all, res, unix.EALREADY)
		default:
			victims = append(victims, e)
			res = c.result(all, res, 0)
		}
	}
	if len(found) == 0 && !all {
		res = -int(unix.ENOENT)
	}
	first := k.rng.IntN(2) == 0
	if first {
		c.finish(res, 0)
	}
	for _, e := range victims {
		if k.Odds.Flaw == LoseBytes && e.Opcode == uring.OpRecv && len(e.file.end.in) != 0 {
			e.file.end.in = e.file.end.in[1:]
		}
		e.finish(-int(unix.ECANCELED), 0)
	}
	if !first {
		c.finish(res, 0)
	}
}

// result is what the cancel of one entry completes with; that of many with their number.
func (c *entry) result(all bool, count int, errno unix.Errno) int {
	if all {
		return count
	}
	return -int(errno)
}

func (c *entry) means(e *entry) bool {
	switch {
	case c.OpFlags&uring.CancelAny != 0:
		return true
	case c.OpFlags&uring.CancelFd != 0:
		return e.Fd == c.Fd
	}
	return e.UserData == c.Addr
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
