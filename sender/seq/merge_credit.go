package seq

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// credits is the credit of the sources of a merge: which items have not been granted for, so that each grant goes
// to the source of the item that it is for.
//
// If the sources deliver on several threads an item may be consumed on the thread of another source than its own.
// Then the grant is posted to where it belongs.
type credits struct {
	accounts *account         // of all sources
	some     bool             // of the sources have credit
	shared   bool             // they do not all have the same scheduler
	home     sender.Scheduler // if not shared

	worth int // of the item that is being delivered

	mu        sync.Mutex // guards the rest, if shared
	from, by  *account   // the source of that item, and the source that delivers it
	unpaid    int        // of worth
	goroutine uintptr    // that delivers it
	owed      queue[debt]
}

// debt is credit to be granted for items that SetNext has returned for.
type debt struct {
	to *account
	n  int
}

// clear forgets the sources.
func (c *credits) clear() { c.accounts, c.some, c.shared, c.home = nil, false, false, nil }

// add adds the account of a source that has been connected.
func (c *credits) add(a *account) {
	a.home = a.Scheduler()
	c.some = c.some || a.source != nil
	if c.accounts == nil {
		c.home = a.home
	}
	c.shared = c.shared || a.home == nil || a.home != c.home
	a.next, c.accounts = c.accounts, a
}

// reset is called by Start.
func (c *credits) reset() {
	for a := c.accounts; a != nil; a = a.next {
		a.state.Store(accountIdle)
		a.due.Store(0)
	}
	for c.owed.n > 0 {
		c.owed.pop()
	}
}

func (c *credits) lock() {
	if c.shared {
		c.mu.Lock()
	}
}

func (c *credits) unlock() {
	if c.shared {
		c.mu.Unlock()
	}
}

// begin is called before SetNext.
func (c *credits) begin(by, from *account, worth int) {
	c.lock()
	c.worth, c.unpaid, c.from, c.by = worth, worth, from, by
	if c.shared {
		c.goroutine = goroutine.Current()
	}
	c.unlock()
}

// end is called after SetNext.
func (c *credits) end() {
	c.lock()
	if c.unpaid > 0 {
		c.owed.push(debt{c.from, c.unpaid})
	}
	c.worth, c.unpaid, c.from, c.by, c.goroutine = 0, 0, nil, nil, 0
	c.unlock()
}

// grant shares n out among the sources, oldest items first. What is more than has been used up goes nowhere.
func (c *credits) grant(n int) {
	for n > 0 {
		a, part, here := c.settle(n)
		if a == nil {
			return
		}
		a.grant(part, here)
		n -= part
	}
}

// settle takes the part of n that one source is granted. here: by a call on this thread.
func (c *credits) settle(n int) (a *account, part int, here bool) {
	c.lock()
	defer c.unlock()
	switch {
	case c.owed.n > 0:
		first := c.owed.at(0)
		a, part = first.to, min(n, first.n)
		if first.n -= part; first.n == 0 {
			c.owed.pop()
		}
	case c.unpaid > 0:
		a, part = c.from, min(n, c.unpaid)
		c.unpaid -= part
	default:
		return nil, 0, false
	}
	here = !c.shared || a.home == nil || c.goroutine == goroutine.Current() && c.by.home == a.home
	return a, part, here
}

// account is the credit of one source of a merge.
type account struct {
	credit
	home  sender.Scheduler
	next  *account
	owner leaver

	state atomic.Uint32
	due   atomic.Int64 // to be granted by post
	post  sender.Work
}

// leaver is told that a source has completed, and is not granted any more.
type leaver interface{ leave() }

// The states of an account.
const (
	accountIdle   uint32 = iota
	accountPosted        // post is on its way to the source's thread
	accountClosed        // the source has completed
)

// grant grants n, here or by a post.
func (a *account) grant(n int, here bool) {
	if here {
		if a.state.Load() != accountClosed {
			a.Grant(n)
		}
		return
	}
	a.due.Add(int64(n))
	if a.state.CompareAndSwap(accountIdle, accountPosted) {
		a.post.Runner = (*accountPost)(a)
		a.home.Enqueue(&a.post)
	}
}

// close is the completion of the source. The merge goes on to its end when post is back.
func (a *account) close() {
	if a.state.Swap(accountClosed) != accountPosted {
		a.owner.leave()
	}
}

// accountPost is an account as work on its source's thread.
type accountPost account

func (p *accountPost) Run() {
	a := (*account)(p)
	if !a.state.CompareAndSwap(accountPosted, accountIdle) {
		a.owner.leave()
		return
	}
	if n := a.due.Swap(0); n > 0 {
		a.Grant(int(n))
	}
}

// Abandon grants nothing: the thread is shutting down.
func (p *accountPost) Abandon(error) {
	if a := (*account)(p); !a.state.CompareAndSwap(accountPosted, accountIdle) {
		a.owner.leave()
	}
}
