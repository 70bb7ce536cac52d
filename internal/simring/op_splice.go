package simring

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

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
	s := newSplice(k, in, e.file, int(e.Len))
	s.tee, s.from, s.to = e.Opcode == uring.OpTee, e.Addr, e.Off
	s.dontWait = e.OpFlags&unix.SPLICE_F_NONBLOCK != 0
	if errno := s.wrong(); errno != 0 {
		e.fail(errno)
		return
	}
	e.delegate(s.move, func() bool { return s.blocked })
}

// splice is a splice or a tee in flight.
type splice struct {
	k            *Kernel
	in, out      *file
	source, sink *pipeEnd // nil: not a pipe
	n            int
	tee          bool
	from, to     uint64 // positions
	dontWait     bool
	blocked      bool // it waits on -EAGAIN
}

func newSplice(k *Kernel, in, out *file, n int) *splice {
	s := &splice{k: k, in: in, out: out, n: n, from: uring.FilePosition, to: uring.FilePosition}
	s.source, _ = in.object.(*pipeEnd)
	s.sink, _ = out.object.(*pipeEnd)
	return s
}

// Splice simulates splice(2) with SPLICE_F_NONBLOCK, from and to the current positions.
func (s System) Splice(from, to, n int) (int, error) {
	s.k.preempt()
	in, out := s.k.file(from), s.k.file(to)
	if in == nil || out == nil {
		return -1, unix.EBADF
	}
	sp := newSplice(s.k, in, out, n)
	sp.dontWait = true
	if errno := sp.wrong(); errno != 0 {
		return -1, errno
	}
	return result(sp.move())
}

// wrong returns why the arguments are invalid; 0 if they are valid.
func (s *splice) wrong() unix.Errno {
	const position = uring.FilePosition
	switch {
	case s.source != nil && s.source.writes || s.sink != nil && !s.sink.writes:
		return unix.EBADF
	case s.source == nil && s.sink == nil, s.tee && (s.source == nil || s.sink == nil):
		return unix.EINVAL
	case s.source != nil && s.sink != nil && s.source.pipe == s.sink.pipe:
		return unix.EINVAL
	case s.tee:
		return 0
	case s.source != nil && s.from != position || s.sink != nil && s.to != position:
		return unix.ESPIPE
	}
	return 0
}

// move moves what it can. It returns a count or a negative errno.
func (s *splice) move() int {
	switch {
	case s.n == 0:
		return 0
	case s.source == nil:
		return s.fill(s.n)
	case s.sink == nil:
		return s.drain(s.n)
	default:
		return s.pass(s.n)
	}
}

// again returns -EAGAIN. The splice then waits, unless it or one of the files is non-blocking.
func (s *splice) again(files ...*file) int {
	s.blocked = !s.dontWait
	for _, f := range files {
		s.blocked = s.blocked && !f.nonblocking()
	}
	return -int(unix.EAGAIN)
}

// empty returns the result if the source is empty, and 1 if it is not.
func (s *splice) empty(files ...*file) int {
	switch {
	case len(s.source.data) != 0:
		return 1
	case s.source.other().closed:
		return 0
	}
	return s.again(files...)
}

// full returns the result if the sink has no room, and 1 if it has.
func (s *splice) full(files ...*file) int {
	switch {
	case s.sink.other().closed:
		return -int(unix.EPIPE)
	case s.sink.free() > 0:
		return 1
	}
	return s.again(files...)
}

// fill moves bytes to a pipe from another kind of file.
func (s *splice) fill(n int) int {
	if r := s.full(s.out); r <= 0 {
		return r
	}
	if t, ok := s.in.object.(*tcp); ok && t.atMark() { // as tcp_splice_read() has it
		if t.atEnd() {
			return 0
		}
		return s.again(s.in)
	}
	buf := make([]byte, min(n, s.sink.free()))
	if f, ok := s.in.object.(*regular); ok {
		off := s.in.position(s.from)
		n = f.pread([][]byte{buf}, off)
		s.in.advance(s.from, n)
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

// drain moves bytes from a pipe to another kind of file.
func (s *splice) drain(n int) int {
	if r := s.empty(); r <= 0 {
		return r
	}
	buf := s.source.data[:min(n, len(s.source.data))]
	if f, ok := s.out.object.(*regular); ok {
		off := s.out.position(s.to)
		n = f.pwrite([][]byte{buf}, off)
		s.out.advance(s.to, n)
	} else {
		n = s.out.writeTo([][]byte{buf})
	}
	switch {
	case n == -int(unix.EAGAIN):
		return s.again(s.out)
	case n > 0:
		s.source.take(n)
		if len(s.source.data) != 0 && s.k.flawed(LoseSplicedBytes) {
			s.source.take(1)
		}
	}
	return n
}

// pass moves or copies bytes from pipe to pipe.
func (s *splice) pass(n int) int {
	if r := s.empty(s.in, s.out); r <= 0 {
		return r
	}
	if r := s.full(s.in, s.out); r <= 0 {
		return r
	}
	n = min(n, len(s.source.data), s.sink.free())
	s.sink.put(s.source.data[:n])
	if !s.tee || s.k.flawed(TeeConsumes) {
		s.source.take(n)
	}
	return n
}
