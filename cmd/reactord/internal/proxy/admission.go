package proxy

import (
	"os"
	"sync/atomic"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// cacheLine keeps what loops share apart from everything else.
type cacheLine [64]byte

// budget is the descriptors that the process has for connections, in pairs: a proxied connection takes one, and so
// does the pipe of a splice. Half of them is guaranteed to the listeners, in equal parts. The others are common: a
// listener that has used its part takes them as it needs them. It is shared by the loops.
type budget struct {
	_       cacheLine
	common  atomic.Int64 // common pairs that are free; below zero while a drain takes more than there are
	_       cacheLine
	waiting waiters // loops that have listeners which wait for a common pair
}

// admission is how many connections a listener has and may have, on all loops together.
type admission struct {
	budget  *budget
	limit   int64 // connections at most; 0: as many as there are descriptors for
	own     int64 // of them, those that are guaranteed
	_       cacheLine
	conns   atomic.Int64
	_       cacheLine
	waiting waiters // loops on which the listener waits for room
}

// room is what an admission says to one more connection.
type room uint8

const (
	granted   room = iota
	full           // the listener has as many as it may have
	exhausted      // there are no descriptors
)

// spare is how many descriptors are left for what is not a proxied connection: logs, the metrics page,
// profiles.
const spare = 16

// freePairs is how many connections there can be with the descriptors that are left once so many have been opened as well.
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

// divide makes the budget of so many pairs, and the admission of each listener. Each is guaranteed one connection at
// least: accepting waits if there is no descriptor for it.
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

// most is how many connections the listener can have when no other has more than is guaranteed to it.
func (a *admission) most(b *budget) int {
	n := a.own + b.common.Load()
	if a.limit > 0 {
		n = min(n, a.limit)
	}
	return int(n)
}

// take makes room for one more connection, if it is granted.
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

// force makes room for a connection that is there, whatever the limits.
func (a *admission) force() {
	if a.conns.Add(1) > a.own {
		a.budget.common.Add(-1)
	}
}

// give gives back the room of a connection, to one that waits.
func (a *admission) give() {
	ours := a.conns.Add(-1) < a.own
	if !ours {
		a.budget.give()
	}
	if ours || a.limit > 0 {
		a.waiting.wake()
	}
}

// take takes a common pair, if there is one.
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

// waiters are those that wait for room of one kind, one a loop. Who finds no room joins and then looks once more; who
// gives room back wakes one of them. So either the first sees the room, or the second the waiter.
type waiters struct {
	count atomic.Int32  // how many wait
	turn  atomic.Uint32 // who is woken first
	all   []*waiter     // fixed before the loops run
}

// waiter is woken by a message to its loop: once, until it joins again.
type waiter struct {
	sender.Work
	state   atomic.Uint32
	among   *waiters
	worker  *worker
	resumes resumer
}

// resumer is what goes on when there is room again, or has been; on its loop.
type resumer interface{ resume() }

// The states of a waiter.
const (
	notWaiting uint32 = iota
	waiting
	woken // the message is under way
)

// add adds the waiter of a worker.
func (ws *waiters) add(w *worker, r resumer) *waiter {
	p := &waiter{among: ws, worker: w, resumes: r}
	p.Runner = p
	ws.all = append(ws.all, p)
	return p
}

// join lets it wait. On its loop.
func (p *waiter) join() {
	if p.state.Load() != notWaiting {
		return
	}
	p.among.count.Add(1) // first: what is not counted would not be looked for
	p.state.Store(waiting)
}

// wake wakes one of those that wait, in turn. From any thread.
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

// Run is the message.
func (p *waiter) Run() {
	p.state.Store(notWaiting)
	if p.worker.draining {
		p.among.wake() // it is for those that accept
		return
	}
	p.resumes.resume()
}

// Abandon leaves the room to the others: the loop has ended.
func (p *waiter) Abandon(error) { p.among.wake() }
