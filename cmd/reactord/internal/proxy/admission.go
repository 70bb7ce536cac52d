package proxy

import (
	"os"
	"sync/atomic"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// cacheLine keeps what the loops share in cache lines of its own.
type cacheLine [64]byte

// budget is the descriptors that the process has for connections, in pairs: a proxied connection takes one pair, and so
// does the kernel pipe of a splice. Half of the pairs are guaranteed to the listeners, in equal parts. The other half
// is common: a listener that has used its part takes common pairs as it needs them. The loops share the budget.
type budget struct {
	_       cacheLine
	common  atomic.Int64 // free common pairs; negative while a drain takes more than there are
	_       cacheLine
	waiting waiters // loops with listeners that wait for a common pair
}

// admission is how many connections a listener has and may have, on all loops together.
type admission struct {
	budget  *budget
	limit   int64 // connections at most; 0: as many as there are descriptors for
	own     int64 // connections guaranteed
	_       cacheLine
	conns   atomic.Int64
	_       cacheLine
	waiting waiters // loops on which the listener waits for room
}

// room is the answer of an admission to one more connection.
type room uint8

const (
	granted   room = iota
	full           // the listener has as many connections as it may have
	exhausted      // the budget has no descriptors left
)

// spare is how many descriptors the budget leaves to what is not a proxied connection: logs, the metrics page,
// profiles.
const spare = 16

// freePairs is how many connections the process has descriptors for, after it has opened so many more files.
func freePairs(more int) int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return reactor.Unlimited
	}
	used := 0
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(entries)
	}
	return max(int(min(limit.Cur, 1<<30))-used-spare-more, 0) / 2
}

// divide makes the budget of so many pairs, and the admission of each listener. A listener is guaranteed one connection
// at least: if there is no descriptor for it, accepting backs off.
func divide(pairs int, listeners []Listener) (*budget, []admission) {
	b := &budget{}
	admissions := make([]admission, len(listeners))
	common := int64(pairs)
	for i, l := range listeners {
		a := &admissions[i]
		a.budget, a.limit, a.own = b, int64(l.MaxConnections), int64(max(pairs/2/len(listeners), 1))
		if a.limit > 0 {
			a.own = min(a.own, a.limit)
		}
		common -= a.own
	}
	b.common.Store(max(common, 0))
	return b, admissions
}

// most is how many connections the listener can have if no other listener has more than is guaranteed to it.
func (a *admission) most(b *budget) int {
	n := a.own + b.common.Load()
	if a.limit > 0 {
		n = min(n, a.limit)
	}
	return int(n)
}

// take takes room for one more connection, if there is room.
func (a *admission) take() room {
	for held := false; ; {
		n := a.conns.Load()
		if a.limit > 0 && n >= a.limit {
			if held {
				a.budget.give()
			}
			return full
		}
		if n >= a.own && !held {
			if held = a.budget.take(); !held {
				return exhausted
			}
		}
		if a.conns.CompareAndSwap(n, n+1) {
			if held && n < a.own {
				a.budget.give()
			}
			return granted
		}
	}
}

// force takes room for a connection that is already accepted, whatever the limits.
func (a *admission) force() {
	if a.conns.Add(1) > a.own {
		a.budget.common.Add(-1)
	}
}

// give gives back the room of a connection, and wakes a waiter.
func (a *admission) give() {
	ours := a.conns.Add(-1) < a.own
	if !ours {
		a.budget.give()
	}
	if ours || a.limit > 0 {
		a.waiting.wake()
	}
}

// take takes a common pair, if one is free.
func (b *budget) take() bool {
	for {
		n := b.common.Load()
		if n <= 0 {
			return false
		}
		if b.common.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// give gives a common pair back.
func (b *budget) give() {
	b.common.Add(1)
	b.waiting.wake()
}

// waiters wait for room of one kind; each loop has one waiter. A listener that finds no room joins, and then asks for
// room once more. The loop that gives room back wakes one waiter. So either the first finds the room, or the second
// finds the waiter.
type waiters struct {
	count atomic.Int32  // waiters in state waiting
	turn  atomic.Uint32 // the waiter that is woken next
	all   []*waiter     // fixed before the loops run
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
	if p.worker.state != workerServing {
		p.among.wake() // the room is for a loop that still accepts
		return
	}
	p.resumes.resume()
}

// Abandon leaves the room to the other loops: this one has ended.
func (p *waiter) Abandon(error) { p.among.wake() }
