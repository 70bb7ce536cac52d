//go:build linux

package server_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if ln, err := net.Listen("tcp", "127.0.0.1:0"); err == nil { // the first one opens the runtime's own descriptors
		ln.Close()
	}
	before := descriptors()
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		code = 1
	}
	if after := descriptors(); code == 0 && after > before {
		fmt.Printf("%d descriptors were open before the tests and %d are now\n", before, after)
		code = 1
	}
	os.Exit(code)
}

// descriptors is how many the process has.
func descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}
