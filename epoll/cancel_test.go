package epoll

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestCancel: what each kind of cancel reaches, and what it says.
func TestCancel(t *testing.T) {
	const all, byFd, byUserData, byOp = uring.CancelAll, uring.CancelFd, uring.CancelUserData, uring.CancelOp
	for _, c := range []struct {
		name    string
		flags   uint32
		fd      int // 0 or 1: the first or the second socket
		target  int // index below
		op      uring.Op
		res     int32
		reached []int
	}{
		{name: "one", target: 1, reached: []int{1}},
		{name: "all of one", flags: all, target: 1, res: 1, reached: []int{1}},
		{name: "all of none", flags: all, target: 99},
		{name: "descriptor", flags: byFd, fd: 1, reached: []int{4}},
		{name: "descriptor, all", flags: byFd | all, res: 4, reached: []int{0, 1, 2, 3}},
		{name: "descriptor and user_data", flags: byFd | byUserData, target: 2, reached: []int{2}},
		{name: "another descriptor's user_data", flags: byFd | byUserData, target: 4, res: -int32(unix.ENOENT)},
		{name: "descriptor and opcode", flags: byFd | byOp | all, op: uring.OpRecv, res: 2, reached: []int{0, 1}},
		{name: "descriptor and another opcode", flags: byFd | byOp, op: uring.OpAccept, res: -int32(unix.ENOENT)},
		{name: "opcode", flags: byOp | all, op: uring.OpRecv, res: 3, reached: []int{0, 1, 4}},
		{name: "opcode and user_data", flags: byOp | byUserData, op: uring.OpRecv, target: 4, reached: []int{4}},
		{name: "another opcode's user_data", flags: byOp | byUserData, op: uring.OpRecv, target: 2, res: -int32(unix.ENOENT)},
	} {
		t.Run(c.name, func(t *testing.T) {
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
				ud := g.push(func(s *uring.SQE) {
					s.PrepCancel(base+uint64(c.target), c.flags)
					s.Fd = int32([]int{a, b}[c.fd])
					s.Len = uint32(c.op)
				})
				g.want(ud, c.res, 0)
				var reached []int
				for range c.reached {
					got := g.wait()
					if got.Res != -int32(unix.ECANCELED) || got.Flags != 0 {
						g.Errorf("%+v", got)
					}
					reached = append(reached, int(got.UserData-base))
				}
				slices.Sort(reached)
				if !slices.Equal(reached, c.reached) {
					g.Errorf("reached %v, want %v", reached, c.reached)
				}
				g.quiet()
			})
		})
	}
}

// TestCancelLatest has two entries with one user_data: the later one goes first.
func TestCancelLatest(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, _ := g.pair(unix.SOCK_STREAM)
		b, peer := g.pair(unix.SOCK_STREAM)
		same := g.push(recvTo(b, g.bytes(8), 0))
		g.next--
		g.push(recvTo(a, g.bytes(8), 0))
		g.quiet()
		g.do(0, func(s *uring.SQE) { s.PrepCancel(same, 0) })
		g.fails(same, unix.ECANCELED)
		g.write(peer, "first")
		g.want(same, 5, 0)
	})
}

// TestCancelAny: everything but the cancel itself, and not the ring's own wake-up.
func TestCancelAny(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	a, _ := g.pair(unix.SOCK_STREAM)
	l, _ := g.listen()
	g.push(recvTo(a, g.bytes(8), 0))
	g.push(func(s *uring.SQE) { s.PrepAcceptMultishot(l, 0) })
	g.push(func(s *uring.SQE) { s.PrepPollMultishot(a, unix.POLLIN) })
	g.do(3, (*uring.SQE).PrepCancelAny)
	for range 3 {
		if c := g.wait(); c.Res != -int32(unix.ECANCELED) {
			t.Errorf("%+v", c)
		}
	}
	g.do(0, (*uring.SQE).PrepCancelAny)
	g.check(g.Wake())
	g.check(g.Enter(-1))
}

// TestCancelInBatch has the cancel follow its target in one submission.
func TestCancelInBatch(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, _ := g.pair(unix.SOCK_STREAM)
		ud := g.push(recvTo(a, g.bytes(8), 0))
		g.do(0, func(s *uring.SQE) { s.PrepCancel(ud, 0) })
		g.fails(ud, unix.ECANCELED)
	})
}
