package simring

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// dataOperations are those that read, write, and wait, on files of any kind.
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

// stream is what can be read and written without an offset: -EAGAIN: not now.
type stream interface {
	read(pieces [][]byte) int
	write(pieces [][]byte) int
}

// pieces are the memory that a read or a write is about.
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

// readFrom reads once from what is not on the disk.
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

// writeTo writes once to what is not on the disk.
func (f *file) writeTo(pieces [][]byte) int {
	switch o := f.object.(type) {
	case socket:
		return o.send(&message{pieces: pieces}, 0)
	case stream:
		return o.write(pieces)
	}
	return -int(unix.EINVAL)
}

const noWait = unix.RWF_NOWAIT

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
	case n == -int(unix.EAGAIN) && e.OpFlags&noWait == 0:
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
	for !e.over {
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
	if n := e.file.writeTo(pieces); n == -int(unix.EAGAIN) && e.OpFlags&noWait == 0 {
		e.wait()
	} else {
		e.finish(n, 0)
	}
}

// fixed are a ring's registered buffers.
type fixed [][]byte

// memory is what an entry names of its registered buffer.
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
	const always = unix.POLLERR | unix.POLLHUP
	events := e.file.events() & (e.OpFlags | always)
	switch {
	case events == 0:
	case e.Len&uring.PollAddMulti == 0:
		e.finish(int(events), 0)
	case e.item(int(events), 0) && e.Len&uring.PollAddLevel != 0:
		e.ring.k.soon(e.wake) // as long as it holds
	}
}

// splice moves bytes from one file to another, of which one is a pipe; a tee copies them between two.
func (e *entry) splice() {
	if e.job != nil {
		return
	}
	k := e.ring.k
	in := k.file(int(e.FileIndex))
	if in == nil {
		e.fail(unix.EBADF)
		return
	}
	e.from = in
	in.entries = append(in.entries, e)
	s := splice{out: e.file, in: in, e: e, dontWait: e.OpFlags&unix.SPLICE_F_NONBLOCK != 0}
	s.source, _ = in.object.(*pipeEnd)
	s.sink, _ = e.file.object.(*pipeEnd)
	if errno := s.wrong(); errno != 0 {
		e.fail(errno)
		return
	}
	e.delegate(s.move, func() bool { return s.blocked })
}

// splice is one splice or tee under way.
type splice struct {
	e            *entry
	in, out      *file
	source, sink *pipeEnd // nil: not a pipe
	dontWait     bool
	blocked      bool // it waits on -EAGAIN
}

// wrong says what is wrong with it from the start.
func (s *splice) wrong() unix.Errno {
	const position = uring.FilePosition
	switch tee := s.e.Opcode == uring.OpTee; {
	case s.source != nil && s.source.writes || s.sink != nil && !s.sink.writes:
		return unix.EBADF
	case s.source == nil && s.sink == nil, tee && (s.source == nil || s.sink == nil):
		return unix.EINVAL
	case s.source != nil && s.sink != nil && s.source.pipe == s.sink.pipe:
		return unix.EINVAL
	case tee:
		return 0
	case s.source != nil && s.e.Addr != position || s.sink != nil && s.e.Off != position:
		return unix.ESPIPE
	}
	return 0
}

// move moves what it can. It returns a count or a negative errno.
func (s *splice) move() int {
	switch n := int(s.e.Len); {
	case n == 0:
		return 0
	case s.source == nil:
		return s.fill(n)
	case s.sink == nil:
		return s.drain(n)
	default:
		return s.pass(n)
	}
}

// again is -EAGAIN, after which it waits, unless one of the files says that it must not.
func (s *splice) again(files ...*file) int {
	s.blocked = !s.dontWait
	for _, f := range files {
		s.blocked = s.blocked && !f.nonblocking()
	}
	return -int(unix.EAGAIN)
}

// empty says what an empty source means; 1: it is not empty.
func (s *splice) empty(files ...*file) int {
	switch {
	case len(s.source.data) != 0:
		return 1
	case s.source.other().closed:
		return 0
	}
	return s.again(files...)
}

// full says what a sink without room means; 1: it has room.
func (s *splice) full(files ...*file) int {
	switch {
	case s.sink.other().closed:
		return -int(unix.EPIPE)
	case s.sink.free() > 0:
		return 1
	}
	return s.again(files...)
}

// fill moves to a pipe from what is none.
func (s *splice) fill(n int) int {
	if r := s.full(s.out); r <= 0 {
		return r
	}
	buf := make([]byte, min(n, s.sink.free()))
	if f, ok := s.in.object.(*regular); ok {
		off := s.in.position(s.e.Addr)
		n = f.pread([][]byte{buf}, off)
		s.in.advance(s.e.Addr, n)
	} else {
		n = s.in.readFrom([][]byte{buf})
	}
	switch {
	case n == -int(unix.EAGAIN):
		return s.again(s.in)
	case n > 0:
		s.sink.put(buf[:n])
	}
	return n
}

// drain moves from a pipe to what is none.
func (s *splice) drain(n int) int {
	if r := s.empty(); r <= 0 {
		return r
	}
	buf := s.source.data[:min(n, len(s.source.data))]
	if f, ok := s.out.object.(*regular); ok {
		off := s.out.position(s.e.Off)
		n = f.pwrite([][]byte{buf}, off)
		s.out.advance(s.e.Off, n)
	} else {
		n = s.out.writeTo([][]byte{buf})
	}
	switch {
	case n == -int(unix.EAGAIN):
		return s.again(s.out)
	case n > 0:
		s.source.take(n)
		if len(s.source.data) != 0 && s.e.ring.k.flawed(LoseSpliced) {
			s.source.take(1)
		}
	}
	return n
}

// pass moves or copies from pipe to pipe.
func (s *splice) pass(n int) int {
	if r := s.empty(s.in, s.out); r <= 0 {
		return r
	}
	if r := s.full(s.in, s.out); r <= 0 {
		return r
	}
	n = min(n, len(s.source.data), s.sink.free())
	s.sink.put(s.source.data[:n])
	if s.e.Opcode == uring.OpSplice || s.e.ring.k.flawed(TeeTakes) {
		s.source.take(n)
	}
	return n
}
