package main

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// flaky is an echo server. The first time that it sees a request, it may close the connection or be silent.
type flaky struct {
	mu   sync.Mutex
	seen map[string]bool
	fate func(request string) fate
}

type fate int

const (
	reply fate = iota
	cut
	silence
)

func (s *flaky) serve(c net.Conn) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		line := lines.Text()
		s.mu.Lock()
		first := !s.seen[line]
		s.seen[line] = true
		s.mu.Unlock()
		if f := s.fate(line); first && f == cut {
			return
		} else if first && f == silence {
			continue
		}
		if _, err := c.Write([]byte(line + "\n")); err != nil {
			return
		}
	}
}

// listen serves until the test ends.
func (s *flaky) listen(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// All requests are answered, although the server cuts connections and lets some requests wait for ever.
func TestRetries(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		s := &flaky{seen: map[string]bool{}, fate: func(request string) fate {
			switch {
			case strings.HasSuffix(request, "7"):
				return cut
			case strings.HasSuffix(request, "55"):
				return silence
			}
			return reply
		}}
		out, err := exampletest.Run(t, "-ring", ring, "-connect", s.listen(t),
			"-timeout", "300ms", "-attempts", "20", "-requests", "500")
		if err != nil || !strings.Contains(out, "answered 500, failed 0, ") {
			t.Errorf("%v, %s", err, out)
		}
	})
}

// A server that is not there fails each request, after all attempts.
func TestNoServer(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		out, err := exampletest.Run(t, "-ring", ring, "-connect", testenv.Vacant(t),
			"-requests", "20", "-backoff", "1ms")
		if err != nil || !strings.Contains(out, "answered 0, failed 20, retries 60, connections 80") {
			t.Errorf("%v, %s", err, out)
		}
	})
}
