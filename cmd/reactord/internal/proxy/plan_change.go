package proxy

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/sender"
)

// change is a plan that is prepared. Its states:
//
//	prepared → committed  Commit: the loops are told
//	prepared → discarded  Discard: what was opened is closed
//
// A commit is a message to the control loop, which is the first one, and then one to each other loop. It swaps the
// table, starts new listeners, and stops those that are gone.
type change struct {
	proxy    *Proxy
	next     *table
	settings []*settings // of the next table's listeners
	opened   []*sharedListener
	files    []accessChange
	gone     []*sharedListener
	upstream *upstream.Change
	log      *accesslog.Writer // of the next plan, if it has one
	sources  sourceChange
	pipes    int           // kernel pipes that there may be
	pending  atomic.Int32  // loops that do not have the table yet, and listeners that are not closed yet
	done     chan struct{} // closed when there are none
}

// ErrStopped is the error of a plan for a proxy that has stopped accepting.
var ErrStopped = errors.New("the proxy has stopped accepting, and takes no further plan")

// Prepare makes what the plan adds: it opens the sockets of new listeners on all loops. If it fails, everything that it
// opened is closed, and nothing has changed. It is called on the planner's goroutine, as are Commit and Discard, and
// not while a change is prepared.
func (p *Proxy) Prepare(next *plan.Plan, _ plan.Diff) (plan.Change, error) {
	return p.prepareChange(next)
}

func (p *Proxy) prepareChange(next *plan.Plan) (*change, error) {
	p.planning.Lock()
	defer p.planning.Unlock()
	if p.stopped {
		return nil, ErrStopped
	}
	before := p.table.Load()
	c := &change{
		proxy: p,
		next: &table{
			plan: next, byKey: make(map[plan.ListenerKey]*sharedListener, len(next.Listeners)), tickets: p.tickets,
			sets: p.sets,
		},
		upstream: p.upstreams.Prepare(next),
		done:     make(chan struct{}),
	}
	c.next.backends = c.upstream.Backends()
	c.next.prefixRates = before.prefixRates.Renew(next.Limits.SourceRate)
	c.next.sourceCounts = before.sourceCounts.renew(next.Limits.SourceConnections)
	c.sources.all = before.sourceCounts.table != c.next.sourceCounts.table
	if err := c.openLog(before); err != nil {
		c.Discard()
		return nil, err
	}
	for i := range next.Listeners {
		if err := c.prepare(&next.Listeners[i], before); err != nil {
			c.Discard()
			return nil, err
		}
	}
	for _, s := range before.listeners {
		if c.next.byKey[s.key] == nil {
			c.gone = append(c.gone, s)
		}
	}
	return c, nil
}

// prepare finds or makes the listener that the next plan has.
func (c *change) prepare(l *plan.Listener, before *table) error {
	s := before.byKey[l.Key()]
	var known *settings
	if s != nil {
		known = s.settings.Load()
	}
	next, err := newSettings(l, c.next, known)
	if err != nil {
		return &plan.ListenerError{Listener: l.Name, Err: err}
	}
	if s == nil {
		if s, err = c.open(l); err != nil {
			return &plan.ListenerError{Listener: l.Name, Err: fmt.Errorf("cannot listen on %s: %w", l.Place(), err)}
		}
		c.opened = append(c.opened, s)
	} else if err := c.prepareAccess(s, l); err != nil {
		return &plan.ListenerError{Listener: l.Name, Err: fmt.Errorf("%s: %w", l.Place(), err)}
	}
	c.sources.note(s, known, next)
	c.settings = append(c.settings, next)
	c.next.listeners = append(c.next.listeners, s)
	c.next.byKey[s.key] = s
	return nil
}

// Discard closes what Prepare has opened.
func (c *change) Discard() {
	for _, s := range c.opened {
		s.discard()
	}
	c.upstream.Discard()
	c.discardLog()
}

