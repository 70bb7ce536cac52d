package main

import (
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/server"
)

func TestSimulated(t *testing.T) {
	exampletest.SimulateEcho(t, func() (func(*reactor.Loop) error, error) {
		s, err := server.New(server.Config{Addr: exampletest.SimulatedAddr}, newEcho)
		return s.On, err
	})
}
