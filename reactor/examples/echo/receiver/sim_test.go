package main

import (
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestSimulated(t *testing.T) {
	exampletest.SimulateEcho(t, func() (func(*reactor.Loop) error, error) {
		return func(l *reactor.Loop) error { return serve(l, exampletest.SimulatedAddr) }, nil
	})
}
