//go:build linux

package epoll

import (
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// issueReadWrite starts a read or a write. A file that can be waited for is waited for on the loop. The others are
// plain files: these are first tried in the way that fails rather than waits, which finds what is in the page cache,
// and go to the pool if that fails.
func (r *Ring) issueReadWrite(e *entry) {
	if errno := r.checkReadWrite(e); errno != 0 {
		r.fail(e, errno)
		return
	}
	f := r.files.find(e.Fd)
	known := f != nil && f.phase == plain && !f.is(closeRequested)
	if known && !assert.Enabled {
		r.issuePlain(e)
		return
	}
	switch errno := r.arm(e.Fd, false); errno {
	case 0:
		if assert.Enabled && known {
			panic("epoll: a plain file was closed without Forget")
		}
		r.issueStream(e)
	case unix.EPERM:
		r.classify(e.Fd)
		r.issuePlain(e)
	default:
		r.fail(e, errno)
	}
}

// checkReadWrite checks what can be checked without the file, and copies the iovecs.
func (r *Ring) checkReadWrite(e *entry) unix.Errno {
	switch {
	case e.selectsBuffer() && e.Opcode != uring.OpRead && e.Opcode != uring.OpReadMultishot:
		return unix.EOPNOTSUPP
	case e.Ioprio != 0 || e.OpFlags != 0:
		return unix.EINVAL
	}
	switch e.Opcode {
	case uring.OpReadv, uring.OpWritev:
		return r.takeVector(e)
	case uring.OpReadMultishot:
		if !e.selectsBuffer() || e.Addr != 0 || e.Len != 0 {
			return unix.EINVAL
		}
	}
	return 0
}

// writes reports whether the entry is a write.
func (e *entry) writes() bool {
	return e.Opcode == uring.OpWrite || e.Opcode == uring.OpWritev || e.Opcode == uring.OpWriteFixed
}

// issueStream starts a read or a write of a file that can be waited for.
func (r *Ring) issueStream(e *entry) {
	f := r.files.at(e.Fd)
	_, size, ok := r.remaining(e)
	if !ok {
		r.fail(e, unix.ENOBUFS)
		return
	}
	r.groups.drop(e)
	errno := e.checkOffset(f.kind, size)
	switch {
	case !r.fixed.holds(e):
		errno = unix.EFAULT
	case errno != 0 && !opened(e.Fd, e.writes()):
		errno = unix.EBADF
	}
	if errno != 0 {
		r.fail(e, errno)
		return
	}
	if f.kind == other {
		r.setNonblock(e.Fd)
	}
	nothing := size == 0 && !e.selectsBuffer()
	switch {
	case e.writes():
		r.tryOut(e)
	case nothing && f.kind == other:
		r.attemptNow(e)
	case nothing:
		r.finish(e, 0, 0) // unlike recv(2) of nothing, which waits
	default:
		if f.kind == other && size < largestUnit {
			f.tryInput() // to learn immediately if that is too few bytes
		}
		r.park(e, waitsForInput)
		r.files.enqueue(e.Fd)
	}
}

// largestUnit is the largest number of bytes that a descriptor insists on being read at a time: a struct
// signalfd_siginfo. An eventfd insists on 8.
const largestUnit = 128

// checkOffset returns what is wrong with the offset of an entry for a file that can be waited for. Sockets have no
// offset but 0.
func (e *entry) checkOffset(k kind, size int) unix.Errno {
	off := int64(e.Off)
	switch {
	case e.Off == uring.FilePosition:
		return 0
	case off < 0 || off+int64(size) < 0:
		return unix.EINVAL
	case k != other && off != 0:
		return unix.ESPIPE
	}
	return 0
}

// read makes one system call that reads from a socket, a pipe or the like.
func (r *Ring) read(e *entry) verdict {
	vec, size, ok := r.remaining(e)
	if !ok {
		return r.noBuffer(e)
	}
	f := r.files.at(e.Fd)
	n := r.readOnce(e, f, vec, size)
	r.spent += max(n, 0)
	if n >= 0 && n < size && f.kind == tcp {
		f.drainInput()
	}
	multishot := e.Opcode == uring.OpReadMultishot
	switch {
	case n == again:
		r.groups.drop(e)
		return wouldBlock
	case n == interrupted:
		return tryAgain
	case n < 0:
		r.fail(e, unix.Errno(-n))
	case multishot && n > 0:
		r.post(e, int32(n), r.groups.use(e))
		return tryAgain
	case multishot:
		r.groups.drop(e)
		r.finish(e, 0, 0)
	default:
		r.finish(e, int32(n), r.groups.use(e))
	}
	return completed
}

// readOnce makes the system call of a read. It returns EAGAIN for a false EOF, and 0 for an EOF that the system call
// does not report.
func (r *Ring) readOnce(e *entry, f *file, vec []vector, size int) int {
	if f.kind == other {
		n := r.moveOther(e, f, vec, size)
		if n == 0 && size != 0 && r.neverWritten(e.Fd) {
			return again
		}
		return n
	}
	var n int
	if len(vec) == 1 {
		n = raw(unix.SYS_RECVFROM, uintptr(e.Fd), vec[0].base, vec[0].size, unix.MSG_DONTWAIT, 0, 0)
	} else {
		n = raw(unix.SYS_RECVMSG, uintptr(e.Fd), r.tmp.headerOf(vec), unix.MSG_DONTWAIT, 0, 0, 0)
	}
	if n == again && r.silentEOF(e, f) {
		return 0
	}
	return n
}

// neverWritten reports whether fd is a FIFO that was never opened for writing, so that what was read from it is not
// EOF. Only poll(2) tells.
func (r *Ring) neverWritten(fd int32) bool {
	return raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETPIPE_SZ, 0, 0, 0, 0) >= 0 && r.tmp.pollNow(fd, unix.POLLIN) == 0
}

// write makes one system call that writes to a socket, a pipe or the like. A write of a plain file, which has waited
// for the one before it, goes to the pool.
func (r *Ring) write(e *entry) verdict {
	f := r.files.at(e.Fd)
	if f.phase == plain {
		r.delegateTransfer(e)
		return completed
	}
	vec, size, _ := r.remaining(e)
	var n int
	switch {
	case f.kind == other:
		n = r.moveOther(e, f, vec, size)
	case len(vec) == 1:
		n = raw(unix.SYS_SENDTO, uintptr(e.Fd), vec[0].base, vec[0].size, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	default:
		n = raw(unix.SYS_SENDMSG, uintptr(e.Fd), r.tmp.headerOf(vec), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0, 0)
	}
	return r.sent(e, n, size, false)
}

// moveOther reads or writes a file that is no socket: at the entry's offset, if it has offsets.
func (r *Ring) moveOther(e *entry, f *file, vec []vector, size int) int {
	if size == 0 && !f.is(hasOffsets) && !e.writes() {
		return raw(unix.SYS_READ, uintptr(e.Fd), uintptr(e.Addr), 0, 0, 0, 0) // preadv2(2) would not ask the file
	}
	off := uring.FilePosition
	if f.is(hasOffsets) {
		off = e.Off
	}
	return raw(e.transferTrap(), uintptr(e.Fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(off), uintptr(off>>32), 0)
}

// transferTrap returns the number of the system call that reads or writes.
func (e *entry) transferTrap() uintptr {
	if e.writes() {
		return unix.SYS_PWRITEV2
	}
	return unix.SYS_PREADV2
}
