package proxy

import (
	"encoding/binary"
	"math/bits"
	"net/netip"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// stepsPerTurn bounds the steps of handshakes that a turn of the loop computes. A step takes up to a few hundred
// microseconds, and whatever else is ready waits for it. What takes longer is offloaded.
const stepsPerTurn = 1

// handshakeTurns bounds what handshakes compute in a turn of the loop. Those beyond it wait in lines, which take turns:
// many handshakes of one source hardly delay those of others. A source has a line at random, which it may share.
type handshakeTurns struct {
	loop  *reactor.Loop
	next  reactor.Timer // begins the next turn
	taken int           // in this turn
	lines [1 << lineBits]waitQueue
	last  int    // the line that took the last turn
	key   uint64 // of the choice of lines, so that no client can choose
}

const lineBits = 6

func (s *handshakeTurns) init(l *reactor.Loop, key uint64) {
	s.loop, s.key = l, key
	s.next.Init(s)
}

// awaitTurn waits for the handshake's turn to compute.
func (h *handshake) awaitTurn() error {
	c := h.side.layer.conn
	turns := &c.worker().handshakeTurns
	if turns.take() {
		return nil
	}
	line := turns.line(c.clientAddr().Addr())
	_, err := task.Await(h.t, sender.Timeout(line.wait(&h.place, c), c.loop().SleepUntil(h.deadline)))
	return err
}

// take takes a step of this turn, unless all are taken.
func (s *handshakeTurns) take() bool {
	if s.taken == stepsPerTurn || s.nextLine() >= 0 {
		return false
	}
	s.begin()
	return true
}

func (s *handshakeTurns) begin() {
	if s.taken++; !s.next.Pending() {
		s.loop.SetTimer(&s.next, s.loop.Now())
	}
}

// OnTimer begins a turn.
func (s *handshakeTurns) OnTimer(int64) {
	for s.taken = 0; s.taken < stepsPerTurn; {
		line := s.nextLine()
		if line < 0 {
			return
		}
		s.last = line
		s.begin()
		s.lines[line].first().leave(nil)
	}
}

// line returns where the handshakes of a client wait. An IPv6 address is in that of its first 64 bits.
func (s *handshakeTurns) line(client netip.Addr) *waitQueue {
	a := client.Unmap().WithZone("").As16()
	source := binary.BigEndian.Uint64(a[:8])
	if client.Unmap().Is4() {
		source = binary.BigEndian.Uint64(a[8:])
	}
	high, low := bits.Mul64(source^s.key, 0x9e3779b97f4a7c15)
	return &s.lines[(high^low)>>(64-lineBits)]
}

// nextLine returns the line that takes the next turn, or -1 if no handshake waits.
func (s *handshakeTurns) nextLine() int {
	for i := range s.lines {
		if line := (s.last + 1 + i) % len(s.lines); s.lines[line].length != 0 {
			return line
		}
	}
	return -1
}
