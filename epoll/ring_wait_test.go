//go:build linux

package epoll

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// enterFor enters, and returns how long that took.
func (g *rig) enterFor(timeout time.Duration) time.Duration {
	g.Helper()
	start := time.Now()
	g.check(g.Enter(timeout))
	return time.Since(start)
}

// TestMinWait: a wait takes the minimum, but not more than its timeout, and does not wait if there is a completion
// already. After the minimum the first completion or a Wake ends it.
func TestMinWait(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	a, b := g.tcp()
	later := func(after time.Duration) (ud uint64) {
		ud = g.push(recvTo(a, g.bytes(8), 0))
		g.quiet()
		time.AfterFunc(after, func() { _, _ = unix.Write(b, []byte("x")) })
		return ud
	}

	const least, after = 100 * time.Millisecond, 20 * time.Millisecond
	took := time.Duration(0)
	for took < after/2 { // or it was there when the wait began
		r.SetMinWait(0)
		ud := later(after)
		r.SetMinWait(least)
		took = g.enterFor(-1)
		g.want(ud, 1, 0)
	}
	if took < least {
		t.Errorf("it returned after %v", took)
	}

	r.SetMinWait(0)
	ud := later(20 * time.Millisecond)
	r.SetMinWait(time.Millisecond)
	g.enterFor(-1)
	g.want(ud, 1, 0)

	longest := time.Duration(0)
	for range 5 { // a signal may cut one short
		longest = max(longest, g.enterFor(20*time.Millisecond))
	}
	if longest < 20*time.Millisecond {
		t.Errorf("a timeout of 20 ms took %v", longest)
	}
	r.SetMinWait(time.Minute)
	if took := g.enterFor(20 * time.Millisecond); took > 10*time.Second {
		t.Errorf("a timeout of 20 ms took %v", took)
	}
	ud = g.push(recvTo(a, g.bytes(8), 0))
	g.write(b, "x")
	if took := g.enterFor(-1); took > 10*time.Second {
		t.Errorf("what was there already took %v", took)
	}
	g.want(ud, 1, 0)

	r.SetMinWait(20 * time.Millisecond)
	time.AfterFunc(time.Millisecond, func() { _ = r.Wake() })
	if took := g.enterFor(-1); took > 10*time.Second {
		t.Errorf("it was woken after %v", took)
	}
}

// TestSparseDoesNotWait: completions that submitting alone has made are returned without a wait, however many they
// are.
func TestSparseDoesNotWait(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	g.quiet()
	r.sparse, r.sinceTurn = true, haste
	g.push((*uring.SQE).PrepNop)
	if took := g.enterFor(5 * time.Second); took > 4*time.Second {
		t.Errorf("it waited for %v with a completion in the queue", took)
	}
}

// TestSparseReportsTheWake: a multishot poll takes all events when it starts. If a Wake was among them, the next
// Enter does not wait.
func TestSparseReportsTheWake(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	a, _ := g.tcp()
	g.quiet()
	r.sparse = true
	g.push(func(sqe *uring.SQE) { sqe.PrepPollMultishot(a, unix.POLLIN) })
	g.check(r.Wake())
	if took := g.enterFor(5 * time.Second); took > 4*time.Second {
		t.Errorf("it waited for %v although it had been woken", took)
	}
}

// TestSparse: after a wait for one event the next Enter waits without asking the epoll set first; after a wait for
// several events it asks.
func TestSparse(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	a, b := g.tcp()
	p, q := g.tcp()
	g.quiet()
	for _, both := range []bool{false, true, false} {
		first, second := g.push(recvTo(a, g.bytes(8), 0)), g.push(recvTo(p, g.bytes(8), 0))
		g.check(g.Enter(0))
		g.write(b, "x")
		if both {
			g.write(q, "x")
		}
		r.sparse = true // it waits, although there is something already
		g.check(g.Enter(-1))
		if r.sparse == both {
			t.Errorf("both %v, sparse %v", both, r.sparse)
		}
		g.want(first, 1, 0)
		g.write(q, "x")
		g.want(second, 1, 0)
		if both {
			g.read(p, 1)
		}
	}
}

// TestHasteEnds: the set is asked when the time is over, however cheap the entries are.
func TestHasteEnds(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	a, b := g.tcp()
	ud := g.push(recvTo(a, g.bytes(8), 0))
	g.quiet()
	g.write(b, "x")
	for i, end := range []time.Duration{time.Hour, 0} {
		r.hasteTime, r.hasteEnds = end, time.Time{}
		other := g.push((*uring.SQE).PrepNop)
		g.check(g.Enter(-1))
		g.want(other, 0, 0)
		if received := g.Pop(&g.cqe); received != (i == 1) || received && g.cqe.UserData != ud {
			t.Errorf("%v: received %t, %+v", end, received, g.cqe)
		}
	}
}

// TestHaste: completions that submitting alone has made are returned without asking the epoll set, but only a few of
// them, and fewer if they have cost more.
func TestHaste(t *testing.T) {
	r := newEpoll(t, Config{})
	r.hasteTime = time.Hour
	g := newRig(t, r)
	a, b := g.tcp()
	out, _ := g.tcp()
	for _, c := range []struct {
		prep  func(*uring.SQE)
		looks int // the entry that makes it look
	}{
		{(*uring.SQE).PrepNop, haste/turnCost + 1},
		{sendFrom(out, pattern(g, haste/2), 0), 2},
		{sendFrom(out, pattern(g, haste), 0), 1},
	} {
		ud := g.push(recvTo(a, g.bytes(8), 0))
		g.quiet()
		g.write(b, "x")
		for n := 1; ; n++ {
			other := g.push(c.prep)
			g.check(g.Enter(-1))
			if !g.Pop(&g.cqe) || g.cqe.UserData != other || g.cqe.Res < 0 {
				t.Fatalf("%+v", g.cqe)
			}
			if g.Pop(&g.cqe) {
				if g.cqe.UserData != ud || n != c.looks {
					t.Errorf("%+v after %d entries, not %d", g.cqe, n, c.looks)
				}
				break
			}
			if n > c.looks {
				t.Fatalf("the receive is starved by %d entries", n)
			}
		}
	}
}
