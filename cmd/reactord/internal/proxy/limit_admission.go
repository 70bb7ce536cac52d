package proxy

import (
	"math"
	"os"
	"slices"
	"sync/atomic"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// cacheLine keeps what the loops share in cache lines of its own.
type cacheLine [64]byte

// budget is how many connections the process may have. Each takes a pair of descriptors, and so does the kernel pipe of
// a splice. Half of the pairs are guaranteed to the listeners, in equal parts. The other half is common: a listener
// that has used its part takes common pairs as it needs them. The loops share the budget.
//
// A plan with other listeners or limits divides the pairs anew while the loops take and give: see divide.
type budget struct {
	pairs   int64 // as they were divided last; the planner's, as the next two
	shared  int64 // pairs that are guaranteed to no listener
	round   uint64
	owed    atomic.Uint64 // the round of a division that gave a listener less than its part; 0: none is owed any
	members atomic.Pointer[[]*admission]
	_       cacheLine
	common  atomic.Int64 // free common pairs; negative while there are more connections than pairs
	_       cacheLine
	pipes   admission // of kernel pipes
	waiting waiters   // loops with listeners that wait for a common pair
}

// admission is how many connections a listener has and may have, on all loops together.
type admission struct {
	budget *budget
	limit  atomic.Int64 // connections at most; 0: as many as there are descriptors for
	part   atomic.Int64 // connections that are to be guaranteed
	_      cacheLine
	word   atomic.Uint64 // connections, and how many are guaranteed now; see split
	_      cacheLine

	waiting waiters // loops on which the listener waits for room
}

// connsBits is the size of the lower part of admission.word. Both parts change together, so that each connection is
// known to have a guaranteed pair or a common one, also while the guaranteed ones become more or fewer.
const connsBits = 32

func split(word uint64) (conns, own int64) {
	return int64(word & (1<<connsBits - 1)), int64(word >> connsBits)
}

func join(conns, own int64) uint64 { return uint64(own)<<connsBits | uint64(conns) }

// conns is how many connections the listener has.
func (a *admission) conns() int64 {
	n, _ := split(a.word.Load())
	return n
}

// room is the answer of an admission to one more connection.
type room uint8

const (
	granted   room = iota
	full           // the listener has as many connections as it may have
	exhausted      // the budget has no pair left
)

// spare returns how many descriptors the budget leaves to what is not a proxied connection: logs, discovery, health
// checks, and the HTTP servers, which have 128 connections at most. Where descriptors are scarce it leaves less.
func spare(limit int) int { return min(max(limit/8, 64), 192) }

// freeDescriptors is how many descriptors the process has for connections and listeners. The limit is the hard one: the
// Go runtime has raised the soft limit to it.
func freeDescriptors() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return reactor.Unlimited
	}
	used := 0
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(entries)
	}
	most := int(min(limit.Cur, 1<<30))
	return max(most-used-spare(most), 0)
}

// divide divides so many pairs among the listeners of a plan. Others, which are retired, keep the pairs that their
// connections have until these end. It is called by the planner only, while the loops take and give.
//
// pipes further pairs are for kernel pipes only; if there are some, they use no others.
//
// At no time are there more connections than pairs, unless a plan has fewer pairs than there are connections, or force
// was used. So a listener may get its part later, when others give back what they have: see repay.
func (b *budget) divide(pairs, pipes int, members, retired []*admission) {
	part := int64(0)
	if len(members) != 0 {
		part = int64(pairs / 2 / len(members))
	}
	pairs += pipes
	b.pipes.budget = b
	b.pipes.limit.Store(int64(pipes))
	b.pipes.part.Store(int64(pipes))
	members = append(slices.Clip(members), &b.pipes)
	b.members.Store(&members)
	for _, a := range retired {
		a.part.Store(0)
		a.shrink()
	}
	b.shared = int64(pairs)
	for _, a := range members {
		if a != &b.pipes {
			a.part.Store(min(part, a.most()))
		}
		a.shrink()
		b.shared -= a.part.Load()
	}
	b.common.Add(int64(pairs) - b.pairs)
	b.pairs = int64(pairs)
	b.round++
	b.owed.Store(b.round)
	for _, a := range members {
		a.grow()
	}
}

// most is how many connections the listener can have if no other listener has more than is guaranteed to it.
func (b *budget) most(a *admission) int {
	return int(min(b.shared+a.part.Load(), a.most()))
}

// most is how many connections the listener may have, whatever the budget.
func (a *admission) most() int64 {
	if limit := a.limit.Load(); limit > 0 {
		return limit
	}
	return math.MaxInt64
}

// shrink lowers what is guaranteed to the listener's part. What no connection uses becomes common.
func (a *admission) shrink() {
	for {
		w := a.word.Load()
		n, own := split(w)
		part := a.part.Load()
		if own <= part {
			return
		}
		if a.word.CompareAndSwap(w, join(n, part)) {
			a.budget.common.Add(max(own-max(n, part), 0))
			return
		}
	}
}

