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

// ejection takes a server out for a time after connects have failed. Any loop may suggest it; the control loop decides.
//
// An ejection ends when its time has passed, when the server's check has passed Rise times, or when no other server is
// left that could serve in its place. A check that has passed although connects fail would end each ejection soon after
// it began: while no connect has succeeded since a check ended one, the next needs Rise passes more.
type ejection struct {
	sender.Work // of a suggestion
	server      *Server
	suggested   atomic.Bool // Work is queued

	// What the control loop has.
	back    reactor.Timer // when the server is back
	times   int           // recent ejections
	backAt  int64         // when it was back last, or will be
	began   int64         // the ejection, or the last one
	passes  int           // checks in a row that began after that, and have passed
	misled  int           // ejections that a check has ended, in a row, without a connect that succeeded since
	trusted bool          // a check has ended the last one
	served  uint64        // connects that had succeeded then
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
	if s.life != lifeMember || !s.Backend.tooMany(n) {
		return // too late
	}
	s.counters.inARow.Store(0)
	switch {
	case s.State() != Up:
	case s.Backend.mayEject(s):
		e.begin(n)
	case s.isChecked():
		s.checking.monitor.Suspect()
	}
}

// begin takes the server out after so many failures.
func (e *ejection) begin(failures int32) {
	s := e.server
	c := &s.Backend.Settings().Ejection
	now := s.Backend.now()
	if now-e.backAt > int64(c.MaxTime) {
		e.times = 0
	}
	e.times++
	if e.trusted && s.counters.connections.Load() == e.served {
		e.misled++
	} else {
		e.misled = 0
	}
	d := min(time.Duration(e.times)*c.Time, max(c.MaxTime, c.Time))
	e.began, e.backAt, e.passes, e.trusted = now, now+int64(d), 0, false
	s.Backend.directory.Loop.SetTimer(&e.back, e.backAt)
	s.counters.ejections.Add(1)
	until := ""
	if s.isChecked() {
		until = fmt.Sprintf(", or until %d checks in a row have passed", e.needed())
	}
	s.hear(voiceEjection, Ejected, fmt.Sprintf("%d connects in a row have failed; out for %v%s", failures, d, until))
}

// needed returns how many checks in a row end the ejection.
func (e *ejection) needed() int {
	return max(1, e.server.checking.as.check.Rise) * (1 + e.misled)
}

// checked takes the result of a check that began at a time of the loop, and was conclusive.
func (e *ejection) checked(passed bool, began int64) {
	switch {
	case e.server.standing.Load().says[voiceEjection] != Ejected:
	case !passed:
		e.passes, e.misled = 0, 0 // it sees what connects see
	case began > e.began:
		if e.passes++; e.passes >= e.needed() {
			e.trusted, e.served = true, e.server.counters.connections.Load()
			e.end()
		}
	}
}

// Abandon does nothing: the loop has ended.
func (e *ejection) Abandon(error) {}

// OnTimer lets the server back.
func (e *ejection) OnTimer(int64) { e.end() }

// end lets the server back, if it is out.
func (e *ejection) end() {
	e.stop()
	e.backAt = min(e.backAt, e.server.Backend.now())
	e.server.counters.inARow.Store(0) // connects that began before have failed since
	e.server.hear(voiceEjection, Up, "")
}

func (e *ejection) stop() { e.server.Backend.directory.Loop.StopTimer(&e.back) }

// tooMany reports whether a server is to be ejected after so many failures in a row.
func (b *Backend) tooMany(failures int32) bool {
	most := b.Settings().Ejection.Failures
	return most != 0 && int(failures) >= most
}

// candidates counts the servers of a backend that could serve if none was ejected.
type candidates struct {
	all, ejected int
	serving      int         // that are not ejected
	byPriority   map[int]int // these, of each priority
}

func (b *Backend) candidates() candidates {
	c := candidates{byPriority: map[int]int{}}
	for i, s := range b.member.servers {
		p := &b.member.plan.Servers[i]
		st := s.standing.Load()
		switch {
		case !st.couldServe(p):
			continue
		case st.says[voiceEjection] == Ejected:
			c.ejected++
		default:
			c.serving++
			c.byPriority[priority(p)]++
		}
		c.all++
	}
	return c
}

// substitutes returns how many others can serve in the place of a server. Whether one that is checked must be left for
// another priority is for its check to say.
func (c *candidates) substitutes(s *Server) (n int) {
	p, st := s.settings.Load(), s.standing.Load()
	if n = c.serving; s.isChecked() {
		n = c.byPriority[priority(p)]
	}
	if st.couldServe(p) && st.says[voiceEjection] != Ejected {
		n-- // itself
	}
	return n
}

// priority returns the priority of a server, backups last.
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

// endEjections lets servers back that no other can serve in the place of any more.
func (b *Backend) endEjections() {
	c := b.candidates()
	if c.ejected == 0 {
		return
	}
	for i, s := range b.member.servers {
		st := s.standing.Load()
		if st.says[voiceEjection] == Ejected && st.couldServe(&b.member.plan.Servers[i]) && c.substitutes(s) == 0 {
			s.ejection.end()
		}
	}
}
