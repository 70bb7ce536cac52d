package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/reactor/server"
)

// Requests that arrive in pieces, several at a time, get their responses in order.
func TestSimulated(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		s, err := server.NewTask(server.Config{Addr: exampletest.SimulatedAddr}, serve)
		if err != nil {
			m.Errorf("%v", err)
			return
		}
		for range 2 {
			m.Loop(reactor.LoopConfig{}, s.On)
		}
		for i := range 3 {
			m.Peer(fmt.Sprintf("client %d", i), func(p *reactortest.Peer) { pipeline(p, p.Dial(exampletest.SimulatedAddr)) })
		}
	})
}

// pipeline posts bodies with a length and in chunks, and expects them back.
func pipeline(p *reactortest.Peer, c *reactortest.Conn) {
	in := bufio.NewReader(c)
	for range 4 {
		var bodies [][]byte
		var requests bytes.Buffer
		for range 3 {
			body := exampletest.RandomBytes(p, p.Machine().Rand().IntN(300))
			req, err := http.NewRequest(http.MethodPost, "http://localhost/echo", bytes.NewReader(body))
			if err != nil {
				p.Fatalf("%v", err)
			}
			if p.Machine().Rand().IntN(2) == 0 {
				req.ContentLength = -1
			}
			if err := req.Write(&requests); err != nil {
				p.Fatalf("%v", err)
			}
			bodies = append(bodies, body)
		}
		if err := exampletest.WritePieces(p, c, requests.Bytes()); err != nil {
			p.Fatalf("%v", err)
		}
		for _, want := range bodies {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				p.Fatalf("%v", err)
			}
			if got, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(got, want) {
				p.Fatalf("%s, %q, %v; want %q", resp.Status, got, err, want)
			}
		}
	}
}
