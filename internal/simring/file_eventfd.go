package simring

import (
	"encoding/binary"
	"math"

	"golang.org/x/sys/unix"
)

// eventCounter is the object of eventfd(2).
type eventCounter struct {
	node
	count uint64
}

// eventfd simulates eventfd2(2).
func (k *Kernel) eventfd(count uint32, flags int) (int, unix.Errno) {
	if flags&^(unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) != 0 {
		return -1, unix.EINVAL
	}
	f := &file{object: &eventCounter{node{k: k}, uint64(count)}, flags: flags & unix.EFD_NONBLOCK}
	if errno := k.open(f); errno != 0 {
		return -1, errno
	}
	k.log("eventfd: %d", f.fd)
	return f.fd, 0
}

func (e *eventCounter) String() string { return "eventfd" }
func (e *eventCounter) release()       { e.file = nil }

func (e *eventCounter) events() (events uint32) {
	if e.count != 0 {
		events |= unix.POLLIN
	}
	if e.count < math.MaxUint64-1 {
		events |= unix.POLLOUT
	}
	return events
}

func (e *eventCounter) read(pieces [][]byte) int {
	m := message{pieces: pieces}
	switch {
	case m.size() < 8:
		return -int(unix.EINVAL)
	case e.count == 0:
		return -int(unix.EAGAIN)
	}
	n := e.count
	e.count = 0
	e.poke()
	if n > 1 && e.k.flawed(LoseEventCounts) {
		n--
	}
	return m.scatter(binary.NativeEndian.AppendUint64(nil, n), 0)
}

func (e *eventCounter) write(pieces [][]byte) int {
	m := message{pieces: pieces}
	if m.size() < 8 {
		return -int(unix.EINVAL)
	}
	switch n := binary.NativeEndian.Uint64(m.bytes(0)); {
	case n == math.MaxUint64:
		return -int(unix.EINVAL)
	case n > math.MaxUint64-1-e.count:
		return -int(unix.EAGAIN)
	default:
		e.count += n
	}
	e.poke()
	return 8
}