// Commit puts the plan in force. It returns when all loops have it, and the sockets of listeners that are gone are
// closed. It cannot fail.
func (c *change) Commit() {
	before := c.proxy.accessLog.Load()
	c.commit()
	c.proxy.await(c.done)
	c.commitFiles()
	c.proxy.retireLog(before)
}

// awaitLoops waits until the loops have a plan, or have ended.
func (p *Proxy) awaitLoops(done <-chan struct{}) {
	select {
	case <-done:
	case <-p.ended:
	}
}

// commit puts the plan in force. It returns before the loops have it.
func (c *change) commit() {
	c.proxy.planning.Lock()
	defer c.proxy.planning.Unlock()
	c.publish()
	c.pending.Store(int32(len(c.proxy.workers)))
	c.post(c.proxy.workers[0])
}

// publish makes the plan visible.
func (c *change) publish() {
	c.divide()
	for i, s := range c.next.listeners {
		var before *byteLimits
		if known := s.settings.Load(); known != nil {
			before = known.byteLimits
		}
		s.bytes.follow(before, c.settings[i].byteLimits)
		s.settings.Store(c.settings[i])
	}
	c.proxy.table.Store(c.next)
	c.proxy.accessLog.Store(c.log)
}

// divide divides the descriptors among the listeners of the next plan.
func (c *change) divide() {
	p := c.proxy
	members, retired := make([]*limit.Admission, len(c.next.listeners)), make([]*limit.Admission, len(c.gone))
	for i, s := range c.next.listeners {
		members[i] = &s.admission
		s.admission.SetLimit(c.settings[i].MaxConnections)
	}
	for i, s := range c.gone {
		retired[i] = &s.admission
	}
	pairs, pipes := p.pairsFor(c.next.plan)
	if c.pipes = pipes; pipes == 0 {
		c.pipes = pairs / 8
	}
	p.budget.Divide(pairs, pipes, members, retired)
	p.limit.Store(int64(pairs))
	for _, s := range c.next.listeners {
		s.stats.limit.Store(int64(p.budget.Most(&s.admission)))
	}
}

// pairsFor returns how many connections a plan allows, and how many kernel pipes in addition. If the descriptors are
// what limits the connections, kernel pipes take descriptors that connections could have.
func (p *Proxy) pairsFor(next *plan.Plan) (pairs, pipes int) {
	if pairs = p.fixedPairs; pairs == 0 {
		pairs = max((p.descriptors-len(p.workers)*len(next.Listeners))/2, 1)
	}
	if most := next.Limits.MaxConnections; most > 0 && most < pairs {
		return most, min(pairs-most, len(p.workers)*maxSplices)
	}
	return pairs, 0
}

// post makes a loop put the plan in force.
func (c *change) post(w *worker) {
	s := &changeStep{change: c, worker: w}
	s.Runner = s
	w.loop.Enqueue(&s.Work)
}

// changeStep is the message of a change to one loop.
type changeStep struct {
	sender.Work
	change *change
	worker *worker
}

// Run puts the plan in force on the loop. Other loops follow the control loop.
func (s *changeStep) Run() {
	c, w := s.change, s.worker
	w.follow(c)
	s.forward()
}

// Abandon closes the sockets that were opened for the loop, which has ended.
func (s *changeStep) Abandon(error) {
	c, w := s.change, s.worker
	for _, l := range c.opened {
		l.loops[w.index].discard()
	}
	s.forward()
}

// forward sends the message of the control loop to the others.
func (s *changeStep) forward() {
	if s.worker.index == 0 {
		for _, other := range s.change.proxy.workers[1:] {
			s.change.post(other)
		}
	}
	s.change.end()
}

// end counts a loop that has the table, or a listener that is gone and closed. When the commit has ended, the address
// of a listener that is gone is free.
func (c *change) end() {
	if c.pending.Add(-1) == 0 {
		close(c.done)
	}
}
