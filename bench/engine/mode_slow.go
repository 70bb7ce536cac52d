package engine

import (
	"errors"
	"time"
)

// Slow sends its messages a few bytes at a time, as a peer with a bad link does, or one that wants to
// hold the target's connections. What it finds is whether the target serves others meanwhile (beside
// another part in a mix), and whether it keeps the connection: one that it closes is an error. The
// latency is from the last piece of a message to the end of its reply.
//
// A small receive buffer (RecvBuffer of the load) makes the connections slow readers as well.
type Slow struct {
	Size  Sizes         `yaml:"size" default:"128" help:"Bytes of a message."`
	Piece int           `yaml:"piece" default:"1" help:"Bytes that are sent at once."`
	Every time.Duration `yaml:"every" default:"100ms" help:"The time between two pieces."`
}

func (m *Slow) prepare(cfg *Config) error {
	setDefault(&m.Size, 128)
	if m.Every == 0 {
		m.Every = 100 * time.Millisecond
	}
	m.Piece = max(m.Piece, 1)
	if m.Every < 0 {
		return errors.New("a negative time between two pieces")
	}
	return cfg.needStream()
}

func (m *Slow) persistent() bool { return true }
func (m *Slow) maxPiece() int    { return m.Size.Max() }

func (m *Slow) session(c *conn) session {
	return &slowSession{exchange: newExchange(c, newEchoCodec(c, &m.Size), 1), mode: m}
}

// slowSession is an exchange that writes bit by bit. Only when the last piece is out has the message
// been sent.
type slowSession struct {
	*exchange
	mode *Slow
	rest []byte
}

func (s *slowSession) begin(_, _ int64) {
	s.rest = s.codec.request()
	s.under[s.first] = stamp{}
	s.n = 1
	s.expired()
}

func (s *slowSession) expired() {
	now := s.c.clock()
	n := min(s.mode.Piece, len(s.rest))
	piece := s.rest[:n]
	if s.rest = s.rest[n:]; len(s.rest) == 0 {
		s.under[s.first] = stamp{now, now}
		s.c.since = now
	} else {
		s.c.setTimer(now + int64(s.mode.Every))
	}
	s.c.write(piece)
}

func (s *slowSession) closed() {
	s.rest = nil
	s.exchange.closed()
}
