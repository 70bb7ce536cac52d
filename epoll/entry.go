package epoll

import (
	"math/bits"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
)

// entry is an operation in flight: the submission entry, and what the ring adds to it. Entries live in
// one slab and name each other by index, so that the garbage collector has nothing to follow. Index 0
// is nobody.
type entry struct {
	core
	done  uint32 // bytes moved by earlier attempts
	next  uint32 // neighbours in the list of its place (see list); next alone links the free ones
	prev  uint32
	chain uint32 // the next one in its bucket of the user_data table
	msg   uint32 // its private message (see message), index into Ring.messages
	buf   uint16 // the provided buffer it holds, if holds is set
	at    place
	mark  mark
}

// entries is a slab of them.
type entries = pages[uint32, entry]

// core is all of a submission entry that means something to an opcode of this ring: the beginning of a
// uring.SQE.
type core struct {
	Opcode      uring.Op
	Flags       uint8
	Ioprio      uint16
	Fd          int32
	Off         uint64
	Addr        uint64
	Len         uint32
	OpFlags     uint32
	UserData    uint64
	BufIndex    uint16
	Personality uint16
	FileIndex   int32
	Addr3       uint64
}

// The layouts must agree.
const _ = -(unsafe.Offsetof(core{}.Addr3) ^ unsafe.Offsetof(uring.SQE{}.Addr3))

// place says where an entry is.
type place uint8

const (
	nowhere    place = iota // free
	queued                  // pushed, not submitted
	issued                  // being submitted
	waitingIn               // in its file's list of entries that receive or accept
	waitingOut              // in its file's list of entries that send or connect
	watching                // in its file's list of polls and out-of-band receives
	pooled                  // in the pool, for its file
	unfiled                 // in the pool, for no descriptor
	expecting               // in the list of entries that wait for a child process
)

// inFlight reports whether an entry there can be cancelled.
func (p place) inFlight() bool { return p >= waitingIn }

type mark uint8

const (
	holds      mark = 1 << iota // it holds a provided buffer between two attempts
	connecting                  // connect(2) said EINPROGRESS
	aborted                     // connect(2) said ECONNABORTED
	posted                      // a completion was posted, and what it is for has not been looked for again
	notifies                    // its completion is followed by a notification
	onSource                    // a splice that is in the lists of the descriptor it takes from
	writing                     // the one write of its plain file that is at work
	unasked                     // an open with O_NONBLOCK that nobody asked for
)

// list is a FIFO of entries, linked through them: forwards to 0, and backwards from the head to the tail.
type list struct{ head uint32 }

func (r *Ring) append(l *list, i uint32) {
	e := r.slab.at(i)
	e.next = 0
	if l.head == 0 {
		l.head, e.prev = i, i
		return
	}
	head := r.slab.at(l.head)
	e.prev = head.prev
	r.slab.at(head.prev).next = i
	head.prev = i
}

func (r *Ring) unlink(l *list, i uint32) {
	e := r.slab.at(i)
	if e.next != 0 {
		r.slab.at(e.next).prev = e.prev
	} else {
		r.slab.at(l.head).prev = e.prev
	}
	if l.head == i {
		l.head = e.next
	} else {
		r.slab.at(e.prev).next = e.next
	}
}

// take makes an entry of a submission.
func (r *Ring) take(sqe *uring.SQE) uint32 {
	i := r.free
	if i == 0 {
		r.used++
		i = r.used
		if !r.slab.has(i) {
			r.slab.make(i)
		}
	} else {
		r.free = r.slab.at(i).next
	}
	e := r.slab.at(i)
	if assert.Enabled && e.at != nowhere {
		panic("epoll: an entry in flight is on the free list")
	}
	e.core = *(*core)(unsafe.Pointer(sqe))
	e.done, e.msg, e.at, e.mark = 0, 0, queued, 0
	return i
}

// give frees an entry.
func (r *Ring) give(i uint32) {
	e := r.slab.at(i)
	if assert.Enabled && (e.at == nowhere || e.at.inFlight() || e.mark&holds != 0) {
		panic("epoll: an entry is freed twice, or while it is in flight or holds a buffer")
	}
	if e.msg != 0 {
		r.dropMessage(e.msg)
	}
	e.at, e.next = nowhere, r.free
	r.free = i
}

