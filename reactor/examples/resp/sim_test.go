package main

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/reactor/server"
)

// Pipelined commands, which arrive in pieces, get the replies that they would get if they were carried out one by one.
func TestSimulated(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		db := newDatabase()
		cfg := server.Config{Addr: exampletest.SimulatedAddr}
		s, err := server.New(cfg, func(*reactor.Loop) server.Handler { return handler{db: db} })
		if err != nil {
			m.Errorf("%v", err)
			return
		}
		for range 2 {
			m.Loop(reactor.LoopConfig{}, s.On)
		}
		for i := range 3 {
			m.Peer(fmt.Sprintf("client %d", i), func(p *reactortest.Peer) { pipeline(p, i) })
		}
	})
}

// pipeline sends commands about the keys of one client, and QUIT.
func pipeline(p *reactortest.Peer, client int) {
	rand := p.Machine().Rand()
	var commands []byte
	for range 20 {
		key := fmt.Sprintf("key%d-%d", client, rand.IntN(3))
		switch rand.IntN(4) {
		case 0:
			commands = fmt.Appendf(commands, "GET %s\r\n", key)
		case 1:
			commands = fmt.Appendf(commands, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\n%d\r\n", len(key), key, rand.IntN(10))
		case 2:
			commands = fmt.Appendf(commands, "*2\r\n$4\r\nINCR\r\n$%d\r\n%s\r\n", len(key), key)
		case 3:
			commands = fmt.Appendf(commands, "*2\r\n$3\r\nDEL\r\n$%d\r\n%s\r\n", len(key), key)
		}
	}
	commands = append(commands, "QUIT\r\n"...)
	_, want, _ := newDatabase().serve(commands, nil)

	c := p.Dial(exampletest.SimulatedAddr)
	if err := exampletest.WritePieces(p, c, commands); err != nil {
		p.Fatalf("%v", err)
	}
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
		p.Errorf("%q, %v; want %q", got, err, want)
	}
}
