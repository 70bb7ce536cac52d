package reactortest

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
)

// Peer is a simulated thread of another process on the machine: a client or a server that the program under test talks
// to, in direct style. Its calls, and those of what it has opened, wait in virtual time. They meet no faults but those
// of the network. They are made on its thread: by the function of [Machine.Peer].
type Peer struct {
	m    *Machine
	name string
	t    *simring.Thread
	open []io.Closer
	over bool // it has ended, or its machine has lost its power
}

// Peer makes a peer, which runs f. What it has open when f returns is closed, as when a process ends. When the last
// peer of the run has ended, all loops are stopped.
func (m *Machine) Peer(name string, f func(p *Peer)) {
	m.useForThread()
	p := &Peer{m: m, name: name}
	m.r.peers++
	p.t = m.k.Go(name, func(*simring.Thread) {
		defer p.end()
		f(p)
	})
	m.r.threads[p.t] = p
}

func (p *Peer) end() {
	if p.over {
		return
	}
	for _, c := range slices.Backward(p.open) {
		_ = c.Close()
	}
	p.leave()
}

// leave stops all loops if no other peer is left.
func (p *Peer) leave() {
	p.over = true
	r := p.m.r
	if r.peers--; r.peers == 0 {
		r.ending = true
		for _, l := range r.loops {
			l.Stop()
		}
	}
}

// use panics if the call is not made on the peer's thread.
func (p *Peer) use() {
	p.m.use()
	if p.m.k.Running() != p.t {
		panic(fmt.Sprintf("reactortest: a method of peer %s is called elsewhere than in its function: "+
			"each peer uses its own, and loops use none", p.name))
	}
}

// Machine returns the machine that the peer runs on.
func (p *Peer) Machine() *Machine { return p.m }

// Now returns the virtual time since the run began.
func (p *Peer) Now() time.Duration { return p.m.Now() }

// Time returns the virtual time as a time of package time, for deadlines. Runs begin at the beginning of the year 2000,
// UTC.
func (p *Peer) Time() time.Time { return epoch.Add(p.Now()) }

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Sleep waits for d.
func (p *Peer) Sleep(d time.Duration) {
	p.use()
	p.t.UntilOr(never, max(d, 0), "Sleep")
}

func never() bool { return false }

// Until waits until what reports true. what is called often, and must neither wait nor change anything.
func (p *Peer) Until(what func() bool) {
	p.use()
	p.t.UntilOr(what, -1, "Until")
}

// UntilEnded waits until the loop has ended, as receiving from [reactor.Loop.Done] does outside of a simulation.
func (p *Peer) UntilEnded(l *reactor.Loop) {
	p.use()
	p.t.UntilOr(func() bool {
		select {
		case <-l.Done():
			return true
		default:
			return false
		}
	}, -1, "UntilEnded")
}

// UntilOr waits until what reports true, for d at most, and returns what it reports in the end.
func (p *Peer) UntilOr(what func() bool, d time.Duration) bool {
	p.use()
	return p.t.UntilOr(what, max(d, 0), "Until")
}

// Errorf reports that something is wrong, as [Machine.Errorf] does.
func (p *Peer) Errorf(format string, args ...any) {
	p.m.Errorf("%s: %s", p.name, fmt.Sprintf(format, args...))
}

// Fatalf reports as Errorf does, and ends the run here: deferred functions run.
func (p *Peer) Fatalf(format string, args ...any) {
	p.use()
	p.Errorf(format, args...)
	p.t.Kill()
}

// Logf writes to the trace that -reactortest.seed prints.
func (p *Peer) Logf(format string, args ...any) { p.m.Logf(format, args...) }
