package proxy

import "github.com/reactord/reactord/reactor"

// handshakeSteps lets handshakes compute one step in a turn of the loop. A step takes up to a few hundred microseconds,
// and whatever else is ready waits for it. What takes longer is offloaded.
type handshakeSteps struct {
	loop    *reactor.Loop
	taken   bool          // the step of this turn
	next    reactor.Timer // expires in the next turn
	waiting fairQueue
}

func (s *handshakeSteps) init(l *reactor.Loop, key uint64) {
	s.loop, s.waiting.key = l, key
	s.next.Init(s)
}

// await waits for the step of the handshake.
func (s *handshakeSteps) await(h *handshake) error {
	if s.take() {
		return nil
	}
	return s.waiting.wait(h)
}

// take takes the step of this turn, unless it is taken or others wait for one.
func (s *handshakeSteps) take() bool {
	if s.taken || !s.waiting.empty() {
		return false
	}
	s.begin()
	return true
}

func (s *handshakeSteps) begin() {
	s.taken = true
	s.loop.SetTimer(&s.next, s.loop.Now()+int64(nextTurn))
}

// OnTimer serves a handshake that waits.
func (s *handshakeSteps) OnTimer(int64) {
	s.taken = false
	if !s.waiting.empty() {
		s.begin()
		s.waiting.serve()
	}
}
