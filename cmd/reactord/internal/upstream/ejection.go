package upstream

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// ejection takes a server out for a time after connecting to it has failed. Any loop may suggest it; the control loop
// decides.
//
// An ejection ends when its time is up, when the server's check has passed Rise times, or when no other server could
// serve instead. If checks pass while connects fail, each ejection that a check ends raises the passes that end
// the next one by Rise, until a connect succeeds.
type ejection struct {
	sender.Work // of a suggestion
	server      *Server
	suggested   atomic.Bool // Work is enqueued

	// Owned by the control loop.
	back    reactor.Timer // when the server is back
	times   int           // recent ejections
	backAt  int64         // when the last ejection ended, or this one will
	began   int64         // when this ejection began, or the last one
	passes  int           // consecutive passed checks that began after that
	misled  int           // consecutive ejections that a check has ended, without a successful connect since
	trusted bool          // a check ended the last ejection
	served  uint64        // successful connects when that ejection ended
}

func (e *ejection) init(s *Server) {
	e.server = s
	e.Runner = e
	e.back.Init(e)
}

// suggest asks the control loop to eject the server. It may be called from any thread.
func (e *ejection) suggest() {
	if !e.suggested.Load() && e.suggested.CompareAndSwap(false, true) {
		e.server.Backend.directory.Loop.Enqueue(&e.Work)
	}
}

// Run decides on the control loop.
func (e *ejection) Run() {
	e.suggested.Store(false)
	s := e.server
	n := s.counters.inARow.Load()
	if s.life != lifeMember || !s.Backend.shouldEject(n) {
		return // no longer due
	}
	s.counters.inARow.Store(0)
	switch {
	case s.State() != Up || s.plan.Load().Health != plan.HealthAuto: // forced up
	case s.Backend.mayEject(s):
		e.begin(n)
	case s.isChecked():
		s.checking.monitor.Suspect()
	}
}

// begin ejects the server after a number of consecutive failures.
func (e *ejection) begin(failures int32) {
	s := e.server
	c := &s.Backend.Settings().Ejection
	now := s.Backend.now()
	if now-e.backAt > int64(c.MaxTime) {
		e.times = 0
	}
	e.times++
	if e.trusted && s.counters.Total.Load() == e.served {
		e.misled++
	} else {
		e.misled = 0
	}
	d := min(time.Duration(e.times)*c.Time, max(c.MaxTime, c.Time))
	e.began, e.backAt, e.passes, e.trusted = now, now+int64(d), 0, false
	s.Backend.directory.Loop.SetTimer(&e.back, e.backAt)
	s.counters.Ejections.Add(1)
	until := ""
	if s.isChecked() {
		until = fmt.Sprintf(", or until %d consecutive checks pass", e.needed())
	}
	s.report(signalEjection, Ejected, fmt.Sprintf("%d consecutive connects failed; ejected for %v%s", failures, d, until))
}

// needed returns how many consecutive passed checks end the ejection.
func (e *ejection) needed() int {
	return max(1, e.server.checking.as.check.Rise) * (1 + e.misled)
}

// checked handles a conclusive check that began at the loop's time began.
func (e *ejection) checked(passed bool, began int64) {
	switch {
	case e.server.status.Load().states[signalEjection] != Ejected:
	case !passed:
		e.passes, e.misled = 0, 0 // the check agrees with the connects
	case began > e.began:
		if e.passes++; e.passes >= e.needed() {
			e.trusted, e.served = true, e.server.counters.Total.Load()
			e.end()
		}
	}
}

// Abandon does nothing: the loop has stopped.
func (e *ejection) Abandon(error) {}

// OnTimer ends the ejection.
func (e *ejection) OnTimer(int64) { e.end() }

// end ends the ejection, if there is one.
func (e *ejection) end() {
	e.stop()
	e.backAt = min(e.backAt, e.server.Backend.now())
	e.server.counters.inARow.Store(0) // connects that began before the end have failed since
	e.server.report(signalEjection, Up, "")
}

func (e *ejection) stop() { e.server.Backend.directory.Loop.StopTimer(&e.back) }

// shouldEject reports whether this many consecutive failures call for an ejection.
func (b *Backend) shouldEject(failures int32) bool {
	most := b.Settings().Ejection.Failures
	return most != 0 && int(failures) >= most
}

// candidates counts the servers that could serve if none were ejected.
type candidates struct {
	all, ejected int
	serving      int         // not ejected
	byPriority   map[int]int // serving, by priority
}

func (b *Backend) candidates() candidates {
	c := candidates{byPriority: map[int]int{}}
	for i, s := range b.member.servers {
		p := &b.member.plan.Servers[i]
		st := s.status.Load()
		switch {
		case !st.couldServe(p):
			continue
		case st.isEjected():
			c.ejected++
		default:
			c.serving++
			c.byPriority[priority(p)]++
		}
		c.all++
	}
	return c
}

// substitutes returns how many others can serve instead of a server. For a server with checks, only those of its
// priority count: its check decides whether to leave the priority.
func (c *candidates) substitutes(s *Server) (n int) {
	p, st := s.plan.Load(), s.status.Load()
	if n = c.serving; s.isChecked() {
		n = c.byPriority[priority(p)]
	}
	if st.couldServe(p) && !st.isEjected() {
		n-- // itself
	}
	return n
}

// priority returns the priority of a server, with backups last.
func priority(p *plan.Server) int {
	if p.Backup {
		return math.MaxInt
	}
	return p.Priority
}

// mayEject reports whether one more server, which is up, may be ejected. One always may, if others can serve.
func (b *Backend) mayEject(s *Server) bool {
	c := b.candidates()
	return c.substitutes(s) > 0 && c.ejected < max(1, c.all*b.Settings().Ejection.MaxPercent/100)
}

// endEjections ends the ejections of servers that no other can replace.
func (b *Backend) endEjections() {
	c := b.candidates()
	if c.ejected == 0 {
		return
	}
	for i, s := range b.member.servers {
		st := s.status.Load()
		if st.isEjected() && st.couldServe(&b.member.plan.Servers[i]) && c.substitutes(s) == 0 {
			s.ejection.end()
		}
	}
}
