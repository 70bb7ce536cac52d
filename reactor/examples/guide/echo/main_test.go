package main

import (
	"testing"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestEcho(t *testing.T) { exampletest.Echo(t, exampletest.Start(t).Addr) }
