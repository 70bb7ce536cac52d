package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// moody is an echo server that now and then resets a connection, is silent, or replies too late.
type moody struct {
	server.Base
	m *reactortest.Machine
}

func (s moody) Data(c *server.Conn, in, _ []byte) (int, []byte, error) {
	switch s.m.Rand().IntN(10) {
	case 0:
		c.CloseWithError(errors.New("in a bad mood"))
	case 1:
	case 2:
		reply := bytes.Clone(in)
		c.Loop().Spawn(task.New(func(t *task.T) error {
			if _, err := task.Await(t, c.Loop().SleepFor(1500*time.Millisecond)); err == nil && c.Open() {
				_, _ = c.Write(reply)
			}
			return nil
		}))
	default:
		return len(in), in, nil
	}
	return len(in), nil, nil
}

// All requests are answered in the end, and no late reply is taken for that of another request.
func TestSimulated(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		s, err := server.New(server.Config{Addr: exampletest.SimulatedAddr},
			func(*reactor.Loop) server.Handler { return moody{m: m} })
		if err != nil {
			m.Errorf("%v", err)
			return
		}
		m.Loop(reactor.LoopConfig{}, s.On)
		p := simulatedPool(m, options{requests: 50, connections: 4, timeout: time.Second, attempts: 1000})
		m.After(func() {
			if p.answered != p.requests || p.failed != 0 || p.wrong != 0 {
				m.Errorf("%+v", p.counts)
			}
		})
	})
}

// Each request fails after all attempts if there is no server, and after the time for it if the server is silent.
func TestSimulatedFailure(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		o := options{requests: 10, connections: 3, timeout: time.Second, attempts: 4, backoff: 10 * time.Millisecond}
		if m.Rand().IntN(2) == 0 {
			m.Peer("silent", func(p *reactortest.Peer) {
				p.Listen(exampletest.SimulatedAddr)
				p.Sleep(time.Hour)
			})
		}
		p := simulatedPool(m, o)
		m.After(func() {
			if want := (counts{failed: 10, retries: 30, dialed: 40}); p.counts != want {
				m.Errorf("%+v, want %+v", p.counts, want)
			}
		})
	})
}

// simulatedPool makes the requests on a loop of its own. The run lasts until they have ended.
func simulatedPool(m *reactortest.Machine, o options) *pool {
	o.addr = exampletest.SimulatedAddr.String()
	p, done := &pool{options: o}, false
	p.loop = m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
		l.Spawn(task.New(func(t *task.T) error {
			defer func() { done = true }()
			return p.run(t)
		}))
		return nil
	})
	m.Peer("the end", func(end *reactortest.Peer) { end.Until(func() bool { return done }) })
	return p
}
