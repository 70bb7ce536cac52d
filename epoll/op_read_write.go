package epoll

import (
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// issueRW starts a read or a write. What can be waited for is waited for on the loop. The rest are plain
// files: these are tried at once in the way that fails rather than waits, which finds what is in the page
// cache, and go to the pool if that fails.
func (r *Ring) issueRW(i uint32) {
	if errno := r.prepareRW(i); errno != 0 {
		r.fail(i, errno)
		return
	}
	e := r.slab.at(i)
	f := r.file(e.Fd)
	known := f != nil && f.state&(plain|closing) == plain
	if known && !assert.Enabled {
		r.issuePlain(i)
		return
	}
	switch errno := r.arm(e.Fd, false); errno {
	case 0:
		if assert.Enabled && known {
			panic("epoll: a plain file was closed without Forget")
		}
		r.issueStream(i)
	case unix.EPERM:
		r.classify(e.Fd)
		r.issuePlain(i)
	default:
		r.fail(i, errno)
	}
}

// prepareRW checks what can be checked without the file, and takes a copy of the iovecs.
func (r *Ring) prepareRW(i uint32) unix.Errno {
	e := r.slab.at(i)
	selects := e.Flags&uring.SQEBufferSelect != 0
	switch {
	case selects && e.Opcode != uring.OpRead && e.Opcode != uring.OpReadMultishot:
		return unix.EOPNOTSUPP
	case e.Ioprio != 0 || e.OpFlags != 0:
		return unix.EINVAL
	}
	switch e.Opcode {
	case uring.OpReadv, uring.OpWritev:
		return r.takeVector(i)
	case uring.OpReadMultishot:
		if !selects || e.Addr != 0 || e.Len != 0 {
			return unix.EINVAL
		}
	}
	return 0
}

// writes reports whether the entry is a write.
func (e *entry) writes() bool {
	return e.Opcode == uring.OpWrite || e.Opcode == uring.OpWritev || e.Opcode == uring.OpWriteFixed
}

// classify notes what decides how a plain file is read and written.
func (r *Ring) classify(fd int32) {
	f := r.known(fd)
	f.state = f.state&^(whole|uncached) | plain
	if unix.Fstat(int(fd), &r.tmp.stat) == nil {
		if t := r.tmp.stat.Mode & unix.S_IFMT; t == unix.S_IFREG || t == unix.S_IFBLK {
			f.state |= whole
		}
	}
	if flags := raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0, 0, 0, 0); flags >= 0 && flags&unix.O_DIRECT != 0 {
		f.state |= uncached
	}
}

// issueStream starts a read or a write of what can be waited for.
func (r *Ring) issueStream(i uint32) {
	e := r.slab.at(i)
	f := r.files.at(e.Fd)
	selects := e.Flags&uring.SQEBufferSelect != 0
	_, size, ok := r.left(e)
	if !ok {
		r.fail(i, unix.ENOBUFS)
		return
	}
	r.dropBuffer(e)
	errno := e.badOffset(f.kind, size)
	switch {
	case !r.within(e):
		errno = unix.EFAULT
	case errno != 0 && !opened(e.Fd, e.writes()):
		errno = unix.EBADF
	}
	if errno != 0 {
		r.fail(i, errno)
		return
	}
	if f.kind == other {
		r.setNonblock(e.Fd)
	}
	switch {
	case e.writes():
		r.tryOut(i, false)
	case f.kind != other && size == 0 && !selects:
		r.finish(i, 0, 0) // unlike recv(2) of nothing, which waits
	case size == 0 && !selects:
		r.now(i, false)
	default:
		if f.kind == other && size < largestUnit {
			f.state |= readable // to be told at once if that is too few
		}
		r.park(i, waitingIn)
		r.enqueue(e.Fd)
	}
}

// largestUnit is the most bytes that any descriptor insists on being read at a time: a struct signalfd_siginfo. An
// eventfd wants 8.
const largestUnit = 128

