package main

import (
	"testing"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestClients(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		exampletest.TestCurl(t, "http://"+p.Addr, "--http1.1")
		exampletest.TestWrk(t, "http://"+p.Addr)
		exampletest.TestH2load(t, "http://"+p.Addr, "--h1")
	})
}

func TestTLSClients(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2", "-tls")
		exampletest.TestCurl(t, "https://"+p.Addr, "--http1.1")
		exampletest.TestWrk(t, "https://"+p.Addr)
		exampletest.TestCurl(t, "https://"+p.Addr, "--http2")
		exampletest.TestH2load(t, "https://"+p.Addr, "--max-concurrent-streams=10")
	})
}

// The server survives a shortage of descriptors.
func TestShortage(t *testing.T) {
	exampletest.TestShortage(t, func(t *testing.T, p *exampletest.Program) {
		if got := exampletest.Curl(t, "http://"+p.Addr); got != "hello\n" {
			t.Errorf("%q", got)
		}
	})
}
