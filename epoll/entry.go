package epoll

import (
	"math/bits"

	"github.com/reactord/reactord/uring"
)

// entry is an operation in flight: the submission entry, and what the ring adds to it. Entries live in
// one slab and name each other by index, so that the garbage collector has nothing to follow. Index 0
// is nobody.
type entry struct {
	uring.SQE
	done  uint32 // bytes moved by earlier attempts
	next  uint32 // neighbours in the list of its place; next alone links the free ones
	prev  uint32
	chain uint32 // the next one in its bucket of the user_data table
	msg   uint32 // its private message (see message), index into Ring.messages
	buf   uint16 // the provided buffer it holds, if holds is set
	at    place
	mark  mark
}

// place says where an entry is.
type place uint8

const (
	nowhere    place = iota // free
	queued                  // pushed, not submitted
	issued                  // being submitted
	waitingIn               // in its file's list of entries that receive or accept
	waitingOut              // in its file's list of entries that send or connect
	watching                // in its file's list of polls and out-of-band receives
	pooled                  // in the pool
)

// inFlight reports whether an entry there can be cancelled.
func (p place) inFlight() bool { return p >= waitingIn }

type mark uint8

const (
	holds      mark = 1 << iota // it holds a provided buffer between two attempts
	connecting                  // connect(2) said EINPROGRESS
	aborted                     // connect(2) said ECONNABORTED
)

// list is a FIFO of entries, linked through them.
type list struct{ head, tail uint32 }

func (r *Ring) append(l *list, i uint32) {
	e := &r.slab[i]
	e.next, e.prev = 0, l.tail
	if l.tail == 0 {
		l.head = i
	} else {
		r.slab[l.tail].next = i
	}
	l.tail = i
}

func (r *Ring) unlink(l *list, i uint32) {
	e := &r.slab[i]
	if e.prev == 0 {
		l.head = e.next
	} else {
		r.slab[e.prev].next = e.next
	}
	if e.next == 0 {
		l.tail = e.prev
	} else {
		r.slab[e.next].prev = e.prev
	}
}

// take makes an entry of a submission.
func (r *Ring) take(sqe *uring.SQE) uint32 {
	i := r.free
	if i == 0 {
		i = uint32(len(r.slab))
		r.slab = append(r.slab, entry{})
	} else {
		r.free = r.slab[i].next
	}
	e := &r.slab[i]
	if debug && e.at != nowhere {
		panic("epoll: an entry in flight is on the free list")
	}
	e.SQE = *sqe
	e.done, e.msg, e.at, e.mark = 0, 0, queued, 0
	return i
}

// give frees an entry.
func (r *Ring) give(i uint32) {
	e := &r.slab[i]
	if debug && (e.at == nowhere || e.at.inFlight() || e.mark&holds != 0) {
		panic("epoll: an entry is freed twice, or while it is in flight or holds a buffer")
	}
	if e.msg != 0 {
		r.dropMessage(e.msg)
	}
	e.at, e.next = nowhere, r.free
	r.free = i
}

// park leaves an entry waiting in its file's list, or in the pool.
func (r *Ring) park(i uint32, at place) {
	e := &r.slab[i]
	f := &r.files[e.Fd]
	if debug && (e.at != issued || f.state&closing != 0) {
		panic("epoll: an entry is parked twice or on a closed descriptor")
	}
	e.at = at
	f.live++
	r.append(f.listOf(at), i)
	r.users.insert(r.slab, i)
}

// unpark undoes park. It may close the descriptor, if a close came while entries were in flight.
func (r *Ring) unpark(i uint32) {
	e := &r.slab[i]
	f := &r.files[e.Fd]
	r.unlink(f.listOf(e.at), i)
	e.at = issued
	r.users.remove(r.slab, i)
	f.live--
	if f.live == 0 && f.state&closing != 0 {
		r.close(e.Fd)
	}
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

func (u *users) insert(slab []entry, i uint32) {
	if u.count == len(u.buckets) {
		u.grow(slab)
	}
	b := u.bucket(slab[i].UserData)
	slab[i].chain = *b
	*b = i
	u.count++
}

func (u *users) remove(slab []entry, i uint32) {
	p := u.bucket(slab[i].UserData)
	for *p != i {
		if debug && *p == 0 {
			panic("epoll: an entry in flight is not in the user_data table")
		}
		p = &slab[*p].chain
	}
	*p = slab[i].chain
	u.count--
}

// first is where the search for a user_data begins; it goes on along entry.chain.
func (u *users) first(userData uint64) uint32 { return *u.bucket(userData) }

func (u *users) grow(slab []entry) {
	old := u.buckets
	u.init(2 * len(old))
	for _, i := range old {
		// Insert the chain from its end, to keep the order of equal ones.
		var rev uint32
		for i != 0 {
			i, slab[i].chain, rev = slab[i].chain, rev, i
		}
		for rev != 0 {
			next := slab[rev].chain
			b := u.bucket(slab[rev].UserData)
			slab[rev].chain = *b
			*b = rev
			rev = next
		}
	}
}
