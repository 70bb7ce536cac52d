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
	return &halfCloseSession{slot: slot{base: base{c}}, codec: newEchoCodec(c, &m.Size)}
}

type halfCloseSession struct {
	slot  // sent: when the connection was half-closed
	codec *echoCodec
	left  int64 // bytes that are missing
}

func (s *halfCloseSession) begin(intended, _ int64) {
	s.take(intended, 0)
}

func (s *halfCloseSession) opened() {
	s.codec.reset()
	p := s.codec.request()
	s.left = int64(len(p))
	s.c.since = s.c.clock()
	s.c.write(p)
}

func (s *halfCloseSession) drained() {
	if s.sent != 0 {
		return
	}
	s.sent = s.c.clock()
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
	if s.left > 0 || s.sent == 0 {
		s.c.fail(record.Short)
		return
	}
	s.done()
	s.c.close(false)
}
