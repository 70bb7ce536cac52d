package simring

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// cancel cancels the entry with the user_data that SQE.Addr says. It completes with 0, with ENOENT if there is no such
// entry, or if it is not found because it is between a poll and a retry, or with EALREADY if a worker tries it at this
// moment and polls for it again then, or if the target can no longer be stopped: that one then completes by itself a
// little later, with a result if it has one by then. The two completions come in any order.
func (e *entry) cancel() {
	k, target := e.ring.k, e.target()
	var errno unix.Errno
	cancelled := false
	switch {
	case e.OpFlags != 0:
		errno = unix.EINVAL
	case target == nil:
		errno = unix.ENOENT
	case k.chance(k.Odds.MissedCancel):
		errno = [2]unix.Errno{unix.ENOENT, unix.EALREADY}[k.rng.IntN(2)]
	case target.uncancellable:
		errno = unix.EALREADY
	case target.job != nil:
		if cancelled = target.job.cancel(); !cancelled {
			errno = unix.EALREADY
		}
	case k.chance(k.Odds.CancelRace):
		target.uncancellable = true
		k.soon(target.completeUncancelled)
		errno = unix.EALREADY
	default:
		cancelled = !k.flawed(LoseCancels)
	}
	completions := []func(){func() { e.fail(errno) }}
	if cancelled {
		completions = append(completions, target.cancelled)
	}
	if len(completions) == 2 && k.rng.IntN(2) == 0 {
		slices.Reverse(completions)
	}
	for _, complete := range completions {
		complete()
	}
}

// target returns the entry that a cancel names; nil if it is not in flight.
func (e *entry) target() *entry {
	if all := e.ring.entries[e.Addr]; len(all) > 0 {
		return all[0]
	}
	return nil
}

func (e *entry) cancelled() {
	if t, ok := e.stream(); ok && e.ring.k.Odds.Flaw == LoseBytes && e.Opcode == uring.OpRecv && t.in.len() != 0 {
		t.in.drop(&t.k.queues, 1)
	}
	e.fail(unix.ECANCELED)
}

// stream returns the entry's connection.
func (e *entry) stream() (t *tcp, ok bool) {
	if e.file != nil {
		t, ok = e.file.object.(*tcp)
	}
	return t, ok
}

// completeUncancelled completes an entry that a cancel found past stopping.
func (e *entry) completeUncancelled() {
	if e.state == completed {
		return
	}
	if e.state != waiting || e.Opcode != uring.OpPollAdd {
		e.attempt()
	}
	if e.state != completed {
		k := e.ring.k
		e.finish(-int([2]unix.Errno{unix.ECANCELED, unix.EINTR}[k.rng.IntN(2)]), 0)
	}
}
