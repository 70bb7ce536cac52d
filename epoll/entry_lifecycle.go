//go:build linux

package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
)

// park leaves an issued entry in flight, in a list if its state has one.
func (r *Ring) park(e *entry, s entryState) {
	e.to(s)
	if l := r.listOf(e); l != nil {
		r.entries.append(l, e)
	}
	r.byUserData.insert(&r.entries, e)
	onFd, onFileIndex := e.countsOn()
	if onFd {
		f := r.files.at(e.Fd)
		if assert.Enabled && f.is(closeRequested) {
			panic("epoll: an entry is parked on a closed descriptor")
		}
		f.inFlight++
		if s == waitsForInput && f.is(listening|receiveShut) {
			f.tryInput() // no event will say what becomes of it
		}
	}
	if onFileIndex {
		r.files.at(e.FileIndex).inFlight++
	}
}

// unpark undoes park. It may close the descriptor, if a close came while entries were in flight.
func (r *Ring) unpark(e *entry) {
	if l := r.listOf(e); l != nil {
		r.entries.remove(l, e)
	}
	e.to(issued)
	e.flags &^= onSource
	r.byUserData.remove(&r.entries, e)
	onFd, onFileIndex := e.countsOn()
	if onFd {
		if e.is(writesPlain) {
			r.endWrite(e)
		}
		r.leave(e.Fd)
	}
	if onFileIndex {
		r.leave(e.FileIndex)
	}
}

// move takes an entry in flight to another state. where is onSource for a splice that waits for its source, or else 0.
func (r *Ring) move(e *entry, s entryState, where entryFlags) {
	if l := r.listOf(e); l != nil {
		r.entries.remove(l, e)
	}
	e.flags = e.flags&^onSource | where
	e.to(s)
	if l := r.listOf(e); l != nil {
		r.entries.append(l, e)
	}
}

// listOf returns the list of the state that an entry is in; nil if the state has none.
func (r *Ring) listOf(e *entry) *list {
	switch e.state {
	case pooled:
		return nil
	case waitsForChild:
		return &r.children.waiting
	}
	return r.files.at(e.host()).listOf(e.state)
}

// finish posts the final completion of an entry and frees it.
func (r *Ring) finish(e *entry, res int32, flags uint32) {
	if e.state.inFlight() {
		r.unpark(e)
	}
	if e.is(notifies) {
		r.notify(e, res)
	} else {
		r.cq.push(uring.CQE{UserData: e.UserData, Res: res, Flags: flags})
	}
	r.messages.release(e)
	r.entries.release(e)
}

// post posts a completion of a multishot entry, which stays in flight. It goes behind the others in its list.
func (r *Ring) post(e *entry, res int32, flags uint32) {
	e.flags |= postedItem
	r.cq.push(uring.CQE{UserData: e.UserData, Res: res, Flags: flags | uring.CQEMore})
	if e.state.inFlight() && e.next != 0 {
		l := r.listOf(e)
		r.entries.remove(l, e)
		r.entries.append(l, e)
	}
}

// fail finishes an entry with an error; or, as the kernel does, with the number of bytes that it has moved already.
func (r *Ring) fail(e *entry, errno unix.Errno) {
	res, flags := -int32(errno), uint32(0)
	if e.done != 0 {
		res, flags = int32(e.done), r.groups.use(e)
	}
	r.groups.drop(e)
	r.finish(e, res, flags)
}

// finishCall finishes an entry with the result of a system call.
func (r *Ring) finishCall(e *entry, n int) { r.finish(e, int32(n), 0) }
