package main

import (
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/server"
)

func TestSimulated(t *testing.T) {
	exampletest.SimulateEcho(t, func() (func(*reactor.Loop) error, error) {
		s, err := server.NewTask(server.Config{Addr: exampletest.SimulatedAddr}, echo)
		return s.On, err
	})
}
