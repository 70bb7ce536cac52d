package simring

import (
	"golang.org/x/sys/unix"
)

// pipe is the state that its two ends share.
type pipe struct {
	ends [2]*pipeEnd // to read from and to write to
	data []byte
}

// pipeEnd is one end of a pipe.
type pipeEnd struct {
	node
	*pipe
	writes bool
	closed bool
}

// pipe2 simulates pipe2(2).
func (k *Kernel) pipe2(flags int) (fds [2]int, errno unix.Errno) {
	if flags&^(unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_DIRECT) != 0 || flags&unix.O_DIRECT != 0 {
		return fds, unix.EINVAL
	}
	p := new(pipe)
	var files [2]*file
	for i := range p.ends {
		p.ends[i] = &pipeEnd{node: node{k: k}, pipe: p, writes: i == 1}
		files[i] = &file{object: p.ends[i], flags: flags & unix.O_NONBLOCK}
	}
	if errno := k.openTwo(files[0], files[1]); errno != 0 {
		return fds, errno
	}
	k.log("pipe: %d, %d", files[0].fd, files[1].fd)
	return [2]int{files[0].fd, files[1].fd}, 0
}

func (e *pipeEnd) String() string {
	if e.writes {
		return "write end of a pipe"
	}
	return "read end of a pipe"
}

func (e *pipeEnd) release() {
	e.file, e.closed = nil, true
	e.other().poke()
}

func (e *pipeEnd) other() *pipeEnd {
	if e.writes {
		return e.ends[0]
	}
	return e.ends[1]
}

// capacity returns how many bytes fit.
func (e *pipeEnd) capacity() int { return e.k.Odds.Buffer }

func (e *pipeEnd) free() int { return e.capacity() - len(e.data) }

func (e *pipeEnd) events() (events uint32) {
	switch {
	case e.writes && e.other().closed:
		return unix.POLLOUT | unix.POLLERR
	case e.writes && e.free() >= min(atomicWrite, e.capacity()):
		return unix.POLLOUT
	case e.writes:
		return 0
	}
	if len(e.data) != 0 {
		events |= unix.POLLIN
	}
	if e.other().closed {
		events |= unix.POLLHUP
	}
	return events
}

func (e *pipeEnd) read(pieces [][]byte) int {
	m := message{pieces: pieces}
	switch {
	case e.writes:
		return -int(unix.EBADF)
	case m.size() == 0:
		return 0
	case len(e.data) == 0 && e.other().closed:
		return 0
	case len(e.data) == 0:
		return -int(unix.EAGAIN)
	}
	n := m.scatter(e.data[:e.k.some(min(len(e.data), m.size()))], 0)
	e.take(n)
	return n
}

// take drops the first n bytes.
func (e *pipeEnd) take(n int) {
	e.data = e.data[n:]
	e.ends[1].poke()
}

// atomicWrite is how many bytes are written as one: PIPE_BUF.
const atomicWrite = 4096

func (e *pipeEnd) write(pieces [][]byte) int {
	m := message{pieces: pieces}
	n := m.size()
	switch {
	case !e.writes:
		return -int(unix.EBADF)
	case n == 0:
		return 0
	case e.other().closed:
		return -int(unix.EPIPE)
	case e.free() == 0, n <= min(atomicWrite, e.capacity()) && n > e.free():
		return -int(unix.EAGAIN)
	case n > min(atomicWrite, e.capacity()):
		n = e.k.some(min(n, e.free()))
	}
	e.put(m.bytes(0)[:n])
	return n
}

// put adds bytes. There must be room for them.
func (e *pipeEnd) put(b []byte) {
	e.data = append(e.data, b...)
	e.ends[0].poke()
}
