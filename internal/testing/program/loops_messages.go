package program

import (
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
)

// post is the messages between the loops of a cluster, and from other threads to them. A writer has a number: that of
// its loop, or a higher one if it is another thread.
type post struct {
	*cluster
	boxes        [][]*mailbox // by loop
	writers      int          // that are no loops
	sent         [][]int      // messages, by writer and loop
	settledCount [][]int      // how many of them were delivered or returned
	ended        [][]bool     // one was returned
}

// note is the value of a message.
type note struct {
	from, to int // numbers of a writer and of a loop
	seq      int // of the messages between the two
	hops     int // how often it is to be sent on
}

// mailbox is a mailbox of a loop. A loop may have several.
type mailbox struct {
	*post
	loop    int
	mailbox reactor.Mailbox[note]
}

func newPost(c *cluster, each int) *post {
	p := &post{cluster: c, writers: c.k.Rand().IntN(3)}
	for i, l := range c.loops {
		p.boxes = append(p.boxes, nil)
		for range each {
			b := &mailbox{post: p, loop: i}
			b.mailbox.Init(l, b)
			p.boxes[i] = append(p.boxes[i], b)
		}
	}
	for range len(c.loops) + p.writers {
		p.sent, p.settledCount = append(p.sent, make([]int, len(c.loops))), append(p.settledCount, make([]int, len(c.loops)))
		p.ended = append(p.ended, make([]bool, len(c.loops)))
	}
	return p
}

// write sends messages to the loops, on another thread.
func (p *post) write(t *simring.Thread, writer int) {
	rng := p.k.Rand()
	for range rng.IntN(20) {
		if rng.IntN(2) == 0 {
			t.Sleep(time.Duration(1 + rng.Int64N(1<<(8+rng.IntN(14)))))
		}
		p.send(writer, &reactor.Envelope[note]{Value: note{hops: rng.IntN(4)}})
	}
}

// send sends a message to one of the loops.
func (p *post) send(writer int, m *reactor.Envelope[note]) {
	rng := p.k.Rand()
	to := rng.IntN(len(p.loops))
	m.Value = note{from: writer, to: to, seq: p.sent[writer][to], hops: m.Value.hops}
	m.ReturnTo = p
	p.sent[writer][to]++
	p.boxes[to][rng.IntN(len(p.boxes[to]))].mailbox.Post(m)
}

// OnMessage takes a message, and may send it on.
func (b *mailbox) OnMessage(m *reactor.Envelope[note]) {
	b.on(b.loops[b.loop], "a message")
	switch n := m.Value; {
	case n.to != b.loop:
		b.k.Errorf("message %+v came to loop %d", n, b.loop)
	case b.ended[n.from][n.to]:
		b.k.Errorf("message %+v was delivered behind one that was returned", n)
	}
	b.settle(m)
	if m.Value.hops--; m.Value.hops >= 0 {
		b.send(b.loop, m)
	}
}

// OnUndeliverable takes a message back. It is on the thread of the writer, since no loop fails.
func (p *post) OnUndeliverable(m *reactor.Envelope[note]) {
	n := m.Value
	if !p.stopping[n.to] {
		p.k.Errorf("message %+v was returned, and its loop runs", n)
	}
	if n.from < len(p.loops) {
		p.on(p.loops[n.from], "a message that was returned")
	}
	p.ended[n.from][n.to] = true
	p.settle(m)
}

// settle asserts that a message is the next one between its writer and its loop.
func (p *post) settle(m *reactor.Envelope[note]) {
	n := m.Value
	if want := p.settledCount[n.from][n.to]; n.seq != want {
		p.k.Errorf("message %+v comes instead of message %d", n, want)
	}
	p.settledCount[n.from][n.to]++
}

// settled reports whether all messages have been delivered or returned.
func (p *post) settled() bool {
	for i := range p.sent {
		for j := range p.sent[i] {
			if p.sent[i][j] != p.settledCount[i][j] {
				return false
			}
		}
	}
	return true
}
