package exampletest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
)

// SimulatedAddr is where servers listen on simulated machines.
var SimulatedAddr = netip.MustParseAddrPort("127.0.0.1:7000")

// SimulateEcho plays an echo server on simulated machines with two loops. newSetup makes a server at [SimulatedAddr],
// and returns the setup of its loops. Some clients send, receive and half-close; one resets its connection.
func SimulateEcho(t *testing.T, newSetup func() (func(*reactor.Loop) error, error)) {
	t.Helper()
	reactortest.Run(t, func(m *reactortest.Machine) {
		setup, err := newSetup()
		if err != nil {
			m.Errorf("%v", err)
			return
		}
		for range 2 {
			m.Loop(reactor.LoopConfig{}, setup)
		}
		m.Peer("the one that resets", func(p *reactortest.Peer) {
			c := p.Dial(SimulatedAddr)
			_, _ = c.Write(make([]byte, m.Rand().IntN(5000)))
			c.Reset()
		})
		for i := range 3 {
			m.Peer(fmt.Sprintf("client %d", i), func(p *reactortest.Peer) { echoes(p, p.Dial(SimulatedAddr)) })
		}
	})
}

// echoes sends messages and expects them back, and the end after the end.
func echoes(p *reactortest.Peer, c *reactortest.Conn) {
	for range 5 {
		// At most what the buffers of one direction hold, because nothing is received meanwhile.
		message := RandomBytes(p, 1+p.Machine().Rand().IntN(4000))
		if _, err := c.Write(message); err != nil {
			p.Fatalf("%v", err)
		}
		back := make([]byte, len(message))
		if _, err := io.ReadFull(c, back); err != nil || !bytes.Equal(back, message) {
			p.Fatalf("the echo of %d bytes is wrong: %v", len(message), err)
		}
	}
	if err := c.CloseWrite(); err != nil {
		p.Fatalf("%v", err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		p.Errorf("after the end: %d bytes, %v", n, err)
	}
}

// RandomBytes returns n bytes that depend on the seed.
func RandomBytes(p *reactortest.Peer, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(p.Machine().Rand().Uint32())
	}
	return b
}

// WritePieces writes b in pieces of random length, so that the other side sees every cut.
func WritePieces(p *reactortest.Peer, w io.Writer, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), 1+p.Machine().Rand().IntN(40))
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
