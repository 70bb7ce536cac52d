package exampletest

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// TestShortage starts the program with few descriptors and more clients than it can accept. When they are gone, the
// program must serve again: that is what serve is called for.
func TestShortage(t *testing.T, serve func(t *testing.T, p *Program), args ...string) {
	t.Helper()
	const limit = 40
	OnRings(t, func(t *testing.T, ring string) {
		p := StartLimited(t, limit, append([]string{"-ring", ring}, args...)...)
		for range 2 {
			crowd := make([]net.Conn, 2*limit)
			for i := range crowd {
				c, err := net.DialTimeout("tcp", p.Addr, Deadline)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				crowd[i] = c
			}
			Eventually(t, "the program has no descriptor left", func() bool { return p.Descriptors(t) >= limit-1 })
			for _, c := range crowd {
				c.Close()
			}
			serve(t, p)
		}
	})
}

// Echo sends messages of several sizes, and expects them back. It returns the last connection, which is open.
func Echo(t *testing.T, addr string) net.Conn {
	t.Helper()
	var last net.Conn
	for _, size := range []int{1, 1000, 300_000} {
		c, err := net.DialTimeout("tcp", addr, Deadline)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(Deadline)); err != nil {
			t.Fatal(err)
		}
		message, back := bytes.Repeat([]byte("0123456789"), size/10+1)[:size], make([]byte, size)
		for range 10 {
			go func() { _, _ = c.Write(message) }() // or both sides would wait for the other one to read
			if _, err := io.ReadFull(c, back); err != nil {
				t.Fatalf("a message of %d bytes: %v", size, err)
			}
			if !bytes.Equal(back, message) {
				t.Fatalf("a message of %d bytes came back changed", size)
			}
		}
		last = c
	}
	return last
}

func deadlineContext(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), Deadline)
}
