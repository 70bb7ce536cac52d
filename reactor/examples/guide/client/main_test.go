package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender/task"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// The first connection is cut, the second one is answered.
func TestProgram(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 2 {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if i == 1 {
				line, _ := bufio.NewReader(c).ReadString('\n')
				_, _ = io.WriteString(c, "you said "+line)
			}
			c.Close()
		}
	}()
	out, err := exampletest.Run(t, "-connect", ln.Addr().String())
	if err != nil || out != "you said hello\n" {
		t.Errorf("%q, %v", out, err)
	}
	ln.Close()
	<-ended
	if out, err := exampletest.Run(t, "-connect", ln.Addr().String()); err == nil || !strings.Contains(out, "refused") {
		t.Errorf("without a server: %q, %v", out, err)
	}
}

// A server that is silent costs all attempts, and the pauses between them.
func TestSilence(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		done := false
		m.Peer("server", func(p *reactortest.Peer) {
			p.Listen(exampletest.SimulatedAddr)
			m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
				l.Spawn(task.New(func(t *task.T) error {
					defer func() { done = true }()
					began := l.Now()
					_, err := ask(t, l, exampletest.SimulatedAddr.String(), "hello")
					took := time.Duration(l.Now() - began)
					if !os.IsTimeout(err) || took < attempts*limit+15*backoff || took > attempts*limit+time.Second {
						m.Errorf("%v after %v", err, took)
					}
					return nil
				}))
				return nil
			})
			p.Until(func() bool { return done })
		})
	})
}
