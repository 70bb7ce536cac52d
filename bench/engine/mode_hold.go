package engine

import (
	"time"

	"github.com/reactord/reactord/bench/record"
)

// Hold opens connections and keeps them open. It measures how fast they can be opened, what they cost the target, and
// whether they stay open. With Every each connection sends a message periodically, to check that it still works. With
// Hello it sends one when it is open, so that the target has served it once.
type Hold struct {
	Every time.Duration `yaml:"every" default:"0s" help:"Each connection sends a message with this period and waits for its echo; 0s: none."`
	Hello bool          `yaml:"hello" help:"Each connection sends a message when it is open and waits for its echo."`
	Size  Sizes         `yaml:"size" default:"64" help:"Bytes of these messages."`
}

func (m *Hold) prepare(cfg *Config) error {
	setDefault(&m.Size, 64)
	return cfg.needStream()
}

func (m *Hold) persistent() bool { return true }
func (m *Hold) maxPiece() int    { return m.Size.Max() }

func (m *Hold) session(c *conn) session {
	return &holdSession{exchange: newExchange(c, newEchoCodec(c, &m.Size), 1), every: m.Every, hello: m.Hello}
}

// holdSession is an exchange whose work is given by its own timer.
type holdSession struct {
	*exchange
	every time.Duration
	hello bool
}

func (s *holdSession) opened() {
	s.codec.reset()
	if s.hello {
		now := s.c.clock()
		s.c.group.begin(s.c, now, now)
	}
	if s.every > 0 { // spread over the period, so that they do not all send together
		s.c.setTimer(s.c.clock() + int64(unit(s.c.group.random(s.c.index+1))*float64(s.every)))
	}
}

func (s *holdSession) expired() {
	now := s.c.clock()
	s.c.setTimer(now + int64(s.every))
	if s.n == 0 && s.c.group.pace != paceNone {
		s.c.group.begin(s.c, now, now)
	}
}

// begin sends a message. It is called when a phase begins, and by expired.
func (s *holdSession) begin(intended, now int64) { s.exchange.begin(intended, now) }

func (s *holdSession) received(p []byte) {
	if s.n == 0 {
		s.c.fail(record.Excess)
		return
	}
	n, done, err := s.codec.reply(p)
	switch {
	case err != nil:
		s.c.fail(kindOf(err))
	case n < len(p):
		s.c.fail(record.Excess)
	case done:
		sent := s.under[s.first]
		s.pop()
		s.part, s.c.since = false, 0
		now := s.c.clock()
		s.c.longest = max(s.c.longest, now-sent.sent)
		s.c.group.messageDone(sent.intended, sent.sent, now)
	default:
		s.part = true
	}
}
