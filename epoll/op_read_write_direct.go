//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// directDepth is the number of transfers that the kernel gets at a time, and directSlots that for which it has room.
const (
	directDepth = 8
	directSlots = 256
)

// direct makes the kernel read and write files of O_DIRECT by io_submit(2), which signals the ring's eventfd when a
// transfer is done. RWF_NOWAIT keeps io_submit(2) from blocking the loop: a transfer that cannot even be begun without
// waiting is left to the pool, as is every transfer if io_submit(2) is not available.
type direct struct {
	context  uintptr // aio_context_t
	refused  bool    // io_submit(2) is not available
	inFlight int

	queued int
	queue  [directDepth]iocb
	refs   [directDepth]*iocb
	events [directDepth]ioEvent
}

// iocb is struct iocb. Whether the key or the flags come first depends on the machine; the kernel ignores the key.
type iocb struct {
	data   uint64
	flags  [2]uint32
	opcode uint16
	_      int16
	fd     uint32
	addr   uint64
	size   uint64
	off    int64
	_      uint64
	how    uint32
	notify uint32 // an eventfd
}

// ioEvent is struct io_event.
type ioEvent struct {
	data uint64
	_    uint64
	res  int64
	_    int64
}

const (
	aioPreadv  = 7 // IOCB_CMD_PREADV
	aioPwritev = 8 // IOCB_CMD_PWRITEV
	aioNotify  = 1 // IOCB_FLAG_RESFD
)

func (d *direct) open() bool {
	if d.context == 0 && !d.refused {
		d.refused = raw(unix.SYS_IO_SETUP, directSlots, uintptr(unsafe.Pointer(&d.context)), 0, 0, 0, 0) != 0
	}
	return !d.refused
}

// close waits for what is in flight.
func (d *direct) close() {
	if d.context != 0 {
		blocking(unix.SYS_IO_DESTROY, d.context, 0, 0, 0, 0, 0)
	}
}

// queueDirect queues a transfer of a file of O_DIRECT, for the end of the submission.
func (r *Ring) queueDirect(e *entry) {
	d := &r.direct
	if int64(e.Off) < 0 || !d.open() {
		r.delegateTransfer(e) // at the file's position
		return
	}
	vec, ok := r.ownVector(e)
	if !ok {
		r.fail(e, unix.ENOBUFS)
		return
	}
	r.park(e, pooled)
	b := &d.queue[d.queued]
	*b = iocb{
		data: uint64(e.index), flags: [2]uint32{unix.RWF_NOWAIT, unix.RWF_NOWAIT},
		opcode: aioPreadv, fd: uint32(e.Fd), off: int64(e.Off), how: aioNotify, notify: uint32(r.waker.Fd()),
		addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(vec)))), size: uint64(len(vec)),
	}
	if e.writes() {
		b.opcode = aioPwritev
	}
	d.refs[d.queued] = b
	if d.queued++; d.queued == directDepth {
		r.submitDirect()
	}
}

// submitDirect submits what is queued. A transfer that the kernel does not take is left to the pool, which finds out
// why.
func (r *Ring) submitDirect() {
	d := &r.direct
	for at := 0; at < d.queued; {
		n := raw(unix.SYS_IO_SUBMIT, d.context, uintptr(d.queued-at), uintptr(unsafe.Pointer(&d.refs[at])), 0, 0, 0)
		if n > 0 {
			d.inFlight += n
			at += n
			continue
		}
		r.delegateTransfer(r.entries.at(uint32(d.queue[at].data)))
		at++
	}
	d.queued = 0
}

// reapDirect deals with the transfers that are done.
func (r *Ring) reapDirect() {
	d := &r.direct
	for d.inFlight != 0 {
		n := raw(unix.SYS_IO_GETEVENTS, d.context, 0, directDepth, uintptr(unsafe.Pointer(&d.events)),
			uintptr(unsafe.Pointer(&r.tmp.zero)), 0)
		if n <= 0 {
			return
		}
		d.inFlight -= n
		for _, ev := range d.events[:n] {
			e, res := r.entries.at(uint32(ev.data)), int(ev.res)
			if res == again || res == unsupported {
				r.delegateTransfer(e)
			} else {
				r.transferred(e, res)
			}
		}
	}
}
