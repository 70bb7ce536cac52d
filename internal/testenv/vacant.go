package testenv

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// vacated has the addresses that Vacant has returned: the kernel may choose a port again.
var vacated sync.Map

// Vacant returns an address, as HOST:PORT, on which no process listens, another one each time. It refuses connections
// until the test listens there.
//
// It is in a loopback network that processes with other ids do not use, 127.X.Y.0/24. Others use 127.0.0.1, and so does
// the kernel for connections. So the port stays vacant, and what connects to it later meets no other test's server.
func Vacant(t *testing.T) string {
	t.Helper()
	for pid := os.Getpid(); ; {
		l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.1:0", 64+pid>>8&63, pid&255))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, again := vacated.LoadOrStore(l.Addr().String(), true); !again {
			return l.Addr().String()
		}
	}
}
