package limit

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// Waiters wait for room of one kind; each loop has one waiter. Who finds no room joins, and then asks for room once
// more. The loop that gives room back wakes one waiter. So either the first finds the room, or the second finds the
// waiter.
type Waiters struct {
	count atomic.Int32  // waiters in state waiting
	turn  atomic.Uint32 // the waiter that is woken next
	all   []*Waiter     // fixed before a loop uses them
}

// Waiter is woken by work posted to its loop, once until it joins again:
//
//	notWaiting → waiting     Join, on its loop
//	waiting    → woken       Wake, on any thread
//	woken      → notWaiting  Run, on its loop
type Waiter struct {
	work    sender.Work
	state   atomic.Uint32
	among   *Waiters
	loop    sender.Scheduler
	resumes Resumer
}

// Resumer is resumed on its loop when there is room, or was. It returns false if it does not need room: then that is
// for another loop.
type Resumer interface{ Resume() bool }

// The states of a waiter.
const (
	notWaiting uint32 = iota
	waiting
	woken // the work is posted and has not run yet
)

// Add adds a waiter, which resumes r on a loop. It is not called once a loop uses the waiters.
func (ws *Waiters) Add(loop sender.Scheduler, r Resumer) *Waiter {
	p := &Waiter{among: ws, loop: loop, resumes: r}
	p.work.Runner = (*wakeUp)(p)
	ws.all = append(ws.all, p)
	return p
}

// Join makes p wait. On its loop.
func (p *Waiter) Join() {
	if p.state.Load() != notWaiting {
		return
	}
	p.among.count.Add(1) // before the state: Wake does not look for waiters that are not counted
	p.state.Store(waiting)
}

// Wake wakes one of the waiters, round-robin. From any thread.
func (ws *Waiters) Wake() {
	if ws.count.Load() == 0 {
		return
	}
	first := int(ws.turn.Add(1))
	for i := range ws.all {
		p := ws.all[(first+i)%len(ws.all)]
		if p.state.Load() == waiting && p.state.CompareAndSwap(waiting, woken) {
			ws.count.Add(-1)
			p.loop.Enqueue(&p.work)
			return
		}
	}
}

// wakeUp is a waiter as the work of its loop.
type wakeUp Waiter

// Run resumes, on the loop.
func (p *wakeUp) Run() {
	p.state.Store(notWaiting)
	if !p.resumes.Resume() {
		p.among.Wake()
	}
}

// Abandon leaves the room to the other loops: this one has ended.
func (p *wakeUp) Abandon(error) { p.among.Wake() }
