package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/reactor/server"
)

// newServer is a chat on two loops of a simulated machine.
func newServer(m *reactortest.Machine) {
	h := new(hall)
	s, err := server.New(server.Config{Addr: exampletest.SimulatedAddr}, h.newRoom)
	if err != nil {
		m.Errorf("%v", err)
		return
	}
	for range 2 {
		m.Loop(reactor.LoopConfig{}, s.On)
	}
}

// Each listener hears all lines of the speaker, in order.
func TestSimulated(t *testing.T) {
	const lines, listeners = 50, 3
	reactortest.Run(t, func(m *reactortest.Machine) {
		newServer(m)
		ready := 0
		for i := range listeners {
			m.Peer(fmt.Sprintf("listener %d", i), func(p *reactortest.Peer) {
				in := bufio.NewReader(p.Dial(exampletest.SimulatedAddr))
				if line, err := in.ReadString('\n'); err != nil || line != "ready?\n" {
					p.Fatalf("%q, %v", line, err)
				}
				ready++
				for n := 0; n < lines; {
					line, err := in.ReadString('\n')
					if err != nil {
						p.Fatalf("after %d lines: %v", n, err)
					}
					if line == "ready?\n" {
						continue
					}
					if line != fmt.Sprintf("line %d\n", n) {
						p.Fatalf("%q instead of line %d", line, n)
					}
					n++
				}
			})
		}
		m.Peer("speaker", func(p *reactortest.Peer) {
			c := p.Dial(exampletest.SimulatedAddr)
			for ready < listeners {
				_, _ = io.WriteString(c, "ready?\n")
				p.Sleep(time.Second)
			}
			for i := range lines {
				if err := exampletest.WritePieces(p, c, fmt.Appendf(nil, "line %d\n", i)); err != nil {
					p.Fatalf("%v", err)
				}
			}
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c)
		})
	})
}

// A member that does not read is dropped, and the others hear everything.
func TestSimulatedSlowReader(t *testing.T) {
	line := append(bytes.Repeat([]byte("x"), maxLine-1), '\n')
	const lines = 2 * maxUnsent / maxLine // more than the server and the kernel hold
	reactortest.Config{Seeds: 20}.Run(t, func(m *reactortest.Machine) {
		newServer(m)
		here, said, heard := false, 0, 0
		m.Peer("slow", func(p *reactortest.Peer) {
			c := p.Dial(exampletest.SimulatedAddr)
			here = true
			p.Until(func() bool { return heard == lines })
			if n, err := io.Copy(io.Discard, c); err == nil {
				p.Errorf("who does not read has got %d bytes, and was not dropped", n)
			}
		})
		m.Peer("listener", func(p *reactortest.Peer) {
			p.Until(func() bool { return here })
			c := p.Dial(exampletest.SimulatedAddr)
			m.Peer("speaker", func(p *reactortest.Peer) {
				c := p.Dial(exampletest.SimulatedAddr)
				p.Sleep(time.Minute) // all have been accepted
				for ; said < lines; said++ {
					// Who reads is never far behind.
					p.Until(func() bool { return said-heard < 10 })
					if _, err := c.Write(line); err != nil {
						p.Fatalf("%v", err)
					}
				}
			})
			for ; heard < lines; heard++ {
				if _, err := io.ReadFull(c, line); err != nil {
					p.Fatalf("after %d lines: %v", heard, err)
				}
			}
		})
	})
}
