package seq

import "github.com/reactord/reactord/sender"

// Granter is the [sender.Operation] of a sequence with credit: the source delivers items only while it has credit, and
// the consumer grants more. Connect of such a source returns a Granter. So does Connect of [Take], [Filter] and
// [Transform] over it, which forward the calls to the source, and of [Merge], which grants to the source whose item
// was consumed. See "Back-pressure" in the documentation of the package.
type Granter interface {
	// Grant adds n to the credit. It is called on Scheduler, between Start and the completion.
	Grant(n int)
	// Credits returns how much credit the latest item has used up, and so how much to grant for it. It is 0 if the
	// source has no credit, or unlimited credit. It is called inside SetNext.
	Credits() int
	// Scheduler returns where Grant must be called, one call at a time: where the source delivers and completes. nil:
	// Grant may be called on any thread.
	Scheduler() sender.Scheduler
}

// credit is the credit of an adaptor's source. An operation that embeds it is a Granter.
type credit struct{ source Granter }

// connect stores the source's Granter, if it has one. If the source is an adaptor it stores the Granter of that one's
// source.
func (c *credit) connect(start sender.Operation) sender.Operation {
	switch s := start.(type) {
	case interface{ granter() Granter }:
		c.source = s.granter()
	case Granter:
		c.source = s
	default:
		c.source = nil
	}
	return start
}

func (c *credit) granter() Granter { return c.source }

// Grant implements [Granter]: it forwards to the source.
func (c *credit) Grant(n int) {
	if c.source != nil {
		c.source.Grant(n)
	}
}

// Credits implements [Granter]: it forwards to the source.
func (c *credit) Credits() int {
	if c.source == nil {
		return 0
	}
	return c.source.Credits()
}

// Scheduler implements [Granter]: it forwards to the source.
func (c *credit) Scheduler() sender.Scheduler {
	if c.source == nil {
		return nil
	}
	return c.source.Scheduler()
}

// consumed grants what the item that is being delivered has used up.
func (c *credit) consumed() {
	if n := c.Credits(); n > 0 {
		c.source.Grant(n)
	}
}
