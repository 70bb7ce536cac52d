//go:build linux

package epoll

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestManyDescriptors ends batches of bytes while descriptors are still ready.
func TestManyDescriptors(t *testing.T) {
	const pairs, size, rounds = 100, 1000, 5
	g := newRig(t, newEpoll(t, Config{BatchBytes: 3 * size, Entries: 8}))
	type conn struct{ a, b int }
	conns := make([]conn, pairs)
	into := g.bytes(pairs * size)
	for i := range conns {
		conns[i].a, conns[i].b = g.tcp()
	}
	for range rounds {
		base := g.next
		for i, c := range conns {
			g.push(recvTo(c.a, into[i*size:][:size], unix.MSG_WAITALL))
		}
		g.quiet()
		for _, c := range conns {
			g.write(c.b, strings.Repeat("x", size))
		}
		for range pairs {
			c := g.wait()
			if c.Res != size || c.UserData < base || c.UserData >= base+pairs {
				t.Fatalf("%+v", c)
			}
		}
		g.quiet()
	}
}

// TestFairness floods one multishot receive: another descriptor is served nevertheless.
func TestFairness(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{BatchBytes: 1}))
	g.provide()
	a, b := g.tcp()
	p, q := g.tcp()
	flood := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
	other := g.push(recvTo(p, g.bytes(8), 0))
	g.quiet()
	g.write(b, strings.Repeat("x", 6*bufSize))
	g.write(q, "turn")
	for range 2 {
		if c := g.wait(); c.UserData == other {
			break
		} else if c.UserData != flood {
			t.Fatalf("%+v", c)
		}
		if !g.ring.(*Ring).cq.empty() {
			t.Fatal("a batch of one byte has more than one completion")
		}
	}
}

// TestMultishotShares: a multishot receive and another receive of one descriptor are served round-robin.
func TestMultishotShares(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	g.provide()
	a, b := g.tcp()
	multi := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
	single := g.push(recvTo(a, g.bytes(8), 0))
	g.quiet()
	for _, ud := range []uint64{multi, single, multi} {
		g.write(b, "x")
		g.wait2(ud)
	}
}

// TestNoSleep ends a batch without a completion: the ring must continue before it waits.
func TestNoSleep(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{BatchBytes: 1}))
	a, b := g.tcp()
	p, q := g.tcp()
	g.push(recvTo(a, g.bytes(8), unix.MSG_WAITALL))
	ud := g.push(recvTo(p, g.bytes(8), 0))
	g.quiet()
	g.write(b, "part")
	g.write(q, "whole")
	g.check(g.Enter(-1))
	g.want(ud, 5, 0)
}
