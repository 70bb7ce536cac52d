package main

import (
	"testing"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// Clients get back what they send, and the server stops while one of them is connected.
func TestEcho(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		exampletest.Echo(t, p.Addr)
	})
}

// The server survives a shortage of descriptors.
func TestShortage(t *testing.T) {
	exampletest.TestShortage(t, func(t *testing.T, p *exampletest.Program) { exampletest.Echo(t, p.Addr) })
}
