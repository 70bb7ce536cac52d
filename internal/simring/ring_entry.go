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
	state entryState
	file  *file    // what it is about; nil: no open file
	from  *file    // a second file: what a splice takes from, the directory of a new name
	msg   *message // what a send sends
	moved int      // bytes, by earlier attempts
	job   *job     // nil: no worker does it

	connecting    bool // a connect that was begun
	listed        bool // it is in flight: it is one of its ring's
	uncancellable bool // a cancel has found it past stopping: it completes by itself
}

// entryState is where an entry stands between its attempts.
//
//	attempted, waits --poked by its file--> runnable, or first delayed (see Odds.LateCompletion)
//	delayed --after some time--> runnable
//	runnable --Ring.work attempts it--> waiting, or completed
//	any --its final completion is made--> completed
type entryState uint8

const (
	waiting entryState = iota
	delayed
	runnable
	completed
)

// operation is how an opcode is carried out.
type operation struct {
	at   func(e *entry) // immediately, and without a file; nil: as try says
	try  func(e *entry) // an attempt, on the file of SQE.Fd, as often as it takes
	wait uint32         // the events that it waits for, if it can be told to poll first
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

// simulated reports whether an opcode can be carried out.
func simulated(op uring.Op) bool {
	return int(op) < len(operations) && (operations[op].at != nil || operations[op].try != nil)
}

// wake makes the ring attempt the entry again, immediately or later.
func (e *entry) wake() {
	switch {
	case e.job != nil:
		e.job.wake()
	case e.state != waiting:
	case e.ring.k.chance(e.ring.k.Odds.LateCompletion):
		e.state = delayed
		e.ring.k.soon(func() {
			if e.state == delayed {
				e.become()
			}
		})
	default:
		e.become()
	}
}

// become makes the entry runnable.
func (e *entry) become() {
	e.state = runnable
	e.ring.ready = append(e.ring.ready, e)
}

// issue starts an entry that was submitted.
func (e *entry) issue() {
	if e.ring.refuses(e) {
		e.fail(unix.EACCES)
		return
	}
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
	r := e.ring
	r.entries[e.UserData] = append(r.entries[e.UserData], e)
	r.inFlight++
	e.listed = true
	for _, f := range []*file{e.file, e.from} {
		if f != nil {
			f.entries = append(f.entries, e)
		}
	}
}

func (e *entry) attempt() {
	k := e.ring.k
	before := k.attempting
	k.attempting = e.ring
	operations[e.Opcode].try(e)
	k.attempting = before
}

func (e *entry) fail(errno unix.Errno) { e.finish(-int(errno), 0) }

// finish makes the final completion. An error after bytes were moved is reported as their number.
func (e *entry) finish(res int, flags uint32) {
	if res < 0 && e.moved != 0 {
		res = e.moved
	}
	e.state = completed
	e.delist()
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

// delist makes the entry one that is no longer in flight.
func (e *entry) delist() {
	if !e.listed {
		return
	}
	r := e.ring
	e.listed = false
	r.inFlight--
	if left := without(r.entries[e.UserData], e); len(left) > 0 {
		r.entries[e.UserData] = left
	} else {
		delete(r.entries, e.UserData)
	}
}

func without(list []*entry, e *entry) []*entry {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// item makes a completion of a multishot entry, which may be its final one.
func (e *entry) item(res int, flags uint32) {
	if k := e.ring.k; e.ring.full() || k.chance(k.Odds.EndMultishot) {
		e.finish(res, flags)
		return
	}
	e.ring.post(e, int32(res), flags|uring.CQEMore)
}

// wait leaves the entry in flight until its file pokes it, unless the wait is futile.
func (e *entry) wait() {
	if k := e.ring.k; k.chance(k.Odds.FutileWait / 10) {
		e.fail(unix.EAGAIN)
	}
}

// awaitRoom waits with an entry that needs room. The kernel takes the peer's FIN for readiness: it tries the entry
// again and again, and at last on a worker thread, which does not wait on a non-blocking file.
func (e *entry) awaitRoom() {
	if e.file.nonblocking() && e.file.events()&unix.POLLRDHUP != 0 {
		e.fail(unix.EAGAIN)
		return
	}
	e.wait()
}
