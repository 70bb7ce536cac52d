package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// Slow sends its messages a few bytes at a time (slow loris), or reads the replies in this way. So does a peer with a
// bad link, or a peer that wants to occupy the target's connections. The mode shows whether the target keeps the
// connection; a connection that the target closes is a failure. Beside another part in a mix it shows whether the
// target serves that part meanwhile. The latency is from the last piece of a message to the end of its reply.
//
// A slow reader receives Piece bytes every Every. Its receive buffer in the kernel is small (4 KiB, unless
// Config.RecvBuffer is set), so that the target's sends soon find a full buffer. TLS is not supported.
type Slow struct {
	Direction string        `yaml:"direction" enum:"write,read,both" default:"write" help:"What is slow: write, read or both."`
	Size      Sizes         `yaml:"size" default:"128" help:"Bytes of a message."`
	Piece     int           `yaml:"piece" default:"1" help:"Bytes of each write or read."`
	Every     time.Duration `yaml:"every" default:"100ms" help:"The time between two pieces: the speed is piece/every."`
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
		return errors.New("slow reading does not support TLS")
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

// slowSession is an exchange that writes piece by piece. A message counts as sent with its last piece.
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

// slowRecvBuffer is the receive buffer of a slow reader in bytes, if Config.RecvBuffer is 0.
const slowRecvBuffer = 4 << 10

// slowReader is a slowSession that also receives piece by piece.
type slowReader struct {
	slowSession
	recv  reactor.RecvOp
	buf   []byte
	timer reactor.Timer // of the next read
	next  int64         // when the next read is due
}

func (s *slowReader) recvBuffer() int { return slowRecvBuffer }

// pull begins to receive: at most a piece, and the next piece when that is due.
func (s *slowReader) pull() {
	s.c.socket.Recv(s.buf).Connect(&s.recv, (*slowRead)(s))
	s.next = s.c.clock()
	s.recv.Start()
}

// again sets the timer of the next read. While there is data the reads are evenly spaced.
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
			c.since = c.clock() // received data restarts the timeout
		}
		s.again()
	}
	c.worker().flush()
}

func (r *slowRead) SetError(err error) { (*slowReader)(r).c.broke(err) }
func (r *slowRead) SetStopped()        {}
func (r *slowRead) Env() sender.Env    { return sender.EmptyEnv{} }

var _ puller = (*slowReader)(nil)
