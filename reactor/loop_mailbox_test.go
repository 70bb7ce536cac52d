//go:build linux

package reactor_test

import (
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// receiver handles the messages of a mailbox.
type postman struct {
	reactor.Mailbox[int]
	got func(m *reactor.Envelope[int])
}

func (p *postman) OnMessage(m *reactor.Envelope[int]) { p.got(m) }

// returned counts the messages that could not be delivered.
type returned struct{ n atomic.Int32 }

func (r *returned) OnUndeliverable(*reactor.Envelope[int]) { r.n.Add(1) }

// Two loops send a message back and forth, each time on the right thread.
func TestMessagesBetweenLoops(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		a, b := run(t, reactor.LoopConfig{Ring: kind}), run(t, reactor.LoopConfig{Ring: kind})
		const rounds = 1000
		done := make(chan int, 1)
		var ping, pong postman
		var tids [2]int
		a.do(func() { tids[0] = unix.Gettid() })
		b.do(func() { tids[1] = unix.Gettid() })
		here := func(i int) {
			if unix.Gettid() != tids[i] {
				t.Error("delivered on a wrong thread")
			}
		}
		ping.got = func(m *reactor.Envelope[int]) {
			here(0)
			if m.Value++; m.Value >= rounds {
				done <- m.Value
				return
			}
			pong.Post(m)
		}
		pong.got = func(m *reactor.Envelope[int]) {
			here(1)
			m.Value++
			ping.Post(m)
		}
		ping.Init(a.Loop, &ping)
		pong.Init(b.Loop, &pong)
		ping.Post(new(reactor.Envelope[int]))
		if n := <-done; n < rounds {
			t.Errorf("over after %d", n)
		}
		a.end()
		b.end()
	})
}

// Messages of one thread to a loop arrive in the order in which they were posted, also through several mailboxes.
func TestMessagesAreInOrder(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		const n = 2000
		next := 0 // the loop's
		got := func(m *reactor.Envelope[int]) {
			if m.Value != next {
				t.Errorf("message %d came as number %d", m.Value, next)
			}
			next++
		}
		x, y := &postman{got: got}, &postman{got: got}
		x.Init(r.Loop, x)
		y.Init(r.Loop, y)
		messages := make([]reactor.Envelope[int], n)
		for i := range messages {
			messages[i].Value = i
			[]*postman{x, y}[i%2].Post(&messages[i])
		}
		r.do(func() {
			if next != n {
				t.Errorf("%d of %d messages came", next, n)
			}
		})
		r.end()
	})
}

// A message is delivered or returned exactly once, whenever its loop ends.
func TestMessagesToALoopThatEnds(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for range 20 {
			r := run(t, reactor.LoopConfig{Ring: kind})
			var got atomic.Int32
			box := &postman{got: func(*reactor.Envelope[int]) { got.Add(1) }}
			box.Init(r.Loop, box)
			var back returned
			const n = 400
			messages := make([]reactor.Envelope[int], n)
			for i := range messages {
				if i == n/4 {
					r.Stop()
				}
				messages[i].ReturnTo = &back
				box.Post(&messages[i])
			}
			if err := r.wait(); err != nil {
				t.Error(err)
			}
			if got.Load()+back.n.Load() != n {
				t.Errorf("%d were delivered and %d returned, of %d", got.Load(), back.n.Load(), n)
			}
			late := reactor.Envelope[int]{ReturnTo: &back}
			before := back.n.Load()
			box.Post(&late)
			if back.n.Load() != before+1 {
				t.Error("a message to a loop that has ended was not returned")
			}
		}
	})
}

func init() {
	steady["message"] = func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		box := &postman{got: func(*reactor.Envelope[int]) { next() }}
		box.Init(r.Loop, box)
		m := new(reactor.Envelope[int])
		return func() { box.Post(m) }, nil, nil
	}
}
