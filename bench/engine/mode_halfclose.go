package engine

import (
	"github.com/reactord/reactord/bench/record"
)

// HalfClose sends a message, immediately half-closes the connection, and expects every byte back and then EOF. A proxy
// in between must not close both directions when one has ended. Each connection of the load is a slot that repeats
// this. The latency is from the time at which opening was due to EOF, the service time from the half-close to EOF.
type HalfClose struct {
	Size Sizes `yaml:"size" default:"16k" help:"Bytes of the message."`
}

func (m *HalfClose) prepare(cfg *Config) error {
	setDefault(&m.Size, 16<<10)
	return cfg.needStream()
}

func (m *HalfClose) persistent() bool { return false }
func (m *HalfClose) maxPiece() int    { return m.Size.Max() }

func (m *HalfClose) session(c *conn) session {
	return &halfCloseSession{base: base{c}, codec: newEchoCodec(c, &m.Size)}
}

type halfCloseSession struct {
	base
	codec    *echoCodec
	intended int64 // when opening was due
	left     int64 // bytes that are missing
	cut      int64 // when it was half-closed; 0: not yet
	whole    int64 // when EOF was received; 0: not yet
}

func (s *halfCloseSession) begin(intended, _ int64) {
	s.intended, s.cut, s.whole = intended, 0, 0
	s.c.open()
}

func (s *halfCloseSession) opened() {
	s.codec.reset()
	p := s.codec.request()
	s.left = int64(len(p))
	s.c.since = s.c.clock()
	s.c.write(p)
}

func (s *halfCloseSession) drained() {
	if s.cut != 0 {
		return
	}
	s.cut = s.c.clock()
	if err := s.c.closeWrite(); err != nil {
		s.c.fail(record.FailureOf(err))
	}
}

func (s *halfCloseSession) received(p []byte) {
	if int64(len(p)) > s.left {
		s.c.fail(record.Excess)
		return
	}
	if _, _, err := s.codec.reply(p); err != nil {
		s.c.fail(record.Corrupt)
		return
	}
	s.left -= int64(len(p))
}

func (s *halfCloseSession) ended() {
	if s.left > 0 || s.cut == 0 {
		s.c.fail(record.Short)
		return
	}
	s.whole = s.c.clock()
	s.c.since = 0
	s.c.close(false)
}

func (s *halfCloseSession) closed() {
	g, now := s.c.group, s.c.clock()
	if s.whole != 0 && !s.c.failed {
		g.messageDone(s.intended, s.cut, s.whole)
		g.ready(s.c, now)
		return
	}
	g.done(1, now)
	s.c.restart()
}