// park leaves an entry waiting in a list of its file or of the ring.
func (r *Ring) park(i uint32, at place) {
	e := r.slab.at(i)
	if assert.Enabled && e.at != issued {
		panic("epoll: an entry is parked twice")
	}
	e.at = at
	r.append(r.listOf(e), i)
	r.users.insert(&r.slab, i)
	if at >= unfiled {
		return
	}
	f := r.files.at(e.Fd)
	f.live++
	if assert.Enabled && f.state&closing != 0 {
		panic("epoll: an entry is parked on a closed descriptor")
	}
	if at == waitingIn && f.state&(listens|shut) != 0 {
		f.state |= readable // no event will tell what becomes of it
	}
	if e.moves() {
		r.files.at(e.FileIndex).live++
	}
}

// unpark undoes park. It may close the descriptor, if a close came while entries were in flight.
func (r *Ring) unpark(i uint32) {
	e := r.slab.at(i)
	at := e.at
	r.unlink(r.listOf(e), i)
	e.at = issued
	r.users.remove(&r.slab, i)
	if at >= unfiled {
		return
	}
	e.mark &^= onSource
	if e.mark&writing != 0 {
		r.written(e)
	}
	r.leave(e.Fd)
	if e.moves() {
		r.leave(e.FileIndex)
	}
}

// move takes an entry in flight to another place of the same file.
func (r *Ring) move(i uint32, to place) {
	e := r.slab.at(i)
	r.unlink(r.listOf(e), i)
	e.at = to
	r.append(r.listOf(e), i)
}

// leave counts one entry less on a descriptor, and closes it if that was the last and a close has come.
func (r *Ring) leave(fd int32) {
	f := r.files.at(fd)
	f.live--
	if f.live == 0 && f.state&closing != 0 {
		r.close(fd)
	}
}

// moves reports whether the entry is in flight on two descriptors, Fd and FileIndex.
func (e *entry) moves() bool { return e.Opcode == uring.OpSplice || e.Opcode == uring.OpTee }

// host is the descriptor whose lists an entry is in.
func (e *entry) host() int32 {
	if e.mark&onSource != 0 {
		return e.FileIndex
	}
	return e.Fd
}

// listOf returns the list of the place where an entry is.
func (r *Ring) listOf(e *entry) *list {
	switch e.at {
	case unfiled:
		return &r.unfiled
	case expecting:
		return &r.expecting
	}
	return r.files.at(e.host()).listOf(e.at)
}

// users finds entries in flight by their user_data: a hash table chained through the slab. The latest
// of equal ones comes first, as with the kernel.
type users struct {
	buckets []uint32 // their number is a power of two
	shift   uint     // 64 − log2 of it
	count   int
}

func (u *users) init(n int) {
	u.buckets = make([]uint32, n)
	u.shift = uint(64 - bits.TrailingZeros(uint(n)))
}

// bucket hashes by multiplication with the golden ratio: user_data is often a small counter in the
// high or the low bits.
func (u *users) bucket(userData uint64) *uint32 {
	return &u.buckets[userData*0x9E3779B97F4A7C15>>u.shift]
}

func (u *users) insert(slab *entries, i uint32) {
	if u.count == len(u.buckets) {
		u.grow(slab)
	}
	b := u.bucket(slab.at(i).UserData)
	slab.at(i).chain = *b
	*b = i
	u.count++
}

func (u *users) remove(slab *entries, i uint32) {
	p := u.bucket(slab.at(i).UserData)
	for *p != i {
		if assert.Enabled && *p == 0 {
			panic("epoll: an entry in flight is not in the user_data table")
		}
		p = &slab.at(*p).chain
	}
	*p = slab.at(i).chain
	u.count--
}

// find returns the latest entry with a user_data; 0: there is none.
func (u *users) find(slab *entries, userData uint64) uint32 {
	i := *u.bucket(userData)
	for i != 0 && slab.at(i).UserData != userData {
		i = slab.at(i).chain
	}
	return i
}

func (u *users) grow(slab *entries) {
	old := u.buckets
	u.init(2 * len(old))
	for _, i := range old {
		// Insert the chain from its end, to keep the order of equal ones.
		var rev uint32
		for i != 0 {
			i, slab.at(i).chain, rev = slab.at(i).chain, rev, i
		}
		for rev != 0 {
			next := slab.at(rev).chain
			b := u.bucket(slab.at(rev).UserData)
			slab.at(rev).chain = *b
			*b = rev
			rev = next
		}
	}
}
