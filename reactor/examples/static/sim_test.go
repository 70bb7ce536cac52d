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

// Clients get files and ranges of them, or an error, but never other bytes.
func TestSimulated(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		data := make([]byte, 100_000)
		for i := range data {
			data[i] = byte(m.Rand().Uint32())
		}
		m.WriteFile("/site/data", data)
		m.WriteFile("/secret", []byte("secret"))
		s, err := server.NewTask(server.Config{Addr: exampletest.SimulatedAddr}, site{root: "/site"}.serve)
		if err != nil {
			m.Errorf("%v", err)
			return
		}
		for range 2 {
			m.Loop(reactor.LoopConfig{}, s.On)
		}
		for i := range 3 {
			m.Peer(fmt.Sprintf("client %d", i), func(p *reactortest.Peer) { download(p, data) })
		}
	})
}

// download asks for parts of the file on one connection. If the disk fails in the middle of a response, the connection
// ends.
func download(p *reactortest.Peer, data []byte) {
	c := p.Dial(exampletest.SimulatedAddr)
	in := bufio.NewReader(c)
	for range 4 {
		from := p.Machine().Rand().IntN(len(data))
		head := fmt.Sprintf("GET /x/../../site/../data HTTP/1.1\r\nHost: localhost\r\nRange: bytes=%d-\r\n\r\n", from)
		if err := exampletest.WritePieces(p, c, []byte(head)); err != nil {
			p.Fatalf("%v", err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			p.Fatalf("%v", err)
		}
		got, err := io.ReadAll(resp.Body)
		switch {
		case resp.StatusCode == http.StatusInternalServerError && p.Machine().Faults().IOError > 0:
		case resp.StatusCode == http.StatusInternalServerError && p.Machine().Faults().NoDescriptor > 0:
		case resp.StatusCode == http.StatusPartialContent && err == nil && bytes.Equal(got, data[from:]):
		case resp.StatusCode == http.StatusPartialContent && err != nil && bytes.HasPrefix(data[from:], got):
			return
		default:
			p.Fatalf("%s, %d bytes of %d, %v", resp.Status, len(got), len(data)-from, err)
		}
	}
}
