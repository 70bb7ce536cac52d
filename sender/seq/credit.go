package seq

import "github.com/reactord/reactord/sender"

// Granter is also what Connect of a sequence with credit returns: the source delivers as long as it has some, and
// is granted more for what was consumed. Take, Filter and Transform return one as well, which passes on to
// their source what it is asked; and Merge one which passes it on to the source whose item was consumed. See
// "Back-pressure" in the package's documentation.
type Granter interface {
	// Grant adds n to the credit. It is called where Scheduler is, from Start to the completion.
	Grant(n int)
	// Credits is how much of the credit the item that was delivered last has used up, which is what to grant
	// for it; 0 if its source has none, or more than it can use up. It is called inside SetNext.
	Credits() int
	// Scheduler is where Grant is called, one call at a time: where the source delivers and completes. nil:
	// Grant may be called anywhere.
	Scheduler() sender.Scheduler
}

// credit is the credit of an adaptor's source. By its methods the adaptor's operation is a Granter.
type credit struct{ source Granter }

// connect looks whether the source that was connected has credit. If that is an adaptor's it goes straight to
// where the credit is.
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

// Grant implements Granter: it is the source's.
func (c *credit) Grant(n int) {
	if c.source != nil {
		c.source.Grant(n)
	}
}

// Credits implements Granter: it is the source's.
func (c *credit) Credits() int {
	if c.source == nil {
		return 0
	}
	return c.source.Credits()
}

// Scheduler implements Granter: it is the source's.
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