// grow raises what is guaranteed to its part, as far as there are free common pairs.
func (a *admission) grow() {
	for {
		w := a.word.Load()
		n, own := split(w)
		part := a.part.Load()
		if own >= part {
			return
		}
		next, free := min(max(n, own), part), int64(0) // connections that have common pairs keep them as their own
		if next < part {
			if free = a.budget.takeUpTo(part - next); free == 0 && next == own {
				return
			}
		}
		if !a.word.CompareAndSwap(w, join(n, next+free)) {
			a.budget.common.Add(free)
		}
	}
}

// repay gives a pair, which a connection has given back, to a listener that has less than its part. It reports whether
// there was one.
func (b *budget) repay(round uint64) bool {
	for _, a := range *b.members.Load() {
		for {
			w := a.word.Load()
			n, own := split(w)
			part := a.part.Load()
			if own >= part {
				break
			}
			if n > own {
				a.word.CompareAndSwap(w, join(n, min(n, part)))
				continue
			}
			if a.word.CompareAndSwap(w, join(n, own+1)) {
				a.shrink() // the planner may have lowered the part meanwhile
				a.waiting.wake()
				return true
			}
		}
	}
	b.owed.CompareAndSwap(round, 0)
	return false
}

// take takes room for one more connection, if there is room.
func (a *admission) take() room {
	for held := false; ; {
		w := a.word.Load()
		n, own := split(w)
		if n >= a.most() {
			if held {
				a.budget.give()
			}
			return full
		}
		if n >= own && !held {
			if held = a.budget.take(); !held {
				return exhausted
			}
		}
		if a.word.CompareAndSwap(w, w+1) {
			if held && n < own {
				a.budget.give()
			}
			return granted
		}
	}
}

// force takes room for a connection that is already accepted, whatever the limits.
func (a *admission) force() {
	if n, own := split(a.word.Add(1)); n > own {
		a.budget.common.Add(-1)
	}
}

// give gives back the room of a connection, and wakes a waiter.
func (a *admission) give() {
	n, own := split(a.word.Add(^uint64(0)))
	ours := n < own
	if !ours {
		a.budget.give()
	}
	if ours || a.limit.Load() > 0 {
		a.waiting.wake()
	}
}

// take takes a common pair, if one is free.
func (b *budget) take() bool { return b.takeUpTo(1) == 1 }

// takeUpTo takes free common pairs, at most n.
func (b *budget) takeUpTo(n int64) int64 {
	for {
		free := b.common.Load()
		taken := min(n, free)
		if taken <= 0 {
			return 0
		}
		if b.common.CompareAndSwap(free, free-taken) {
			return taken
		}
	}
}

// give gives a common pair back.
func (b *budget) give() {
	if round := b.owed.Load(); round != 0 && b.common.Load() >= 0 && b.repay(round) {
		return
	}
	b.common.Add(1)
	b.waiting.wake()
}

// waiters wait for room of one kind; each loop has one waiter. A listener that finds no room joins, and then asks for
// room once more. The loop that gives room back wakes one waiter. So either the first finds the room, or the second
// finds the waiter.
type waiters struct {
	count atomic.Int32  // waiters in state waiting
	turn  atomic.Uint32 // the waiter that is woken next
	all   []*waiter     // fixed before a loop uses them
}

// waiter is woken by work posted to its loop, once until it joins again:
//
//	notWaiting → waiting     join, on its loop
//	waiting    → woken       wake, on any thread
//	woken      → notWaiting  Run, on its loop
type waiter struct {
	sender.Work
	state   atomic.Uint32
	among   *waiters
	worker  *worker
	until   workerState // the last one in which it is resumed
	resumes resumer
}

// resumer is resumed on its loop when there is room, or was.
type resumer interface{ resume() }

// The states of a waiter.
const (
	notWaiting uint32 = iota
	waiting
	woken // the work is posted and has not run yet
)

// add adds the waiter of a worker.
func (ws *waiters) add(w *worker, r resumer) *waiter {
	p := &waiter{among: ws, worker: w, resumes: r}
	p.Runner = p
	ws.all = append(ws.all, p)
	return p
}

// join makes p wait. On its loop.
func (p *waiter) join() {
	if p.state.Load() != notWaiting {
		return
	}
	p.among.count.Add(1) // before the state: wake does not look for waiters that are not counted
	p.state.Store(waiting)
}

// wake wakes one of the waiters, in turn. From any thread.
func (ws *waiters) wake() {
	if ws.count.Load() == 0 {
		return
	}
	first := int(ws.turn.Add(1))
	for i := range ws.all {
		p := ws.all[(first+i)%len(ws.all)]
		if p.state.Load() == waiting && p.state.CompareAndSwap(waiting, woken) {
			ws.count.Add(-1)
			p.worker.loop.Enqueue(&p.Work)
			return
		}
	}
}

// Run resumes, on the loop.
func (p *waiter) Run() {
	p.state.Store(notWaiting)
	if p.worker.state > p.until {
		p.among.wake() // the room is for another loop
		return
	}
	p.resumes.resume()
}

// Abandon leaves the room to the other loops: this one has ended.
func (p *waiter) Abandon(error) { p.among.wake() }
