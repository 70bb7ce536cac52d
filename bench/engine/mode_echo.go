package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/reactord/reactord/bench/record"
)

// Echo sends messages and expects them back. In a closed loop each connection has Depth outstanding messages, and the
// target sets the pace. In an open loop (see [Phase]) it is the mode rate: a message is sent when it is due, on any
// connection that is free.
type Echo struct {
	Depth int   `yaml:"depth" default:"1" help:"Outstanding messages on each connection."`
	Size  Sizes `yaml:"size" default:"128" help:"Bytes of a message: 128, 64-4k, 64*70,1k*30 or exp(512)."`
}

// MaxDepth is the largest number of outstanding messages on a connection.
const MaxDepth = 1 << 16

func (m *Echo) prepare(cfg *Config) error {
	if err := cfg.needStream(); err != nil {
		return err
	}
	setDefault(&m.Size, 128)
	return checkDepth(&m.Depth)
}

func (m *Echo) persistent() bool { return true }
func (m *Echo) maxPiece() int    { return m.Size.Max() }

func (m *Echo) session(c *conn) session {
	return newExchange(c, newEchoCodec(c, &m.Size), m.Depth)
}

func setDefault(s *Sizes, n int) {
	if s.max == 0 {
		*s = FixedSize(n)
	}
}

func checkDepth(depth *int) error {
	*depth = max(*depth, 1)
	if *depth > MaxDepth {
		return fmt.Errorf("a depth of %d: at most %d", *depth, MaxDepth)
	}
	return nil
}

// echoCodec expects the stream back that it sends. Both directions draw their sizes from random generators with the
// same seed, so that no size has to be stored.
type echoCodec struct {
	c       *conn
	sizes   *Sizes
	pattern *Pattern
	out, in rand.PCG
	outAt   int64 // place in the pattern
	inAt    int64
	left    int // bytes of the current reply that are missing; 0: there is no reply
}

func newEchoCodec(c *conn, sizes *Sizes) *echoCodec {
	e := &echoCodec{c: c, sizes: sizes, pattern: c.worker().g.pattern}
	e.reset()
	return e
}

func (e *echoCodec) reset() {
	e.out = *e.c.group.random(e.c.index)
	e.in = e.out
	e.outAt = e.pattern.first(e.c.index)
	e.inAt = e.outAt
	e.left = 0
}

func (e *echoCodec) last() bool { return false }

func (e *echoCodec) request() []byte {
	n := e.sizes.next(&e.out)
	p := e.pattern.At(e.outAt, n)
	e.outAt = e.pattern.after(e.outAt, n)
	return p
}

func (e *echoCodec) reply(p []byte) (n int, done bool, err error) {
	if e.left == 0 {
		e.left = e.sizes.next(&e.in)
	}
	n = min(len(p), e.left)
	if e.c.worker().verify {
		if !bytes.Equal(p[:n], e.pattern.At(e.inAt, n)) {
			return 0, false, failure(record.Corrupt)
		}
		e.c.group.win.Verified += int64(n)
	}
	e.inAt = e.pattern.after(e.inAt, n)
	e.left -= n
	return n, e.left == 0, nil
}
