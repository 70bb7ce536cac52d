package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// However much those want who keep what they receive, everybody else finds a buffer, those who come later too; and
// those who give back what they have go on.
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
					t.Fatalf("%d items although there should be a buffer; %d bytes are lent", n, r.Stats().LeasedBytes)
				}
				r.do(c.consume)
			}
		}
		for _, c := range all[:hogs/4] { // at rest, most of them
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

// One who rests because he holds his share, and gives nothing back before he has more, goes on when others have given
// back theirs.
func TestRestsUntilBuffersAreAmple(t *testing.T) {
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: 64, Window: 4, Limit: 16}}
	eachRingAndPlain(t, cfg, func(t *testing.T, r *running) {
		var others []*reactor.Socket
		var leases []reactor.Lease
		for range 9 {
			s, peer, lease := r.borrow()
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

// A single one may have all that it has credit for while nobody else wants any.
func TestBuffersAreNotSharedWithNobody(t *testing.T) {
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
