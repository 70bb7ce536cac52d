//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// However much is sent to connections that keep what they receive, other connections find a buffer, new ones as well.
// When the former release their buffers, they receive the rest.
func TestBuffersAreLeftForOthers(t *testing.T) {
	const limit, hogs, credit, size = 256, 100, 8, 64
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: size, Window: 16, Limit: limit}}
	eachRingAndPlain(t, cfg, func(t *testing.T, r *running) {
		old := r.consumer(credit)
		var all []*consumer
		for range hogs {
			c := r.consumer(credit)
			write(t, c.peer, make([]byte, 2*credit*size))
			all = append(all, c)
		}
		r.settle()
		for i, c := range all {
			if n := c.items(); n == 0 || n > credit {
				t.Fatalf("hog %d has %d items", i, n)
			}
		}
		young := r.consumer(credit)
		for range 3 {
			for _, c := range []*consumer{old, young} {
				write(t, c.peer, []byte("x"))
				if n := c.items(); n != 1 {
					t.Fatalf("%d items although there should be a buffer; %d bytes are leased", n, r.Stats().LeasedBytes)
				}
				r.do(c.consume)
			}
		}
		for _, c := range all[:hogs/4] { // most of them are rationed
			r.close(c.s)
			c.ended.expect(t, "error: use of a closed descriptor")
			unix.Close(c.peer)
			r.do(c.consume)
		}
		for _, c := range all[hogs/4:] {
			for deadline := time.Now().Add(patience); ; {
				got := 0
				r.do(func() { got = len(c.got); c.consume() })
				if got == 2*credit*size {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d bytes of %d", got, 2*credit*size)
				}
			}
			c.end()
		}
		old.end()
		young.end()
	})
}

// Sequences that were armed while buffers were ample, and that all receive in one turn, leave buffers for others too.
func TestBuffersAreLeftAfterABurst(t *testing.T) {
	const limit, hogs, credit, size = 128, 40, 256, 64
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: size, Window: limit, Limit: limit}}
	eachRingAndPlain(t, cfg, func(t *testing.T, r *running) {
		old := r.consumer(credit)
		var all []*consumer
		for range hogs {
			all = append(all, r.consumer(credit))
		}
		r.settle()
		r.do(func() {
			for _, c := range all {
				write(t, c.peer, make([]byte, credit*size))
			}
		})
		r.settle()
		young := r.consumer(credit)
		for _, c := range []*consumer{old, young} {
			write(t, c.peer, []byte("x"))
			if n := c.items(); n != 1 {
				t.Errorf("%d items although there should be a buffer; %d bytes are leased", n, r.Stats().LeasedBytes)
			}
			c.end()
		}
		for _, c := range all {
			r.do(c.consume)
			c.end()
		}
	})
}

// A sequence that is rationed, and releases nothing before it has received more, is resumed when others have released
// their buffers.
func TestRationedUntilBuffersAreAmple(t *testing.T) {
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: 64, Window: 4, Limit: 16}}
	eachRingAndPlain(t, cfg, func(t *testing.T, r *running) {
		var others []*reactor.Socket
		var leases []reactor.Lease
		for range 9 {
			s, peer, lease := r.lease()
			defer unix.Close(peer)
			others, leases = append(others, s), append(leases, lease)
		}
		c := r.consumer(4)
		write(t, c.peer, make([]byte, 64*4))
		if n := c.items(); n != 1 {
			t.Errorf("%d items, want the first only", n)
		}
		r.do(func() {
			for _, l := range leases {
				l.Release()
			}
		})
		if n := c.items(); n != 4 {
			t.Errorf("%d items although there are buffers and credit, want 4", n)
		}
		c.end()
		r.close(others...)
	})
}

// A single sequence may have all buffers that it has credit for while no other one needs any.
func TestSingleSequenceIsNotRationed(t *testing.T) {
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: 64, Limit: 256}}
	eachRingAndPlain(t, cfg, func(t *testing.T, r *running) {
		c := r.consumer(64)
		write(t, c.peer, make([]byte, 64*64))
		for deadline := time.Now().Add(patience); c.items() != 64; {
			if time.Now().After(deadline) {
				t.Fatalf("%d items, want 64", c.items())
			}
		}
		c.end()
	})
}
