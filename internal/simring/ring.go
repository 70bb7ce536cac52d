package simring

import (
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// Ring is a ring of a simulated kernel. It is a host.Ring.
type Ring struct {
	k            *Kernel
	caps         uring.Caps
	sq           []uring.SQE
	entries      map[uint64][]*entry // in flight, by user_data
	inFlight     int                 // of them
	ready        []*entry            // became runnable, and were not attempted since
	attempted    []*entry            // memory for the next ready
	cq           []uring.CQE
	overflow     []uring.CQE
	held         int // completions that take their time
	overflows    atomic.Uint64
	woken        bool
	minWait      time.Duration
	closed       bool
	lost         bool // its machine has lost its power, or its process was killed
	victim       *Victim
	groups       map[uint16]*group
	fixed        fixed
	restrictions *uring.Restrictions // nil without restrictions
	jobs         []*job              // that no worker has begun
	working      int                 // workers at work, but for those that may be blocked
}

// NewRing makes a ring.
func (k *Kernel) NewRing() *Ring {
	r := &Ring{k: k, caps: k.drawCaps(), groups: map[uint16]*group{}, entries: map[uint64][]*entry{}}
	k.rings = append(k.rings, r)
	if v := k.opener(); v != nil {
		r.victim = v
		v.rings = append(v.rings, r)
	}
	return r
}

// Enable does nothing.
func (r *Ring) Enable() error { return nil }

// Push queues a copy of one entry.
func (r *Ring) Push(sqe *uring.SQE) { r.sq = append(r.sq, *sqe) }

// Enter submits what is queued, and waits for a completion, a Wake, or the timeout.
func (r *Ring) Enter(timeout time.Duration) error {
	k := r.k
	if len(r.overflow) != 0 {
		r.overflows.Add(1)
	}
	r.submit()
	k.current.wait(nil, never)
	r.work()
	if timeout != 0 && !r.done() && !k.chance(k.Odds.SpuriousReturn) {
		deadline := int64(never)
		if timeout > 0 {
			if k.flawed(Oversleep) {
				timeout += 10 * time.Millisecond
			}
			deadline = k.now + min(int64(timeout), never-1-k.now)
		}
		if r.minWait > 0 {
			k.current.wait(r.many, min(deadline, k.now+int64(r.minWait)))
			r.work()
		}
		k.current.wait(func() bool { return r.done() || r.runnable() }, deadline)
		r.work()
	}
	r.woken = false
	room := min(max(k.Odds.CQ-len(r.cq), 0), len(r.overflow))
	r.cq = append(r.cq, r.overflow[:room]...)
	r.overflow = slices.Delete(r.overflow, 0, room)
	return nil
}

// Overflows simulates [uring.Ring.Overflows].
func (r *Ring) Overflows() uint64 { return r.overflows.Load() }

// SetMinWait simulates [uring.Ring.SetMinWait]: Enter waits for that long, or until there are many completions, or
// until the timeout.
func (r *Ring) SetMinWait(least time.Duration) { r.minWait = least }

// Restrict simulates [uring.Ring.Restrict].
func (r *Ring) Restrict(to uring.Restrictions) error {
	to.Ops.Add(uring.OpPollAdd)
	r.restrictions = &to
	r.caps.Ops, r.caps.Restricted = r.caps.Ops.Intersection(to.Ops), true
	return nil
}

// refuses reports whether the restrictions do not allow an entry.
func (r *Ring) refuses(e *entry) bool {
	to := r.restrictions
	return to != nil && (!to.Ops.Has(e.Opcode) || e.Flags&^to.Flags != 0)
}

// many reports whether there are enough completions to end the minimum wait.
func (r *Ring) many() bool { return len(r.cq)+len(r.overflow) >= manyCompletions }

const manyCompletions = 32

func (r *Ring) done() bool { return r.woken || len(r.cq)+len(r.overflow) != 0 }

// runnable reports whether an entry is to be attempted.
func (r *Ring) runnable() bool {
	return slices.ContainsFunc(r.ready, func(e *entry) bool { return e.state == runnable })
}

func (r *Ring) submit() {
	for _, sqe := range r.sq {
		if r.k.trace != nil {
			r.k.log("submit %s", Describe(&sqe))
		}
		(&entry{SQE: sqe, ring: r}).issue()
	}
	r.sq = r.sq[:0]
}

// work attempts the entries that are runnable, in any order.
func (r *Ring) work() {
	entries := r.ready
	r.ready, r.attempted = r.attempted[:0], nil
	r.k.rng.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	for _, e := range entries {
		if e.state == runnable {
			e.state = waiting
			e.attempt()
		}
	}
	clear(entries)
	r.attempted = entries
}

// order keeps completions about one descriptor in order.
type order struct {
	until int64 // when all that were made will have been delivered
	held  int   // how many have not been
}

// post makes a completion of an entry, after those about the same descriptor that were made before.
func (r *Ring) post(e *entry, res int32, flags uint32) {
	k := r.k
	cqe := uring.CQE{UserData: e.UserData, Res: res, Flags: flags}
	if k.trace != nil {
		k.log("complete %s", DescribeResult(e.Opcode, &cqe))
	}
	order := &order{}
	if e.file != nil && e.job == nil {
		order = &e.file.order
	}
	order.until = max(order.until, k.now)
	if k.chance(k.Odds.LateCompletion) {
		order.until += int64(k.delay())
	}
	if order.held == 0 && order.until == k.now {
		r.push(cqe)
		return
	}
	r.held++
	order.held++
	k.coming(order.until, func() {
		r.held--
		order.held--
		r.push(cqe)
	})
}

func (r *Ring) push(cqe uring.CQE) {
	if r.k.Odds.Flaw == CompleteTwice && !cqe.More() && r.k.chance(0.05) {
		r.overflow = append(r.overflow, cqe)
	}
	if len(r.cq) >= r.k.Odds.CQ || len(r.overflow) != 0 {
		r.overflow = append(r.overflow, cqe)
	} else {
		r.cq = append(r.cq, cqe)
	}
}

// full reports whether the completion queue is full. A multishot entry ends then.
func (r *Ring) full() bool { return len(r.cq) >= r.k.Odds.CQ }

// Pop takes one completion.
func (r *Ring) Pop(cqe *uring.CQE) bool {
	if len(r.cq) == 0 {
		return false
	}
	*cqe = r.cq[0]
	r.cq = slices.Delete(r.cq, 0, 1)
	return true
}

// Wake makes a waiting Enter return, or the next Enter that would wait.
func (r *Ring) Wake() error {
	if r.k.Odds.Flaw != LoseWakeups {
		r.woken = true
	}
	return nil
}

// RegisterFixedBuffers numbers buffers, for the entries that name them by number.
func (r *Ring) RegisterFixedBuffers(bufs [][]byte) error {
	if r.fixed != nil {
		return unix.EBUSY
	}
	r.fixed = bufs
	return nil
}

// known returns the opcodes that are simulated.
func known() (ops uring.OpSet) {
	for op := range uring.Op(len(operations)) {
		if simulated(op) {
			ops.Add(op)
		}
	}
	return ops
}

// mayLack are opcodes that older kernels do not have.
var mayLack = []uring.Op{
	uring.OpFtruncate, uring.OpWaitid, uring.OpReadMultishot, uring.OpSendZC, uring.OpSendmsgZC,
	uring.OpReadFixed, uring.OpWriteFixed,
}

// drawCaps draws what the ring can do.
func (k *Kernel) drawCaps() uring.Caps {
	has := func() bool { return !k.chance(k.Odds.OldKernel) }
	caps := uring.Caps{
		Ring: "simulation", Ops: known(), Buffers: true, AcceptMultishot: true, RecvMultishot: true,
		RecvLimit: has(), RecvmsgMultishot: has(), SendTo: has(), PollMultishot: true,
		Restrictions: true,
	}
	for _, op := range mayLack {
		if !has() {
			caps.Ops[op>>6] &^= 1 << (op & 63)
		}
	}
	return caps
}

// lacks reports whether the ring cannot do what the entry asks for.
func (r *Ring) lacks(e *entry) bool {
	multishot := e.Ioprio&uring.RecvMultishot != 0
	switch {
	case !r.caps.Ops.Has(e.Opcode):
		return true
	case e.Opcode == uring.OpRecv && multishot && e.FileIndex != 0:
		return !r.caps.RecvLimit
	case e.Opcode == uring.OpRecvmsg && multishot:
		return !r.caps.RecvmsgMultishot
	case e.Opcode == uring.OpSend && e.Off != 0:
		return !r.caps.SendTo
	}
	return false
}

// Caps returns what the ring can do.
func (r *Ring) Caps() uring.Caps { return r.caps }

// Close closes the ring. Nothing may be in flight on it.
func (r *Ring) Close() error {
	if n := r.inFlight + r.held + len(r.cq) + len(r.overflow) + len(r.sq); n != 0 {
		r.k.Errorf("simring: a ring was closed with %d entries in flight, and %d completions that were not taken",
			r.inFlight, n-r.inFlight)
	}
	r.closed = true
	return nil
}

// group is a group of buffers.
type group struct {
	mem  []byte
	size int
	free []uint16
}

// RegisterBuffers makes a group of receive buffers.
func (r *Ring) RegisterBuffers(id uint16, mem []byte, size int) error {
	if r.groups[id] != nil {
		return unix.EEXIST
	}
	r.groups[id] = &group{mem: mem, size: size}
	return nil
}

// ProvideBuffer lets receives take a buffer.
func (r *Ring) ProvideBuffer(group, id uint16) {
	g := r.groups[group]
	if slices.Contains(g.free, id) {
		r.k.Errorf("simring: buffer %d is provided twice", id)
	}
	g.free = append(g.free, id)
}

// take takes one of the buffers that are free, and returns the flags that name it.
func (g *group) take(k *Kernel, index int) (flags uint32) {
	id := g.free[index]
	if k.Odds.Flaw != ReuseBuffers {
		g.free = slices.Delete(g.free, index, index+1)
	}
	return uring.CQEBuffer | uint32(id)<<uring.CQEBufferShift
}

func (g *group) bytes(id uint16) []byte { return g.mem[int(id)*g.size : (int(id)+1)*g.size] }
