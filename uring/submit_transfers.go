//go:build linux

package uring

import "sync/atomic"

// Large batches are good for messages, but a disk is idle while its next requests are in the queue: requests that
// follow the first completions of a batch must not wait until all of the batch has been dealt with. So Push submits
// reads and writes a few at a time; at depth 64 with O_DIRECT that is worth a tenth of the rate. Transfers that
// complete immediately, from the page cache, are better submitted in larger batches, so the batches grow as long as
// they do.
const (
	fewTransfers  = 4
	manyTransfers = 256
)

// transfers are the opcodes that may need a disk.
const transfers = 1<<OpRead | 1<<OpWrite | 1<<OpReadv | 1<<OpWritev | 1<<OpReadFixed | 1<<OpWriteFixed

// countTransfer counts a read or a write that was queued, and submits the batch if it is full.
func (r *Ring) countTransfer() {
	if r.transfers++; r.transfers >= r.transferBatch {
		r.submitTransfers()
	}
}

// submitTransfers submits what is queued and does not wait for completions: an entry that has one now has completed
// immediately. Entries that the kernel does not take are left to Enter.
func (r *Ring) submitTransfers() {
	r.publish()
	before, n := atomic.LoadUint32(r.kCQTail), r.transfers
	_, _ = r.enter(r.sqTail-r.sqHead, r.enterFlags&^enterGetevents)
	r.sqHead = atomic.LoadUint32(r.kSQHead)
	r.transfers = 0
	if int(atomic.LoadUint32(r.kCQTail)-before) >= n {
		r.transferBatch = min(2*r.transferBatch, manyTransfers)
	} else {
		r.transferBatch = fewTransfers
	}
}
