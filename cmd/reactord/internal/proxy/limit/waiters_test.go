package limit

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/sender"
)

// posted is a loop that runs its work when the test says so.
type posted struct{ work []*sender.Work }

func (p *posted) Enqueue(w *sender.Work) { p.work = append(p.work, w) }

func (p *posted) run() {
	all := p.work
	p.work = nil
	for _, w := range all {
		w.Runner.Run()
	}
}

// resumed counts how often it is resumed, and needs room or not.
type resumed struct {
	needs bool
	times int
}

func (r *resumed) Resume() bool {
	r.times++
	return r.needs
}

// Room that a waiter does not need is for the next one, as is that of a loop which has ended.
func TestRoomIsPassedOn(t *testing.T) {
	for name, first := range map[string]func(*posted){
		"needs none": (*posted).run,
		"has ended":  func(p *posted) { p.work[0].Runner.Abandon(sender.ErrClosed); p.work = nil },
	} {
		t.Run(name, func(t *testing.T) {
			var ws Waiters
			var loops [2]posted
			users := [2]resumed{{needs: true}, {}}
			for i := range loops {
				ws.Add(&loops[i], &users[i]).Join()
			}
			ws.Wake()
			if len(loops[0].work) != 0 || len(loops[1].work) != 1 {
				t.Fatal("it is not the second loop's turn")
			}
			first(&loops[1])
			loops[0].run()
			if users[0].times != 1 {
				t.Errorf("the first loop was resumed %d times, want once", users[0].times)
			}
		})
	}
}

// A waiter is woken once until it joins again.
func TestWokenOnce(t *testing.T) {
	var ws Waiters
	var loop posted
	w := ws.Add(&loop, &resumed{needs: true})
	ws.Wake()
	w.Join()
	w.Join()
	ws.Wake()
	ws.Wake()
	if len(loop.work) != 1 {
		t.Fatalf("it is woken %d times, want once", len(loop.work))
	}
	loop.run()
	w.Join()
	if ws.Wake(); len(loop.work) != 1 {
		t.Error("it is not woken again")
	}
}

// thread is a loop that needs room for one at a time. Its work is run by the thread itself.
type thread struct {
	work    chan *sender.Work
	waiting bool
}

func (l *thread) Enqueue(w *sender.Work) { l.work <- w }

func (l *thread) Resume() bool {
	needs := l.waiting
	l.waiting = false
	return needs
}

// However the loops take and give, each gets room in the end.
func TestNoWakeUpIsLost(t *testing.T) {
	const loops, rounds = 6, 5000
	var ws Waiters
	var room atomic.Int64
	room.Store(2)
	take := func() bool {
		for {
			if n := room.Load(); n == 0 {
				return false
			} else if room.CompareAndSwap(n, n-1) {
				return true
			}
		}
	}
	var all [loops]*thread
	var waiters [loops]*Waiter
	for i := range all {
		all[i] = &thread{work: make(chan *sender.Work, 1)}
		waiters[i] = ws.Add(all[i], all[i])
	}
	var wg, ended sync.WaitGroup
	ended.Add(loops)
	done := make(chan struct{})
	for i, l := range all {
		wg.Go(func() {
			for range rounds {
				for !take() {
					waiters[i].Join()
					if take() {
						break
					}
					for l.waiting = true; l.waiting; {
						(<-l.work).Runner.Run()
					}
				}
				room.Add(1)
				ws.Wake()
			}
			ended.Done()
			for { // room that it does not need is for the others
				select {
				case w := <-l.work:
					w.Runner.Run()
				case <-done:
					return
				}
			}
		})
	}
	ended.Wait()
	close(done)
	wg.Wait()
}
