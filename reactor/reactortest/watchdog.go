package reactortest

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// watch ends the process if the runs make no progress for too long in real time. stop ends the watch.
//
// It counts ticks, and not time, so that a process that was stopped, or that a debugger holds, is not ended for it.
func (p *player) watch() (stop func()) {
	if p.Stall < 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		const ticks = 10
		ticker := time.NewTicker(max(p.Stall/ticks, 1))
		defer ticker.Stop()
		var lastRun *run
		var lastTurns uint64
		for idle := 0; ; idle++ {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			r := p.playing.Load()
			turns := uint64(0)
			if r != nil {
				turns, _ = r.k.Progress()
			}
			if r == nil || r != lastRun || turns != lastTurns {
				lastRun, lastTurns, idle = r, turns, 0
			}
			if idle > ticks {
				p.stalled(r)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (p *player) stalled(r *run) {
	_, thread := r.k.Progress()
	who := "the program"
	if thread != nil {
		who = thread.String()
	}
	fmt.Fprintf(os.Stderr, "reactortest: %s, seed %d: %s has held the simulation for %v of real time.\n"+
		"\tIt waits for something outside of the simulation (a goroutine, a channel, a lock, time.Sleep, package net, a "+
		"child process), or it loops.\n\tIn a test with reactortest.Run, wait by senders on a loop, and by methods of Peer. "+
		"The stacks follow: look for [coroutine].\n\tConfig.Stall is how long is too long.\n\t%s\n",
		p.t.Name(), r.seed, who, p.Stall, command(p.t.Name(), r.seed, p.faults))
	debug.SetTraceback("all")
	panic(fmt.Sprintf("reactortest: %s blocks the simulation", who))
}
