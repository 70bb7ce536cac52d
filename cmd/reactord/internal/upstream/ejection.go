package upstream

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// ejection takes a server out for a time after connects have failed. Any loop may suggest it; the control loop decides.
type ejection struct {
	sender.Work // of a suggestion
	server      *Server
	suggested   atomic.Bool // Work is queued

	// What the control loop has.
	back   reactor.Timer // when the server is back
	times  int           // recent ejections
	backAt int64         // when it was back last, or will be
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
	if s.State() != Up || !s.Backend.mayEject() {
		return
	}
	c := &s.Backend.Settings().Ejection
	now := s.Backend.now()
	if now-e.backAt > int64(c.MaxTime) {
		e.times = 0
	}
	e.times++
	d := min(time.Duration(e.times)*c.Time, max(c.MaxTime, c.Time))
	e.backAt = now + int64(d)
	s.Backend.directory.Loop.SetTimer(&e.back, e.backAt)
	s.counters.ejections.Add(1)
	s.hear(voiceEjection, Ejected, fmt.Sprintf("%d connects in a row have failed; out for %v", n, d))
}

// Abandon does nothing: the loop has ended.
func (e *ejection) Abandon(error) {}

// OnTimer lets the server back.
func (e *ejection) OnTimer(int64) { e.end() }

// end lets the server back, if it is out.
func (e *ejection) end() {
	e.stop()
	e.server.counters.inARow.Store(0) // connects that began before have failed since
	e.server.hear(voiceEjection, Up, "")
}

func (e *ejection) stop() { e.server.Backend.directory.Loop.StopTimer(&e.back) }

// tooMany reports whether a server is to be ejected after so many failures in a row.
func (b *Backend) tooMany(failures int32) bool {
	most := b.Settings().Ejection.Failures
	return most != 0 && int(failures) >= most
}

// mayEject reports whether one more server may be ejected. One always may, if there is another that takes part.
func (b *Backend) mayEject() bool {
	members, out := 0, 0
	for _, s := range b.member.servers {
		st := s.standing.Load()
		if st.state().takesPart() {
			members++
		}
		if st.says[voiceEjection] == Ejected {
			out++
		}
	}
	return members > 1 && out < max(1, members*b.Settings().Ejection.MaxPercent/100)
}
