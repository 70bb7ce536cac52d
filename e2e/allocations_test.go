package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
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
		d := startProxy(t, ring, []string{serve(t, echo)})
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = dial(t, d.addr).TCPConn
			// Long enough to allocate what is allocated once.
			if err := pingPong(conns[i], byte(i), 100); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			d.scrape()
		}
		before, start := d.scrape().sum("go_memstats_mallocs_total"), time.Now()
		done := make(chan error, clients)
		for i, c := range conns {
			go func() { done <- pingPong(c, byte(i), messages/clients) }()
		}
		for range conns {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		took := time.Since(start)
		allocated := d.scrape().sum("go_memstats_mallocs_total") - before
		t.Logf("%.0f allocations for %d messages in %v, %.0f messages/s",
			allocated, messages, took, messages/took.Seconds())
		// A scrape costs some thousand, more after a garbage collection has emptied its pools, and the runtime allocates
		// every second. One allocation in 25 messages would be noticed.
		if allowed := 9_000 + 200*took.Seconds(); allocated > allowed {
			t.Errorf("%.0f allocations for %d messages, want %.0f at most", allocated, messages, allowed)
		}
		for _, c := range conns {
			c.Close()
		}
		d.stop()
	})
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
