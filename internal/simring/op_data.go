package simring

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// dataOperations are the operations that read, write and poll files of any kind.
var dataOperations = map[uring.Op]operation{
	uring.OpRead:          {try: (*entry).read},
	uring.OpReadv:         {try: (*entry).read},
	uring.OpReadFixed:     {try: (*entry).read},
	uring.OpReadMultishot: {try: (*entry).readMany},
	uring.OpWrite:         {try: (*entry).write},
	uring.OpWritev:        {try: (*entry).write},
	uring.OpWriteFixed:    {try: (*entry).write},
	uring.OpSplice:        {try: (*entry).splice},
	uring.OpTee:           {try: (*entry).splice},
	uring.OpPollAdd:       {try: (*entry).poll},
}

// stream is an object that is read and written without an offset. -EAGAIN: it would have to wait.
type stream interface {
	read(pieces [][]byte) int
	write(pieces [][]byte) int
}

// pieces returns the memory of a read or a write.
func (e *entry) pieces() ([][]byte, unix.Errno) {
	switch e.Opcode {
	case uring.OpReadv, uring.OpWritev:
		return vectors(*(**unix.Iovec)(unsafe.Pointer(&e.Addr)), int(e.Len)), 0
	case uring.OpReadFixed, uring.OpWriteFixed:
		p, errno := e.ring.fixed.memory(e)
		return [][]byte{p}, errno
	}
	return [][]byte{memory(e.Addr, int(e.Len))}, 0
}

// readFrom reads once from a file that is not on the disk.
func (f *file) readFrom(pieces [][]byte) int {
	switch o := f.object.(type) {
	case socket:
		m := &message{pieces: pieces}
		n := o.recv(m, 0)
		f.k.unref(m.files...)
		return n
	case stream:
		return o.read(pieces)
	}
	return -int(unix.EINVAL)
}

// writeTo writes once to a file that is not on the disk.
func (f *file) writeTo(pieces [][]byte) int {
	switch o := f.object.(type) {
	case socket:
		return o.send(&message{pieces: pieces}, 0)
	case stream:
		return o.write(pieces)
	}
	return -int(unix.EINVAL)
}

func (e *entry) read() {
	if r, ok := e.file.object.(*regular); ok {
		e.readDisk(r)
		return
	}
	var pieces [][]byte
	var g *group
	var index int
	if e.Flags&uring.SQEBufferSelect != 0 {
		var buffer []byte
		var ok bool
		if g, index, buffer, ok = e.choose(); !ok {
			return
		}
		if e.Len != 0 && int(e.Len) < len(buffer) {
			buffer = buffer[:e.Len]
		}
		pieces = [][]byte{buffer}
	} else {
		var errno unix.Errno
		if pieces, errno = e.pieces(); errno != 0 {
			e.fail(errno)
			return
		}
	}
	n := e.file.readFrom(pieces)
	switch {
	case n == -int(unix.EAGAIN):
		e.wait()
	case n > 0 && g != nil:
		e.finish(n, g.take(e.ring.k, index))
	default:
		e.finish(n, 0)
	}
}

func (e *entry) readMany() {
	if _, ok := e.file.object.(*regular); ok {
		e.fail(unix.EBADFD)
		return
	}
	for e.state != completed {
		g, index, buffer, ok := e.choose()
		if !ok {
			return
		}
		switch n := e.file.readFrom([][]byte{buffer}); {
		case n == -int(unix.EAGAIN):
			e.wait()
			return
		case n <= 0:
			e.finish(n, 0)
		default:
			e.item(n, g.take(e.ring.k, index))
		}
	}
}

func (e *entry) write() {
	if r, ok := e.file.object.(*regular); ok {
		e.writeDisk(r)
		return
	}
	pieces, errno := e.pieces()
	if errno != 0 {
		e.fail(errno)
		return
	}
	if n := e.file.writeTo(pieces); n == -int(unix.EAGAIN) {
		e.awaitRoom()
	} else {
		e.finish(n, 0)
	}
}

// fixed is the registered buffers of a ring.
type fixed [][]byte

// memory returns the part of a registered buffer that an entry names.
func (f fixed) memory(e *entry) ([]byte, unix.Errno) {
	if int(e.BufIndex) >= len(f) {
		return nil, unix.EFAULT
	}
	b := f[e.BufIndex]
	if len(b) == 0 {
		return nil, unix.EFAULT
	}
	off := e.Addr - uint64(uintptr(unsafe.Pointer(&b[0])))
	if off > uint64(len(b)) || uint64(e.Len) > uint64(len(b))-off {
		return nil, unix.EFAULT
	}
	return b[off:][:e.Len], 0
}

func (e *entry) poll() {
	const always = unix.POLLERR | unix.POLLHUP | unix.POLLRDHUP
	events := e.file.events() & (e.OpFlags | always)
	switch {
	case events == 0:
	case e.Len&uring.PollAddMulti == 0:
		e.finish(int(events), 0)
	default:
		e.item(int(events), 0)
	}
}
