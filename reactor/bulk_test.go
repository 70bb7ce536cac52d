package reactor_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// bulkBuffers are of sizes that a pair of local sockets shows the difference of.
var bulkBuffers = reactor.BufferConfig{Size: 1 << 10, Large: 16 << 10}

// bulk is received by an adaptive sequence, whose leases are given back with each item.
type bulk struct {
	*consumer
	items  []int // their sizes
	unpaid int   // credit that was used up and is not granted again
}

func (r *running) bulk(credit int) *bulk {
	b := &bulk{consumer: &consumer{r: r, ended: newResult()}}
	b.s, b.peer = r.pair()
	r.do(func() {
		b.s.RecvMany(credit).Adaptive().Connect(&b.op, seqSinkOf(r.t, b.ended, nil, func(l reactor.Lease) {
			b.items = append(b.items, l.Len())
			b.got = append(b.got, l.Bytes()...)
			if b.unpaid += l.Worth(); b.unpaid > max(credit, l.Worth()) {
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

// largest is the size of the largest item so far.
func (b *bulk) largest() (n int) {
	b.r.settle()
	b.r.do(func() {
		for _, size := range b.items {
			n = max(n, size)
		}
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
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: bulkBuffers})
		defer r.end()
		b := r.bulk(32)
		sent := random(1 << 20)
		write(t, b.peer, sent)
		if n := b.largest(); n <= bulkBuffers.Size {
			t.Errorf("the largest piece of bulk had %d bytes", n)
		}
		for range 32 {
			write(t, b.peer, sent[:100])
			r.settle()
		}
		b.largest()
		write(t, b.peer, sent[:2*bulkBuffers.Size])
		if n := b.largest(); n > bulkBuffers.Size {
			t.Errorf("behind small pieces came one of %d bytes", n)
		}
		unix.Close(b.peer)
		b.ended.expect(t, "{}")
		for range 32 {
			sent = append(sent, sent[:100]...)
		}
		sent = append(sent, sent[:2*bulkBuffers.Size]...)
		if r.do(func() {}); !bytes.Equal(b.got, sent) {
			t.Errorf("received %d bytes of %d, or others", len(b.got), len(sent))
		}
		r.close(b.s)
	})
}

// A connection that had bulk and is silent holds no buffer, and what it had gives its memory back.
func TestBulkHoldsNothing(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: bulkBuffers})
		defer r.end()
		b := r.bulk(32)
		write(t, b.peer, random(1<<20))
		if b.largest() <= bulkBuffers.Size {
			t.Fatal("there was no bulk")
		}
		if lent := r.Stats().LentBytes; lent != 0 {
			t.Errorf("a silent connection holds %d bytes", lent)
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
		write(t, b.peer, random(1<<18))
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
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		for _, silent := range []bool{false, true} {
			r := run(t, reactor.LoopConfig{Ring: kind, Buffers: bulkBuffers})
			b := r.bulk(32)
			write(t, b.peer, random(1<<20))
			if b.largest() <= bulkBuffers.Size {
				t.Fatal("there was no bulk")
			}
			if !silent {
				r.do(func() { b.idle = true })
				write(t, b.peer, random(32<<10))
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
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		cfg := bulkBuffers
		cfg.LargeLimit = -1
		r := run(t, reactor.LoopConfig{Ring: kind, Buffers: cfg})
		defer r.end()
		b := r.bulk(32)
		sent := random(1 << 20)
		write(t, b.peer, sent)
		if n := b.largest(); n != cfg.Size {
			t.Errorf("the largest piece had %d bytes", n)
		}
		unix.Close(b.peer)
		b.ended.expect(t, "{}")
		if r.do(func() {}); !bytes.Equal(b.got, sent) {
			t.Errorf("received %d bytes of %d, or others", len(b.got), len(sent))
		}
		r.close(b.s)
	})
}

// Messages of just the size of a buffer look like bulk, but are soon not taken for it any more.
func TestBulkThatIsNone(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
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
			write(t, b.peer, random(bulkBuffers.Size))
			r.settle()
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
