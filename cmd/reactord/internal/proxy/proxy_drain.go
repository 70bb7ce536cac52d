package proxy

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// DrainPhase is the phase of a drain. It only advances:
//
//	not draining → delay    Drain
//	delay        → closing  the delay has passed: accepting has ended
//	closing      → ended    all connections have ended, or were reset
type DrainPhase uint32

// The phases of a drain.
const (
	NotDraining  DrainPhase = iota
	DrainDelay              // connections are still accepted
	DrainClosing            // open connections end: by themselves, spread over a time, or by the timeout
	DrainEnded
)

// String returns "not draining", "delay", "closing" or "ended".
func (d DrainPhase) String() string {
	return [...]string{"not draining", "delay", "closing", "ended"}[d]
}

// ErrDrainTimeout is the error of a drain whose timeout has passed before all connections had ended. They were reset.
var ErrDrainTimeout = errors.New("the drain timed out, and the remaining connections were reset")

// drain is the state of a drain.
type drain struct {
	phase    atomic.Uint32
	timedOut atomic.Bool
}

// DrainPhase returns how far the proxy's drain has come. It may be called from any goroutine.
func (p *Proxy) DrainPhase() DrainPhase { return DrainPhase(p.draining.phase.Load()) }

// Open returns how many connections are open. It may be called from any goroutine.
func (p *Proxy) Open() (n int64) {
	for _, w := range p.workers {
		n += w.open.Load()
	}
	return n
}

// StopAccepting leaves accepting to another process, which has the sockets of [Proxy.ListenSockets]: they are closed
// here, with their queues left to the other one. Health checks end, and further plans are refused. Open connections
// live on until [Proxy.Drain]. It may be called from any goroutine.
func (p *Proxy) StopAccepting() {
	p.planning.Lock()
	p.stopped, p.handedOver = true, true
	p.planning.Unlock()
	p.each((*worker).stopAccepting)
}

// EndOver ends open connections evenly spread over a time while [Proxy.Drain] waits for them, as the Spread of a drain
// does. 0: they are left alone. It is called once, from any goroutine.
func (p *Proxy) EndOver(spread time.Duration) {
	if spread > 0 {
		p.each(func(w *worker) { w.spread.begin(spread) })
	}
}

func (p *Proxy) stopPlanning() {
	p.planning.Lock()
	defer p.planning.Unlock()
	p.stopped = true
}

// Drain ends the proxy in phases: it accepts connections for d.Delay; it stops, and ends open connections evenly spread
// over d.Spread, if that is set; after d.Timeout it resets those that are left. A connection whose turn has come is
// ended by EOF on both sides if no byte is in flight and none has moved for 100 ms, so that all that was received is
// delivered. Otherwise its turn comes again, a second later; one that is never quiet is left until the timeout.
//
// It returns when the proxy has ended, with an error that matches [ErrDrainTimeout] if connections had to be reset. If
// ctx is done first, it resets them immediately. Only the first of several calls counts; the others wait. It may be
// called from any goroutine.
func (p *Proxy) Drain(ctx context.Context, d config.Drain) error {
	p.drainOnce.Do(func() { p.drain(ctx, d) })
	select {
	case <-p.ended:
		return p.drained()
	case <-ctx.Done():
		return p.Close()
	}
}

// drain carries out the phases until the proxy has ended or ctx is done.
func (p *Proxy) drain(ctx context.Context, d config.Drain) {
	p.draining.phase.Store(uint32(DrainDelay))
	if !p.waitFor(ctx, d.Delay) {
		return
	}
	p.draining.phase.Store(uint32(DrainClosing))
	p.stopPlanning()
	p.removeFiles(true)
	p.each(func(w *worker) {
		if w.drain(); d.Spread > 0 {
			w.spread.begin(d.Spread)
		}
	})
	if p.waitFor(ctx, d.Timeout) {
		p.draining.timedOut.Store(p.Open() != 0)
		_ = p.Close()
	}
}

// waitFor waits for a time, and reports whether it has passed before the proxy ended or ctx was done.
func (p *Proxy) waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ended:
	case <-ctx.Done():
	}
	return false
}

func (p *Proxy) drained() error {
	if p.err == nil && p.draining.timedOut.Load() {
		return ErrDrainTimeout
	}
	return p.err
}

// spread ends the connections of a worker evenly over a time. It is a walk that the worker's timer continues. When it
// has visited all, it visits those again that were not quiet.
type spread struct {
	walk
	timer reactor.Timer
	over  int64 // ns
	since int64
	due   int // connections to visit in that time
	done  int // of them
}

// spreadStep is the least time between two expirations of the timer.
const spreadStep = int64(5 * time.Millisecond)

// spreadAgain is the time over which those are visited again that were not quiet.
const spreadAgain = int64(time.Second)

func (s *spread) init(w *worker) {
	s.worker = w
	s.timer.Init(s)
}

// begin begins to visit all connections over a time.
func (s *spread) begin(over time.Duration) {
	s.worker.walks = append(s.worker.walks, &s.walk)
	s.round(max(int64(over), 1))
}

func (s *spread) round(over int64) {
	w := s.worker
	s.next, s.over, s.since = w.conns.First(), over, w.loop.Now()
	s.due, s.done = int(w.open.Load())-w.openSessions(), 0
	s.arm()
}

// openSessions returns how many UDP sessions are open. They are among worker.open, and end by themselves.
func (w *worker) openSessions() (n int) {
	for _, l := range w.listeners {
		if l.udp != nil {
			n += l.udp.Sessions()
		}
	}
	return n
}

// arm sets the timer to the turn of the next connection.
func (s *spread) arm() {
	at := s.since + mulDiv(s.over, s.done+1, max(s.due, 1))
	s.worker.loop.SetTimer(&s.timer, max(at, s.worker.loop.Now()+spreadStep))
}

// OnTimer visits the connections whose turn has come. After a stall it catches up with few in each turn of the loop.
func (s *spread) OnTimer(int64) {
	w := s.worker
	for n := mulDiv(int64(s.due), min(w.loop.Now()-s.since, s.over), s.over); int64(s.done) < n && s.next != nil; {
		if s.done%walkBatch == walkBatch-1 {
			n = 0
		}
		c := connOf(s.next)
		s.next = s.next.Next()
		s.done++
		c.endIfQuiet()
	}
	switch {
	case w.conns.Empty():
		s.end()
	case s.next == nil:
		s.round(max(s.since+s.over-w.loop.Now(), spreadAgain))
	default:
		s.arm()
	}
}

// mulDiv returns x·a/b, for numbers that are not negative and a result that is not much more than x: the product may be
// greater than an int64.
func mulDiv[I int | int64](x int64, a, b I) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(a))
	q, _ := bits.Div64(hi, lo, uint64(b))
	return int64(q)
}

func (s *spread) end() {
	w := s.worker
	w.loop.StopTimer(&s.timer)
	w.walks = slices.DeleteFunc(w.walks, func(other *walk) bool { return other == &s.walk })
}

// quietFor is how long no byte must have moved before a drain ends a connection: a sender between two of its pieces is
// not quiet.
const quietFor = 100 * time.Millisecond

// endIfQuiet ends the connection by EOF on both sides, if no byte is in flight and none was for a time.
func (c *conn) endIfQuiet() {
	if c.phase == phaseFlowing && !c.rests() && c.undelivered() == noSide && c.idleFor() >= quietFor {
		c.close(reasonDrain, noSide)
	}
}
