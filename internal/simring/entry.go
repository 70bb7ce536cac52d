package simring

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// entry is an operation in flight.
type entry struct {
	uring.SQE
	ring  *Ring
	file  *file    // what it is about; nil: no open file
	from  *file    // what a splice takes from
	msg   *message // what a send sends
	moved int      // bytes, by earlier attempts
	begun bool     // a connect that was begun
	woken bool
	later bool // it was woken, but goes on a little later
	late  bool // a cancel has found it past stopping
	over  bool // its final completion is made

	job *job // nil: it is not for a worker
}

// operation is how an opcode is carried out.
type operation struct {
	at   func(e *entry) // at once, without a file; nil: as try says
	try  func(e *entry) // again and again, until it is over, on the file of SQE.Fd
	wait uint32         // the events that it waits for, which says that it can be told to wait first
}

// operations are all, by opcode.
var operations [64]operation

func init() {
	for _, table := range []map[uring.Op]operation{socketOperations, dataOperations, diskOperations, ringOperations} {
		for op, how := range table {
			operations[op] = how
		}
	}
}

// simulated: the opcode is one of those that are.
func simulated(op uring.Op) bool {
	return int(op) < len(operations) && (operations[op].at != nil || operations[op].try != nil)
}

func (e *entry) able() bool { return e.woken && !e.later && !e.over }

// wake lets the entry be gone on with, at once or later.
func (e *entry) wake() {
	if e.job != nil {
		e.job.wake()
		return
	}
	if e.woken || e.over {
		return
	}
	e.woken = true
	if k := e.ring.k; k.chance(k.Odds.LateCompletion) {
		e.later = true
		k.soon(func() { e.later = false })
	}
}

// issue starts an entry that was submitted.
func (e *entry) issue() {
	if e.ring.lacks(e) {
		e.fail(unix.EINVAL)
		return
	}
	k, op := e.ring.k, &operations[e.Opcode]
	if op.at != nil {
		op.at(e)
		return
	}
	if e.file = k.file(int(e.Fd)); e.file == nil {
		e.fail(unix.EBADF)
		return
	}
	e.enlist()
	if op.wait != 0 && e.Ioprio&uring.RecvsendPollFirst != 0 {
		if e.file.events()&(op.wait|unix.POLLERR|unix.POLLHUP|unix.POLLRDHUP) != 0 {
			e.wake()
		}
		return
	}
	e.attempt()
}

// enlist makes the entry one that is in flight.
func (e *entry) enlist() {
	e.ring.entries = append(e.ring.entries, e)
	for _, f := range []*file{e.file, e.from} {
		if f != nil {
			f.entries = append(f.entries, e)
		}
	}
}

// attempt goes on with the entry.
func (e *entry) attempt() { operations[e.Opcode].try(e) }

func (e *entry) fail(errno unix.Errno) { e.finish(-int(errno), 0) }

// finish makes the final completion. If it is an error after bytes were moved, those are the result.
func (e *entry) finish(res int, flags uint32) {
	if res < 0 && e.moved != 0 {
		res = e.moved
	}
	e.over = true
	e.ring.entries = without(e.ring.entries, e)
	if e.Opcode == uring.OpWaitid {
		e.ring.k.waiting = without(e.ring.k.waiting, e)
	}
	for _, f := range []*file{e.file, e.from} {
		if f != nil {
			f.entries = without(f.entries, e)
		}
	}
	if e.zeroCopy() {
		flags |= uring.CQEMore
	}
	e.ring.post(e, int32(res), flags)
	if e.zeroCopy() {
		e.notify()
	}
}

func without(list []*entry, e *entry) []*entry {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// item makes a completion of a multishot entry. False: the entry has ended with it.
func (e *entry) item(res int, flags uint32) bool {
	if k := e.ring.k; e.ring.full() || k.chance(k.Odds.EndMultishot) {
		e.finish(res, flags)
		return false
	}
	e.ring.post(e, int32(res), flags|uring.CQEMore)
	return true
}

// wait leaves the entry waiting, unless it gives up.
func (e *entry) wait() {
	if k := e.ring.k; k.chance(k.Odds.FutileWait / 10) {
		e.fail(unix.EAGAIN)
	}
}

// awaitRoom leaves the entry waiting for room. The end of what the peer sends counts as readiness, so that an entry
// is tried again and again then, and at last on a worker thread, which does not wait on a non-blocking file.
func (e *entry) awaitRoom() {
	if e.file.nonblocking() && e.file.events()&unix.POLLRDHUP != 0 {
		e.fail(unix.EAGAIN)
		return
	}
	e.wait()
}
