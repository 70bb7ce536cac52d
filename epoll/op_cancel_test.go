//go:build linux

package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestCancel cancels one of several entries, for each thing that an entry can wait for. The others stay in flight.
func TestCancel(t *testing.T) {
	for target, name := range []string{"recv", "second recv", "poll", "send", "recv of another descriptor"} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(g *rig) {
				a, _ := g.pair(unix.SOCK_STREAM)
				b, _ := g.pair(unix.SOCK_STREAM)
				g.narrow(a, a)
				big := g.bytes(1 << 20)
				for g.wait2(g.push(sendFrom(a, big, unix.MSG_DONTWAIT))).Res > 0 {
				}
				base := g.next
				g.push(recvTo(a, g.bytes(8), 0))
				g.push(recvTo(a, g.bytes(8), 0))
				g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) })
				g.push(sendFrom(a, big, unix.MSG_WAITALL))
				g.push(recvTo(b, g.bytes(8), 0))
				g.quiet()
				g.do(0, func(s *uring.SQE) { s.PrepCancel(base + uint64(target)) })
				g.fails(base+uint64(target), unix.ECANCELED)
				g.do(-int32(unix.ENOENT), func(s *uring.SQE) { s.PrepCancel(base + uint64(target)) })
				g.do(-int32(unix.ENOENT), func(s *uring.SQE) { s.PrepCancel(base + 99) })
				g.quiet()
			})
		})
	}
}

// TestCancelLatest has two entries with one user_data: the later one is cancelled.
func TestCancelLatest(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, _ := g.pair(unix.SOCK_STREAM)
		b, peer := g.pair(unix.SOCK_STREAM)
		same := g.push(recvTo(b, g.bytes(8), 0))
		g.next--
		g.push(recvTo(a, g.bytes(8), 0))
		g.quiet()
		g.do(0, func(s *uring.SQE) { s.PrepCancel(same) })
		g.fails(same, unix.ECANCELED)
		g.write(peer, "first")
		g.want(same, 5, 0)
	})
}

// TestCancelInBatch submits an entry and its cancel together.
func TestCancelInBatch(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, _ := g.pair(unix.SOCK_STREAM)
		ud := g.push(recvTo(a, g.bytes(8), 0))
		g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
		g.fails(ud, unix.ECANCELED)
	})
}
