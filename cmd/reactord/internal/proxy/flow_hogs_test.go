package proxy

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

// Clients that ask for much and read nothing hold buffers of the loop, but never the last ones: older connections still
// flow, and new ones are served.
func TestClientsThatDoNotReadLeaveBuffersForOthers(t *testing.T) {
	for name, buffer := range map[string]int{"the default": 4, "large": 256} { // buffers' worth
		t.Run(name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
				const hogs, size, limit = 40, 8 << 10, 128
				ln := listen(t)
				buffers := reactor.BufferConfig{Size: size, Window: 16, Limit: limit, LargeLimit: -1}
				p := startOn(t, newRing(t, kind), buffers, Backend{Buffer: buffer * size, IdleTimeout: time.Minute}, ln)
				l := p.workers[0].loop
				oldClient, oldServer := pair(t, p, ln)
				for range hogs {
					c, s := pair(t, p, ln)
					_ = c.SetReadBuffer(4 << 10)
					_ = s.SetDeadline(time.Now().Add(time.Minute))
					go func() { _, _ = s.Write(tooMuch) }()
				}
				awaitLeased(t, p, hogs*size)
				awaitQuiet(t, l)
				if n := leased(p); n >= limit*size {
					t.Errorf("all %d bytes are leased", n)
				}
				newClient, newServer := pair(t, p, ln)
				for _, ends := range [][2]net.Conn{
					{oldClient, oldServer}, {oldServer, oldClient}, {newClient, newServer}, {newServer, newClient},
				} {
					for _, c := range ends {
						_ = c.SetDeadline(time.Now().Add(20 * time.Second))
					}
					want := make([]byte, 20*size)
					go func() { _, _ = ends[0].Write(want) }()
					if n, err := io.ReadFull(ends[1], make([]byte, len(want))); err != nil {
						t.Fatalf("%d bytes of %d arrive: %v", n, len(want), err)
					}
				}
			})
		})
	}
}

// Clients that ask for bulk and read nothing hold all large buffers and all splices. Other connections flow without
// them.
func TestBulkThatIsNotReadStallsNoOther(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		ln := listen(t)
		buffers := reactor.BufferConfig{LargeLimit: maxSplices + 2}
		p := startOn(t, newRing(t, kind), buffers, Backend{IdleTimeout: time.Minute}, ln)
		for range maxSplices + 8 {
			c, s := pair(t, p, ln)
			_ = s.SetDeadline(time.Now().Add(time.Minute))
			go func() { _, _ = s.Write(tooMuch) }()
			if _, err := io.ReadFull(c, make([]byte, 4<<20)); err != nil {
				t.Fatal(err)
			}
		}
		awaitQuiet(t, p.workers[0].loop)
		p.on(func(w *worker) {
			if w.splicing != maxSplices {
				t.Errorf("%d are spliced, want all %d", w.splicing, maxSplices)
			}
		})
		c, s := pair(t, p, ln)
		for _, ends := range [][2]net.Conn{{c, s}, {s, c}} {
			want := make([]byte, 16<<20)
			go func() { _, _ = ends[0].Write(want) }()
			if n, err := io.ReadFull(ends[1], make([]byte, len(want))); err != nil {
				t.Fatalf("%d bytes of %d arrive: %v", n, len(want), err)
			}
		}
	})
}

// awaitQuiet waits until a loop has had no completions for a while.
func awaitQuiet(t *testing.T, l *reactor.Loop) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for last, still := uint64(0), 0; still < 20; time.Sleep(10 * time.Millisecond) {
		if n := l.Stats().Completions; n != last {
			last, still = n, -1
		}
		if still++; time.Now().After(deadline) {
			t.Fatal("the loop does not become idle")
		}
	}
}
