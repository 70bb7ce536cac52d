package main

import (
	"bufio"
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
