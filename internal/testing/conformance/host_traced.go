package conformance

import (
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/reactord/reactord/epoll"
	loophost "github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

var traced = flag.Bool("conformance.trace", false, "print what rings do, step by step")

// ring is what a loop uses of uring.Ring and epoll.Ring.
type ring interface {
	loophost.Ring
	RegisterFixedBuffers(bufs [][]byte) error
	SetMinWait(least time.Duration)
}

// tracedRing is a ring that prints what is submitted to it and what completes.
type tracedRing struct {
	ring
	out   io.Writer
	began time.Time
	ops   map[uint64]uring.Op // by user_data, of entries that have not completed
}

// newTracedLoop makes a loop of cfg, on a ring that prints what it does.
func newTracedLoop(cfg reactor.LoopConfig, out io.Writer) (*reactor.Loop, error) {
	var r ring
	var err error
	if cfg.Ring == reactor.Epoll {
		r, err = epoll.New(epoll.Config{Entries: cfg.Entries})
	} else {
		r, err = uring.New(uring.Config{Entries: cfg.Entries})
	}
	if err != nil {
		return nil, err
	}
	return reactor.NewLoopOn(&tracedRing{r, out, time.Now(), map[uint64]uring.Op{}}, nil, cfg)
}

func (r *tracedRing) Push(sqe *uring.SQE) {
	r.ops[sqe.UserData] = sqe.Opcode
	r.print("submit", simring.Describe(sqe))
	r.ring.Push(sqe)
}

func (r *tracedRing) Pop(cqe *uring.CQE) bool {
	if !r.ring.Pop(cqe) {
		return false
	}
	r.print("complete", simring.DescribeResult(r.ops[cqe.UserData], cqe))
	return true
}

func (r *tracedRing) print(what, described string) {
	fmt.Fprintf(r.out, "%12.6fms %s %s\n", float64(time.Since(r.began))/1e6, what, described)
}

// ExpectTCP calls the ring's ExpectTCP, which only some rings have.
func (r *tracedRing) ExpectTCP(fd int) {
	if ring, ok := r.ring.(interface{ ExpectTCP(fd int) }); ok {
		ring.ExpectTCP(fd)
	}
}

// Forget calls the ring's Forget, which only some rings have.
func (r *tracedRing) Forget(fd int) {
	if ring, ok := r.ring.(interface{ Forget(fd int) }); ok {
		ring.Forget(fd)
	}
}
