package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// TestNoAllocationPerMessage sends a quarter of a million messages through the daemon, and checks by the daemon's own
// counter that they cost no allocation.
func TestNoAllocationPerMessage(t *testing.T) {
	const (
		clients  = 32
		messages = 250_000
	)
	onEachRing(t, func(t *testing.T, ring string) {
		socket := filepath.Join(t.TempDir(), "admin.sock")
		d := startProxy(t, ring, []string{serve(t, echo)}, "--admin", "unix://"+socket)
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = dial(t, d.addr).TCPConn
			// Long enough to allocate what is allocated once.
			if err := pingPong(conns[i], byte(i), 100); err != nil {
				t.Fatal(err)
			}
		}
		var took time.Duration
		allocated := allocationsOf(t, socket, func() {
			start := time.Now()
			done := make(chan error, clients)
			for i, c := range conns {
				go func() { done <- pingPong(c, byte(i), messages/clients) }()
			}
			for range conns {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			took = time.Since(start)
		})
		t.Logf("%.0f allocations for %d messages in %v, %.0f messages/s",
			allocated, messages, took, messages/took.Seconds())
		// The daemon looks at its memory every second, and the runtime may start threads. One allocation in 100 messages
		// would be noticed, in 25 on the slowest machine.
		if allowed := 1_000 + 100*took.Seconds(); allocated > allowed {
			t.Errorf("%.0f allocations for %d messages, want %.0f at most", allocated, messages, allowed)
		}
		for _, c := range conns {
			c.Close()
		}
		d.stop()
	})
}

// Connections that come and go cost hardly any allocation, with everything on that a listener in use has.
func TestFewAllocationsPerConnection(t *testing.T) {
	const connections = 4000
	onEachRing(t, func(t *testing.T, ring string) {
		dir := t.TempDir()
		socket := filepath.Join(dir, "admin.sock")
		server := serve(t, echo)
		d := startFile(t, writeConfig(t, fmt.Sprintf(`
ring: %s
metrics: 127.0.0.1:0
admin: {address: 'unix://%s'}
access_log: {path: '%s'}
limits: {max_connections: 10000}
listeners:
  - {name: l, address: 'tcp://127.0.0.1:0', backend: b, max_connections: 5000, rate: {connections: 100000}}
backends:
  - name: b
    idle_timeout: 1m
    lifetime: 1h
    max_connections: 5000
    check: {interval: 1m}
    servers: ['tcp://%s']
`, ring, socket, filepath.Join(dir, "access.log"), server)))
		use := func(n int) {
			t.Helper()
			for i := range n {
				if err := exchange(d.addr, i); err != nil {
					t.Fatal(err)
				}
			}
		}
		use(500) // allocates what is allocated once
		perConnection := allocationsOf(t, socket, func() { use(connections) }) / connections
		t.Logf("%.2f allocations a connection", perConnection)
		if perConnection > 4 {
			t.Errorf("%.2f allocations a connection, want 4 at most", perConnection)
		}
	})
}

// allocationsOf returns how many objects a daemon allocates while f runs.
func allocationsOf(t *testing.T, socket string, f func()) float64 {
	t.Helper()
	mallocs := mallocsOver(t, socket)
	mallocs() // allocates what asking needs once
	first := mallocs()
	before := mallocs()
	asking := before - first
	f()
	return mallocs() - before - asking
}

// mallocsOver returns what reads how many objects a daemon has ever allocated. It reads the head of a profile as text,
// because the runtime counts exactly for that. The metrics page is behind by what threads have not reported.
func mallocsOver(t *testing.T, socket string) func() float64 {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dial}}
	t.Cleanup(client.CloseIdleConnections)
	field := regexp.MustCompile(`(?m)^# Mallocs = (\d+)$`)
	return func() float64 {
		t.Helper()
		answer, err := client.Post("http://reactord/v1/profiles/heap?debug=1", "", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		found := field.FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s, no allocations in %q", answer.Status, text)
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// pingPong exchanges n messages of 128 bytes over c, one at a time.
func pingPong(c net.Conn, fill byte, n int) error {
	if err := c.SetDeadline(time.Now().Add(8 * patience)); err != nil {
		return err
	}
	message := bytes.Repeat([]byte{fill}, 128)
	answer := make([]byte, len(message))
	for i := range n {
		message[0] = byte(i)
		if _, err := c.Write(message); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			return fmt.Errorf("answer %d: %w", i, err)
		}
		if !bytes.Equal(answer, message) {
			return fmt.Errorf("answer %d is not the message", i)
		}
	}
	return nil
}
