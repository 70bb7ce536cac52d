package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/reactor/server"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// The program, with a real client.
func TestProgram(t *testing.T) {
	p := exampletest.Start(t)
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(exampletest.Deadline))
	in := bufio.NewReader(c)
	fmt.Fprint(c, "a\nhost\nb\n")
	for _, want := range []string{"1 a\n", "", "3 b\n"} {
		if line, err := in.ReadString('\n'); err != nil || want != "" && line != want {
			t.Fatalf("%q, %v; want %q", line, err, want)
		}
	}
	p.Terminate()
	if rest, err := io.ReadAll(in); err != nil || string(rest) != "the server stops\n" {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

var address = netip.MustParseAddrPort("127.0.0.1:7000")

// start runs the server on a loop of a simulated machine.
func start(t *testing.T, m *reactortest.Machine) *server.Server {
	s, err := server.New(server.Config{Addr: address, IdleTimeout: time.Minute}, newHandler)
	if err != nil {
		t.Fatal(err)
	}
	m.Loop(reactor.LoopConfig{}, s.On)
	return s
}

// An idle connection ends after a minute, which takes no real time.
func TestIdle(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		start(t, m)
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(address)
			in := bufio.NewReader(c)
			fmt.Fprint(c, "hello\n")
			if line, err := in.ReadString('\n'); err != nil || line != "1 hello\n" {
				p.Errorf("%q, %v", line, err)
			}
			began := p.Now()
			_, _ = in.ReadByte() // EOF or a reset
			if idle := p.Now() - began; idle < time.Minute {
				p.Errorf("the server has closed the connection after %v", idle)
			}
		})
	})
}

// A client is told that the server shuts down, and then reads EOF.
func TestShutdown(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		s := start(t, m)
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(address)
			in := bufio.NewReader(c)
			fmt.Fprint(c, "host\n")
			for _, want := range []string{"", "the server stops\n"} {
				if line, err := in.ReadString('\n'); err != nil || want != "" && line != want {
					p.Errorf("%q, %v; want %q", line, err, want)
				}
				s.Shutdown()
			}
			if _, err := in.ReadByte(); err != io.EOF {
				p.Errorf("the end is %v", err)
			}
		})
	})
}
