package proxy

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// sendUrgent sends bytes, the last of them as urgent data.
func sendUrgent(t *testing.T, c *net.TCPConn, b string) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Write(func(fd uintptr) bool {
		return unix.Sendto(int(fd), []byte(b), unix.MSG_OOB, nil) != unix.EAGAIN
	}); err != nil {
		t.Fatal(err)
	}
}

// Urgent data is dropped, in each direction, whatever comes before and behind it. It stays unread in the kernel, and
// the loop sleeps nevertheless.
func TestUrgentData(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, Backend{}, ln)
		c, s := pair(t, p, ln)
		for _, way := range [][2]*net.TCPConn{{c, s}, {s, c}} {
			from, to := way[0], way[1]
			sendUrgent(t, from, "!")
			sendUrgent(t, from, "ab!")
			got := make([]byte, 2)
			if _, err := io.ReadFull(to, got); err != nil || string(got) != "ab" {
				t.Fatalf("got %q, %v", got, err)
			}
			before := p.workers[0].loop.Stats()
			time.Sleep(200 * time.Millisecond) // nothing is to happen
			after := p.workers[0].loop.Stats()
			if n := after.Enters - before.Enters; n > 20 {
				t.Errorf("the loop has entered the ring %d times", n)
			}
			want := bytes.Repeat([]byte("0123456789"), 10_000)
			go func() { _, _ = from.Write(want) }()
			got = make([]byte, len(want))
			if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("the bytes behind it are not the same, %v", err)
			}
		}
		sendUrgent(t, c, "end!")
		_ = c.CloseWrite()
		if got, err := io.ReadAll(s); err != nil || string(got) != "end" {
			t.Errorf("got %q, %v", got, err)
		}
		pass(t, s, c)
	})
}
