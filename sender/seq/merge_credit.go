package seq

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// mergeCredits says which of the delivered items have not been granted for, so that each grant goes to the source of
// the item that it is for.
//
// If the sources deliver on several threads, an item may be consumed on the thread of another source than its own.
// Then the grant is posted to the scheduler of the item's source.
type mergeCredits struct {
	sources   *sourceCredit    // list of all sources
	some      bool             // at least one source has credit
	shared    bool             // the sources do not all have the same scheduler
	scheduler sender.Scheduler // of all sources, if not shared

	current int // credits of the item that is being delivered

	mu        sync.Mutex    // guards the rest, if shared
	from, by  *sourceCredit // the source of that item, and the source whose thread delivers it
	ungranted int           // of current
	goroutine uintptr       // that delivers the item
	due       queue[dueGrant]
}

// dueGrant is credit that has not been granted yet for items whose SetNext has returned.
type dueGrant struct {
	to *sourceCredit
	n  int
}

// clear forgets the sources.
func (c *mergeCredits) clear() { c.sources, c.some, c.shared, c.scheduler = nil, false, false, nil }

// add adds a source that has been connected.
func (c *mergeCredits) add(s *sourceCredit) {
	s.scheduler = s.Scheduler()
	c.some = c.some || s.source != nil
	if c.sources == nil {
		c.scheduler = s.scheduler
	}
	c.shared = c.shared || s.scheduler == nil || s.scheduler != c.scheduler
	s.next, c.sources = c.sources, s
}

// reset clears the posts and the due grants for a Start.
func (c *mergeCredits) reset() {
	for s := c.sources; s != nil; s = s.next {
		s.state.Store(postIdle)
		s.due.Store(0)
	}
	for c.due.n > 0 {
		c.due.pop()
	}
}

func (c *mergeCredits) lock() {
	if c.shared {
		c.mu.Lock()
	}
}

func (c *mergeCredits) unlock() {
	if c.shared {
		c.mu.Unlock()
	}
}

// begin records whose item is delivered, and its credits, before SetNext.
func (c *mergeCredits) begin(by, from *sourceCredit, credits int) {
	c.lock()
	c.current, c.ungranted, c.from, c.by = credits, credits, from, by
	if c.shared {
		c.goroutine = goroutine.Current()
	}
	c.unlock()
}

// end queues the credits that SetNext has not granted.
func (c *mergeCredits) end() {
	c.lock()
	if c.ungranted > 0 {
		c.due.push(dueGrant{c.from, c.ungranted})
	}
	c.current, c.ungranted, c.from, c.by, c.goroutine = 0, 0, nil, nil, 0
	c.unlock()
}

// grant distributes n to the sources, oldest items first. It ignores what exceeds the credit that has been used up.
func (c *mergeCredits) grant(n int) {
	for n > 0 {
		s, part, here := c.take(n)
		if s == nil {
			return
		}
		s.grant(part, here)
		n -= part
	}
}

// take returns the source of the oldest item that has not been granted for, and the part of n that is for it. here:
// the caller may grant on this thread.
func (c *mergeCredits) take(n int) (s *sourceCredit, part int, here bool) {
	c.lock()
	defer c.unlock()
	switch {
	case c.due.n > 0:
		first := c.due.at(0)
		s, part = first.to, min(n, first.n)
		if first.n -= part; first.n == 0 {
			c.due.pop()
		}
	case c.ungranted > 0:
		s, part = c.from, min(n, c.ungranted)
		c.ungranted -= part
	default:
		return nil, 0, false
	}
	here = !c.shared || s.scheduler == nil || c.goroutine == goroutine.Current() && c.by.scheduler == s.scheduler
	return s, part, here
}

// sourceCredit is the credit of one source of a merge.
type sourceCredit struct {
	credit
	scheduler sender.Scheduler
	next      *sourceCredit // in mergeCredits.sources
	owner     arriver

	state atomic.Uint32
	due   atomic.Int64 // what post will grant
	post  sender.Work
}

// arriver is called when a source has completed, and gets no further grants.
type arriver interface{ arrive() }

// The states of a sourceCredit's post:
//
//	postIdle --grant from another thread--> postQueued --post runs--> postIdle
//	postIdle --source completes--> postClosed: the source arrives
//	postQueued --source completes--> postClosed: the post arrives for the source when it runs
const (
	postIdle   uint32 = iota
	postQueued        // post is in the queue of the source's scheduler
	postClosed        // the source has completed
)

// grant grants n to the source: on this thread, or by a post.
func (s *sourceCredit) grant(n int, here bool) {
	if here {
		if s.state.Load() != postClosed {
			s.Grant(n)
		}
		return
	}
	s.due.Add(int64(n))
	if s.state.CompareAndSwap(postIdle, postQueued) {
		s.post.Runner = (*grantPost)(s)
		s.scheduler.Enqueue(&s.post)
	}
}

// close lets a completed source arrive. The merge waits for a post that is queued.
func (s *sourceCredit) close() {
	if s.state.Swap(postClosed) != postQueued {
		s.owner.arrive()
	}
}

// grantPost is the work that grants on the source's scheduler.
type grantPost sourceCredit

func (p *grantPost) Run() {
	s := (*sourceCredit)(p)
	if !s.state.CompareAndSwap(postQueued, postIdle) {
		s.owner.arrive()
		return
	}
	if n := s.due.Swap(0); n > 0 {
		s.Grant(int(n))
	}
}

// Abandon grants nothing, because the scheduler is shutting down.
func (p *grantPost) Abandon(error) {
	if s := (*sourceCredit)(p); !s.state.CompareAndSwap(postQueued, postIdle) {
		s.owner.arrive()
	}
}
