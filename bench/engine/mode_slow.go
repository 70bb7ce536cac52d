package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// Slow sends its messages a few bytes at a time (slow loris), or reads the replies so, as a peer with a bad
// link does, or one that wants to hold the target's connections. What it finds is whether the target
// serves others meanwhile (beside another part in a mix), and whether it keeps the connection: one that it
// closes is an error. The latency is from the last piece of a message to the end of its reply.
//
// Who reads slowly takes Piece bytes every Every from the kernel, which has a small receive buffer for it (4
// KiB, unless the load's RecvBuffer says otherwise): so the target soon finds that it cannot send. Not over
// TLS.
type Slow struct {
	Direction string        `yaml:"direction" enum:"write,read,both" default:"write" help:"What is done slowly: write, read or both."`
	Size      Sizes         `yaml:"size" default:"128" help:"Bytes of a message."`
	Piece     int           `yaml:"piece" default:"1" help:"Bytes that are written, or read, at once."`
	Every     time.Duration `yaml:"every" default:"100ms" help:"The time between two pieces: so piece/every is the speed."`
}

func (m *Slow) prepare(cfg *Config) error {
	setDefault(&m.Size, 128)
	if m.Every == 0 {
		m.Every = 100 * time.Millisecond
	}
	if m.Direction == "" {
		m.Direction = "write"
	}
	m.Piece = max(m.Piece, 1)
	switch {
	case m.Direction != "write" && m.Direction != "read" && m.Direction != "both":
		return fmt.Errorf("what is slow is write, read or both, not %q", m.Direction)
	case m.Every < 0:
		return errors.New("a negative time between two pieces")
	case m.Piece > MaxMessage:
		return fmt.Errorf("a piece of %d bytes", m.Piece)
	case m.Direction != "write" && cfg.TLS != nil:
		return errors.New("over TLS there is no reading slowly")
	}
	return cfg.needStream()
}

func (m *Slow) persistent() bool { return true }
func (m *Slow) maxPiece() int    { return m.Size.Max() }

func (m *Slow) session(c *conn) session {
	writes := slowSession{exchange: newExchange(c, newEchoCodec(c, &m.Size), 1), mode: m}
	if m.Direction == "write" {
		return &writes
	}
	s := &slowReader{slowSession: writes, buf: make([]byte, m.Piece)}
	s.timer.Init((*readTimer)(s))
	return s
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
	n := len(s.rest)
	if s.mode.Direction != "read" {
		n = min(s.mode.Piece, n)
	}
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

// slowRecvBuffer is the receive buffer in bytes of who reads slowly, if none was asked for.
const slowRecvBuffer = 4 << 10

// slowReader is a slowSession that receives in its own time.
type slowReader struct {
	slowSession
	recv  reactor.RecvOp
	buf   []byte
	timer reactor.Timer // of the next read
	next  int64         // when that is due
}

func (s *slowReader) recvBuffer() int { return slowRecvBuffer }

// pull begins to receive: a piece, or less if there is not as much, and the next one when it is time.
func (s *slowReader) pull() {
	s.c.socket.Recv(s.buf).Connect(&s.recv, (*slowRead)(s))
	s.next = s.c.clock()
	s.recv.Start()
}

// again waits for the next read's time. While there is something to be read those lie evenly.
func (s *slowReader) again() {
	if now := s.c.clock(); now-s.next < int64(s.mode.Every) {
		s.next += int64(s.mode.Every)
	} else {
		s.next = now + int64(s.mode.Every)
	}
	s.c.worker().loop.SetTimer(&s.timer, s.next)
}

func (s *slowReader) closed() {
	s.c.worker().loop.StopTimer(&s.timer)
	s.slowSession.closed()
}

// readTimer is a slowReader as the handler of its timer.
type readTimer slowReader

func (t *readTimer) OnTimer(int64) {
	if s := (*slowReader)(t); s.c.state == connOpen {
		s.recv.Start()
	}
}

// slowRead is a slowReader as the receiver of what it reads.
type slowRead slowReader

func (r *slowRead) SetValue(n int) {
	s := (*slowReader)(r)
	c := s.c
	if c.state == connOpen {
		c.group.win.BytesIn += int64(n)
		if n == 0 {
			s.ended()
		} else {
			s.received(s.buf[:n])
		}
	}
	if c.state == connOpen {
		if c.since != 0 {
			c.since = c.clock() // as long as something comes nothing is overdue
		}
		s.again()
	}
	c.worker().flush()
}

func (r *slowRead) SetError(err error) { (*slowReader)(r).c.broke(err) }
func (r *slowRead) SetStopped()        {}
func (r *slowRead) Env() sender.Env    { return sender.EmptyEnv{} }

var _ puller = (*slowReader)(nil)
