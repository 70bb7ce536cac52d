//go:build linux

package reactor_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// bulkBuffers are of sizes that a pair of local sockets shows the difference of.
var bulkBuffers = reactor.BufferConfig{Size: 1 << 10, LargeSize: 16 << 10}

// bulk is received by an adaptive sequence, whose leases are given back with each item.
type bulk struct {
	*consumer
	items  []int // their sizes
	unpaid int   // credit that was used up and is not granted again
	sent   []byte
}

func (r *running) bulk(credit int) *bulk {
	b := &bulk{consumer: &consumer{r: r, ended: newResult()}}
	b.s, b.peer = r.pair()
	r.do(func() {
		b.s.RecvMany(credit).Adaptive().Connect(&b.op, seqSinkOf(r.t, b.ended, nil, func(l reactor.Lease) {
			b.items = append(b.items, l.Len())
			b.got = append(b.got, l.Bytes()...)
			if b.unpaid += l.Credits(); b.unpaid > max(credit, l.Credits()) {
				r.t.Errorf("%d buffers' worth with a credit of %d", b.unpaid, credit)
			}
			if b.idle {
				b.held = append(b.held, l)
				return
			}
			l.Release()
			b.pay()
		}))
		b.op.Start()
	})
	return b
}

func (b *bulk) pay() {
	n := b.unpaid
	b.unpaid = 0
	b.op.Grant(n)
}

// send sends to the sequence.
func (b *bulk) send(p []byte) {
	b.sent = append(b.sent, p...)
	write(b.r.t, b.peer, p)
}

// flood sends what fits between the sockets, while the loop is kept from receiving it.
func (b *bulk) flood() { b.r.do(func() { b.send(random(100 << 10)) }) }

// largest waits for what was sent, and is the size of the largest item of it.
func (b *bulk) largest() (n int) {
	b.r.t.Helper()
	for arrived, until := false, time.Now().Add(patience); !arrived; {
		if time.Now().After(until) {
			b.r.t.Fatal("what was sent does not arrive")
		}
		b.r.do(func() { arrived = len(b.got) == len(b.sent) })
	}
	b.r.do(func() {
		n = slices.Max(b.items)
		b.items = b.items[:0]
	})
	return n
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// Bulk comes in large pieces, whole and in order, and within the credit; and when little comes, pieces are
// small again.
func TestBulk(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: bulkBuffers})
		defer r.end()
		b := r.bulk(32)
		b.flood()
		if n := b.largest(); n <= bulkBuffers.Size {
			t.Errorf("the largest piece of bulk had %d bytes", n)
		}
		for range 32 {
			b.send(random(100))
			b.largest()
		}
		b.send(random(2 * bulkBuffers.Size))
		if n := b.largest(); n > bulkBuffers.Size {
			t.Errorf("behind small pieces came one of %d bytes", n)
		}
		b.send(random(1 << 20))
		unix.Close(b.peer)
		b.ended.expect(t, "{}")
		if r.do(func() {}); !bytes.Equal(b.got, b.sent) {
			t.Errorf("received %d bytes of %d, or others", len(b.got), len(b.sent))
		}
		r.close(b.s)
	})
}

// A connection that had bulk and is silent holds no buffer, and what it had gives its memory back.
func TestBulkHoldsNothing(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: bulkBuffers})
		defer r.end()
		b := r.bulk(32)
		b.flood()
		if b.largest() <= bulkBuffers.Size {
			t.Fatal("there was no bulk")
		}
		if leased := r.Stats().LeasedBytes; leased != 0 {
			t.Errorf("a silent connection holds %d bytes", leased)
		}
		r.do(func() {
			if r.ResidentLarge() == 0 {
				t.Error("no large buffer was used")
			}
			r.TrimBuffers()
			r.TrimBuffers()
			if n := r.ResidentLarge(); n != 0 {
				t.Errorf("%d large buffers keep their memory", n)
			}
		})
		b.flood()
		if b.largest() <= bulkBuffers.Size {
			t.Error("the second bulk came in small pieces")
		}
		unix.Close(b.peer)
		b.ended.expect(t, "{}")
		r.close(b.s)
	})
}

// A sequence in its bulk can be closed at any moment, and what it holds is not lost.
func TestBulkClosed(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, silent := range []bool{false, true} {
			r := run(t, reactor.LoopConfig{Ring: kind, Buffers: bulkBuffers})
			b := r.bulk(32)
			b.flood()
			if b.largest() <= bulkBuffers.Size {
				t.Fatal("there was no bulk")
			}
			if !silent {
				r.do(func() { b.idle = true })
				b.send(random(32 << 10))
				r.settle()
			}
			r.close(b.s)
			b.ended.expect(t, "error: use of a closed descriptor")
			r.do(func() {
				for _, l := range b.held {
					l.Release()
				}
			})
			unix.Close(b.peer)
			r.end()
		}
	})
}

// Where there are no large buffers, or none is left, usual ones are used.
func TestBulkWithoutLargeBuffers(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		cfg := bulkBuffers
		cfg.LargeLimit = -1
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: cfg})
		defer r.end()
		b := r.bulk(32)
		b.send(random(1 << 20))
		if n := b.largest(); n != cfg.Size {
			t.Errorf("the largest piece had %d bytes", n)
		}
		unix.Close(b.peer)
		b.ended.expect(t, "{}")
		if r.do(func() {}); !bytes.Equal(b.got, b.sent) {
			t.Errorf("received %d bytes of %d, or others", len(b.got), len(b.sent))
		}
		r.close(b.s)
	})
}

// Messages of just the size of a buffer look like bulk, but soon no longer count as it.
func TestBulkThatIsNone(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{Buffers: bulkBuffers})
		polls := 0
		h.push = func(e *uring.SQE) {
			if e.Opcode == uring.OpPollAdd {
				polls++
			}
		}
		r := runLoop(t, l)
		defer r.end()
		b := r.bulk(32)
		const messages = 2000
		for range messages {
			b.send(random(bulkBuffers.Size))
			b.largest()
		}
		r.do(func() {
			if polls == 0 || polls > messages/8 {
				t.Errorf("%d of %d messages were waited for as bulk", polls, messages)
			}
		})
		unix.Close(b.peer)
		b.ended.expect(t, "{}")
		r.close(b.s)
	})
}
