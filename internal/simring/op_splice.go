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
	s := splice{out: e.file, in: in, e: e, dontWait: e.OpFlags&unix.SPLICE_F_NONBLOCK != 0}
	s.source, _ = in.object.(*pipeEnd)
	s.sink, _ = e.file.object.(*pipeEnd)
	if errno := s.wrong(); errno != 0 {
		e.fail(errno)
		return
	}
	e.delegate(s.move, func() bool { return s.blocked })
}

// splice is a splice or a tee in flight.
type splice struct {
	e            *entry
	in, out      *file
	source, sink *pipeEnd // nil: not a pipe
	dontWait     bool
	blocked      bool // it waits on -EAGAIN
}

// wrong says why the arguments are invalid; 0: they are valid.
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

// again is -EAGAIN. The splice then waits, unless it or one of the files is non-blocking.
func (s *splice) again(files ...*file) int {
	s.blocked = !s.dontWait
	for _, f := range files {
		s.blocked = s.blocked && !f.nonblocking()
	}
	return -int(unix.EAGAIN)
}

// empty is the result if the source is empty; 1: it is not.
func (s *splice) empty(files ...*file) int {
	switch {
	case len(s.source.data) != 0:
		return 1
	case s.source.other().closed:
		return 0
	}
	return s.again(files...)
}

// full is the result if the sink has no room; 1: it has.
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

// drain moves bytes from a pipe to another kind of file.
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
		if len(s.source.data) != 0 && s.e.ring.k.flawed(LoseSplicedBytes) {
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
	if s.e.Opcode == uring.OpSplice || s.e.ring.k.flawed(TeeConsumes) {
		s.source.take(n)
	}
	return n
}