// opened reports whether a descriptor was opened for reading, or for writing.
func opened(fd int32, forWriting bool) bool {
	flags := raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0, 0, 0, 0)
	switch flags & unix.O_ACCMODE {
	case unix.O_RDWR:
		return flags >= 0
	case unix.O_RDONLY:
		return flags >= 0 && !forWriting
	case unix.O_WRONLY:
		return flags >= 0 && forWriting
	}
	return false
}

// badOffset says what is wrong with the offset of an entry for what can be waited for. Sockets have no offset but 0.
func (e *entry) badOffset(k kind, size int) unix.Errno {
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

// read is one system call that reads from a socket, a pipe or the like.
func (r *Ring) read(i uint32) verdict {
	e := r.slab.at(i)
	vec, size, ok := r.left(e)
	if !ok {
		return r.noBuffer(i)
	}
	f := r.files.at(e.Fd)
	var n int
	switch {
	case f.kind == other:
		n = r.moveOther(e, f, vec, size)
	case len(vec) == 1:
		n = raw(unix.SYS_RECVFROM, uintptr(e.Fd), vec[0].base, vec[0].size, unix.MSG_DONTWAIT, 0, 0)
	default:
		n = raw(unix.SYS_RECVMSG, uintptr(e.Fd), r.headerOf(vec), unix.MSG_DONTWAIT, 0, 0, 0)
	}
	switch {
	case n == again && r.silentEnd(e, f):
		n = 0
	case n == 0 && size != 0 && f.kind == other && r.unwritten(e.Fd):
		n = again
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
	if n < size && f.kind == tcp && f.state&eager == 0 {
		f.state &^= readable
	}
	if e.Opcode == uring.OpReadMultishot {
		if n > 0 {
			r.post(i, int32(n), r.useBuffer(e))
			return progress
		}
		r.dropBuffer(e)
	}
	r.finish(i, int32(n), r.useBuffer(e))
	return finished
}

// unwritten reports whether the end that was read from fd is none: nobody has opened this FIFO for writing yet.
// Only poll(2) tells.
func (r *Ring) unwritten(fd int32) bool {
	return raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETPIPE_SZ, 0, 0, 0, 0) >= 0 && r.events(fd, unix.POLLIN) == 0
}

// write is one system call that writes to a socket, a pipe or the like; a write of a plain file that comes
// to its turn goes to the pool.
func (r *Ring) write(i uint32) verdict {
	e := r.slab.at(i)
	f := r.files.at(e.Fd)
	if f.state&plain != 0 {
		r.delegateRW(i)
		return finished
	}
	vec, size, _ := r.left(e)
	var n int
	switch {
	case f.kind == other:
		n = r.moveOther(e, f, vec, size)
	case len(vec) == 1:
		n = raw(unix.SYS_SENDTO, uintptr(e.Fd), vec[0].base, vec[0].size, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	default:
		n = raw(unix.SYS_SENDMSG, uintptr(e.Fd), r.headerOf(vec), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0, 0)
	}
	return r.sent(i, n, size, false)
}

// moveOther reads or writes what is no socket: at the entry's offset, if it has any offsets.
func (r *Ring) moveOther(e *entry, f *file, vec []vector, size int) int {
	if size == 0 && f.state&positioned == 0 && !e.writes() {
		return raw(unix.SYS_READ, uintptr(e.Fd), uintptr(e.Addr), 0, 0, 0, 0) // preadv2(2) would not ask the file
	}
	off := uring.FilePosition
	if f.state&positioned != 0 {
		off = e.Off
	}
	return raw(e.trap(), uintptr(e.Fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(off), uintptr(off>>32), 0)
}

// headerOf makes a struct msghdr of a vector.
func (r *Ring) headerOf(vec []vector) uintptr {
	r.tmp.header = unix.Msghdr{Iov: (*unix.Iovec)(unsafe.Pointer(unsafe.SliceData(vec)))}
	r.tmp.header.SetIovlen(len(vec))
	return uintptr(unsafe.Pointer(&r.tmp.header))
}
