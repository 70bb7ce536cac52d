package engine

import (
	"fmt"
	"time"

	"github.com/reactord/reactord/bench/record"
)

// Connect opens connections and closes them. Each connection of the load is a slot that repeats this. A message, in
// the counts, is a connection that was opened, exchanged its message if Size is not 0, and was closed. The latency
// is from the time at which opening was due to the time at which the connection had done its work.
type Connect struct {
	Close string `yaml:"close" enum:"fin,rst" default:"fin" help:"How connections are closed: fin leaves the port in TIME_WAIT for a minute, rst does not."`
	Size  int    `yaml:"size" default:"0" placeholder:"BYTES" help:"Send a message of this many bytes and wait for its echo before closing."`

	Stay time.Duration `yaml:"stay" default:"0s" help:"Keep each connection open for this time before closing it. The time is not part of the latency."`
}

func (m *Connect) prepare(cfg *Config) error {
	if m.Close == "" {
		m.Close = "fin"
	}
	if m.Close != "fin" && m.Close != "rst" {
		return fmt.Errorf("a connection is closed by fin or rst, not %q", m.Close)
	}
	if m.Size < 0 || m.Size > MaxMessage {
		return fmt.Errorf("a message of %d bytes", m.Size)
	}
	if m.Stay < 0 {
		return fmt.Errorf("connections that stay for %v", m.Stay)
	}
	return cfg.needStream()
}

func (m *Connect) persistent() bool { return false }
func (m *Connect) maxPiece() int    { return max(m.Size, 1) }

func (m *Connect) session(c *conn) session {
	s := &connectSession{slot: slot{base: base{c}}, mode: m}
	if m.Size > 0 {
		sizes := FixedSize(m.Size)
		s.codec = newEchoCodec(c, &sizes)
	}
	return s
}

// connectSession is one slot.
type connectSession struct {
	slot
	mode  *Connect
	codec *echoCodec // nil: no message
	part  bool       // a part of the message was received
}

func (s *connectSession) begin(intended, now int64) {
	s.part = false
	s.take(intended, now)
}

func (s *connectSession) opened() {
	if s.codec == nil {
		s.finish()
		return
	}
	s.codec.reset()
	s.c.since = s.sent
	s.c.write(s.codec.request())
}

func (s *connectSession) received(p []byte) {
	if s.codec == nil || s.whole != 0 {
		s.c.fail(record.Excess)
		return
	}
	n, done, err := s.codec.reply(p)
	switch {
	case err != nil:
		s.c.fail(record.Corrupt)
	case n < len(p):
		s.c.fail(record.Excess)
	case done:
		s.finish()
	default:
		s.part = true
	}
}

func (s *connectSession) ended() {
	switch {
	case s.part:
		s.c.fail(record.Short)
	default:
		s.c.fail(record.Closed)
	}
}

// finish closes a connection that has done its work, after Stay.
func (s *connectSession) finish() {
	s.done()
	if s.mode.Stay > 0 {
		s.c.setTimer(s.whole + int64(s.mode.Stay))
		return
	}
	s.expired()
}

func (s *connectSession) expired() { s.c.close(s.mode.Close == "rst") }
