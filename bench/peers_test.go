package main

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Without the go command, or without the module, each library is reported as missing.
func TestMissingLibrariesAreNamed(t *testing.T) {
	w := testWorkshop(t)
	t.Setenv("PATH", t.TempDir())
	for _, name := range []string{gnetEcho, netpollEcho, nbioEcho} {
		rep := &suiteReport{}
		version, err := libraryPeer(name, "echo").prepare(t.Context(), w)
		rep.addPeer(name, version, err)
		if text := rep.markdown(); !strings.Contains(text, "- "+name+": **missing**: go ") {
			t.Errorf("the report is\n%s", text)
		}
	}
}

func TestFirstErrorOfTheGoCommand(t *testing.T) {
	said := "go: downloading example.org/a v1.0.0\n" +
		"go: downloading example.org/b v1.0.0\nexample.org/a: no such host\nmore\n"
	if got := firstError([]byte(said)); got != "example.org/a: no such host" {
		t.Errorf("it is %q", got)
	}
}

// The port of a server must not be an ephemeral port, which a connection could take before the server listens.
func TestFreeAddressIsNoLocalPort(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip(err)
	}
	low, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil || low <= 10000 {
		t.Skipf("local ports begin at %d, %v", low, err)
	}
	for range 100 {
		address, err := freeAddress()
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(address)
		if n, _ := strconv.Atoi(port); n >= low || n == 0 {
			t.Fatalf("%s is in the range from %d on", address, low)
		}
	}
}
