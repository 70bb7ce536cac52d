package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// rwFlags are the flags of preadv2(2) that there are.
const rwFlags = unix.RWF_HIPRI | unix.RWF_DSYNC | unix.RWF_SYNC | unix.RWF_NOWAIT | unix.RWF_APPEND

// issueRW starts a read or a write: of a regular file in the pool, of anything else when it is ready.
func (r *Ring) issueRW(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.OpFlags&^uint32(rwFlags) != 0, e.Opcode == uring.OpWrite && e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	switch errno := r.arm(e.Fd, false); errno {
	case 0:
	case unix.EPERM:
		r.issueFileRW(i)
		return
	default:
		r.fail(i, errno)
		return
	}
	f := r.files.at(e.Fd)
	if f.kind == other {
		r.setNonblock(e.Fd)
	}
	dontWait := e.OpFlags&unix.RWF_NOWAIT != 0
	selects := e.Flags&uring.SQEBufferSelect != 0
	switch {
	case e.Opcode == uring.OpWrite:
		r.tryOut(i, dontWait)
	case selects && r.provided(e.BufIndex) == nil:
		r.fail(i, unix.ENOBUFS)
	case f.kind != other && e.Len == 0 && !selects:
		r.finish(i, 0, 0) // unlike recv(2) of nothing, which waits
	case dontWait || e.Len == 0 && !selects:
		r.now(i, false)
	default:
		r.park(i, waitingIn)
		r.enqueue(e.Fd)
	}
}

// read is one read(2), of a socket or a pipe.
func (r *Ring) read(i uint32) verdict {
	e := r.slab.at(i)
	base, size := uintptr(e.Addr), e.Len
	if e.Flags&uring.SQEBufferSelect != 0 {
		var ok bool
		if base, size, ok = r.pick(e); !ok {
			return r.noBuffer(i)
		}
	}
	var n int
	f := r.files.at(e.Fd)
	if f.kind == other {
		n = raw(unix.SYS_READ, uintptr(e.Fd), base, uintptr(size), 0, 0, 0)
	} else {
		n = raw(unix.SYS_RECVFROM, uintptr(e.Fd), base, uintptr(size), unix.MSG_DONTWAIT, 0, 0)
	}
	if n == again && r.silentEnd(e, f) {
		n = 0
	}
	switch {
	case n == again:
		r.dropBuffer(e)
		return wouldBlock
	case n == interrupted:
		return progress
	case n < 0:
		r.fail(i, unix.Errno(-n))
		return finished
	}
	r.spent += n
	if n < int(size) && f.kind == tcp && f.state&eager == 0 {
		f.state &^= readable
	}
	r.finish(i, int32(n), r.useBuffer(e))
	return finished
}

// write is one write(2), to a socket or a pipe.
func (r *Ring) write(i uint32) verdict {
	e := r.slab.at(i)
	var n int
	if r.files.at(e.Fd).kind == other {
		n = raw(unix.SYS_WRITE, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Len), 0, 0, 0)
	} else {
		n = raw(unix.SYS_SENDTO, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Len), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	}
	return r.sent(i, n, int(e.Len), false)
}

// issueFileRW hands a read or a write of a regular file to the pool.
func (r *Ring) issueFileRW(i uint32) {
	e := r.slab.at(i)
	t := task{entry: i, op: e.Opcode, fd: e.Fd, addr: uintptr(e.Addr), size: e.Len, off: e.Off, flags: e.OpFlags}
	if e.Flags&uring.SQEBufferSelect != 0 {
		base, size, ok := r.pick(e)
		if !ok {
			r.fail(i, unix.ENOBUFS)
			return
		}
		t.addr, t.size = base, size
	}
	r.delegate(i, t)
}

func (r *Ring) issueFsync(i uint32) {
	e := r.slab.at(i)
	const fdatasync = 1 // IORING_FSYNC_DATASYNC
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.Addr != 0 || e.BufIndex != 0 || e.FileIndex != 0 || e.OpFlags&^fdatasync != 0:
		r.fail(i, unix.EINVAL)
	default:
		r.delegate(i, task{entry: i, op: uring.OpFsync, fd: e.Fd, flags: e.OpFlags})
	}
}

// delegate hands an entry to the pool. A descriptor that is not open is found out here: the pool must
// not meet another file that gets its number later.
func (r *Ring) delegate(i uint32, t task) {
	if n := raw(unix.SYS_FCNTL, uintptr(t.fd), unix.F_GETFD, 0, 0, 0, 0); n < 0 {
		r.fail(i, unix.Errno(-n))
		return
	}
	if f := r.known(t.fd); f.state&closing != 0 {
		r.fail(i, unix.EBADF)
		return
	}
	r.park(i, pooled)
	r.pool.submit(t)
}
