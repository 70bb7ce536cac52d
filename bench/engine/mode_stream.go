package engine

import (
	"bytes"
	"fmt"

	"github.com/reactord/reactord/bench/record"
)

// Stream sends as much as the target takes, or receives as much as the target sends. The direction up needs a target
// that discards, down a target that sends by itself, both a target that echoes. The figure is bytes a second. A message
// is a chunk that the kernel took, or in the direction down a chunk that was received.
type Stream struct {
	Direction string `yaml:"direction" enum:"up,down,both" default:"up" help:"Direction of the stream: up, down or both."`
	Chunk     Sizes  `yaml:"chunk" default:"64k" help:"Bytes of each send."`
}

func (m *Stream) prepare(cfg *Config) error {
	setDefault(&m.Chunk, 64<<10)
	switch m.Direction {
	case "":
		m.Direction = "up"
	case "down":
		cfg.foreign = true
	case "up", "both":
	default:
		return fmt.Errorf("a stream goes up, down or both, not %q", m.Direction)
	}
	return cfg.needStream()
}

func (m *Stream) persistent() bool { return true }

// Received bytes are compared piece by piece, and a piece is at most a receive buffer.
func (m *Stream) maxPiece() int { return max(m.Chunk.Max(), 1<<20) }

func (m *Stream) session(c *conn) session {
	return &streamSession{base: base{c}, mode: m, echo: newEchoCodec(c, &m.Chunk)}
}

// streamSession has one piece of work for a whole phase. It is ready again when the phase ends.
type streamSession struct {
	base
	mode    *Stream
	echo    *echoCodec
	working bool
	chunk   int64 // received bytes since the last complete chunk
}

func (s *streamSession) opened() {
	s.echo.reset()
	if s.mode.Direction == "down" {
		s.echo.inAt = 0 // the target begins there on every connection
	}
	s.c.group.ready(s.c, s.c.clock())
}

func (s *streamSession) begin(_, now int64) {
	s.working = true
	s.c.group.done(1, now) // the end of the phase does not wait for it
	if s.mode.Direction != "down" {
		s.c.since = now
		s.c.write(s.echo.request())
	}
}

func (s *streamSession) drained() {
	g, now := s.c.group, s.c.clock()
	g.win.Messages++
	g.last = now
	if g.pace == paceNone {
		s.working, s.c.since = false, 0
		g.ready(s.c, now)
		return
	}
	s.c.since = now
	s.c.write(s.echo.request())
}

func (s *streamSession) received(p []byte) {
	g := s.c.group
	switch s.mode.Direction {
	case "up":
		s.c.fail(record.Excess)
		return
	case "down":
		if s.chunk += int64(len(p)); s.chunk >= int64(s.mode.Chunk.Max()) {
			g.win.Messages += s.chunk / int64(s.mode.Chunk.Max())
			s.chunk %= int64(s.mode.Chunk.Max())
		}
		g.last = s.c.clock()
		if s.working && g.pace == paceNone {
			s.working = false
			g.ready(s.c, g.last)
		}
	}
	if g.w.verify {
		if !bytes.Equal(p, g.w.g.pattern.At(s.echo.inAt, len(p))) {
			s.c.fail(record.Corrupt)
			return
		}
		g.win.Verified += int64(len(p))
	}
	s.echo.inAt += int64(len(p))
}

func (s *streamSession) closed() {
	s.working, s.chunk = false, 0
	s.c.reopen()
}
