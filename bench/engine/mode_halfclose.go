package engine

import (
	"github.com/reactord/reactord/bench/record"
)

// HalfClose sends a message, ends its own direction at once, and expects every byte back and then the
// end: what is between must not take the end of one direction for that of both. Each connection of the
// load is a slot that does so over and over. The latency is from the moment at which the connection was
// meant to be opened to the end that came back, the service time from the end that was sent.
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
	intended int64 // when the connection was meant to be opened
	left     int64 // bytes that have not come back
	cut      int64 // when the end was sent; 0: it has not been
	whole    int64 // when the end came back; 0: it has not
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
