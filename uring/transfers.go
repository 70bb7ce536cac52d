package uring

import "sync/atomic"

// Of messages large batches are good, but a disk is idle while its next requests are in the queue: those that follow
// the first completions of a batch must not wait until all of it has been dealt with. So Push submits reads and
// writes a few at a time; at depth 64 with O_DIRECT that is worth a tenth of the rate. Those that are done at once,
// from the page cache, are better off in larger batches, so as long as they are, there are more and more of them.
const (
	fewTransfers  = 4
	manyTransfers = 256
)

// transfers are the opcodes that can be for a disk.
const transfers = 1<<OpRead | 1<<OpWrite | 1<<OpReadv | 1<<OpWritev | 1<<OpReadFixed | 1<<OpWriteFixed

// transfer is told of a read or a write that was queued.
func (r *Ring) transfer() {
	if r.transfers++; r.transfers >= r.patience {
		r.hurry()
	}
}

// hurry submits what is queued, without looking for completions: only what was done at once has one now. What the
// kernel does not take is left to Enter.
func (r *Ring) hurry() {
	r.publish()
	before, n := atomic.LoadUint32(r.kCQTail), r.transfers
	_, _ = r.enter(r.sqTail-r.sqHead, r.enterFlags&^enterGetevents)
	r.sqHead = atomic.LoadUint32(r.kSQHead)
	r.transfers = 0
	if int(atomic.LoadUint32(r.kCQTail)-before) >= n {
		r.patience = min(2*r.patience, manyTransfers)
	} else {
		r.patience = fewTransfers
	}
}
