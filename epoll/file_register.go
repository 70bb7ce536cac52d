//go:build linux

package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/assert"
)

// arm makes sure that fd is in the epoll set. EPERM says that it cannot be: it is a regular file.
//
// With verify, arm does not trust the record of a descriptor on which nothing is in flight, and asks the kernel: the
// number may have been closed without the ring's knowledge. That costs a system call, so it is for entries that are
// rare or stay long.
func (r *Ring) arm(fd int32, verify bool) unix.Errno {
	var generation uint32
	f := r.files.find(fd)
	if f != nil {
		switch {
		case f.is(closeRequested):
			return unix.EBADF
		case f.phase == polled && (f.inFlight != 0 || !verify && !assert.Enabled):
			return 0
		}
		generation = f.generation
	}
	errno := r.poller.ctl(unix.EPOLL_CTL_ADD, fd, generation+1)
	if errno == unix.EEXIST {
		if f != nil && f.phase == polled {
			return 0
		}
		errno = r.poller.ctl(unix.EPOLL_CTL_MOD, fd, generation+1)
	} else if assert.Enabled && !verify && f != nil && f.phase == polled {
		panic("epoll: a descriptor was closed without Forget")
	}
	if errno != 0 {
		if f != nil && f.inFlight == 0 {
			f.reset(unknown)
		}
		return errno
	}
	r.register(fd)
	return 0
}

// armSocket arms as arm does, and fails if fd is no socket.
func (r *Ring) armSocket(fd int32, verify bool) unix.Errno {
	errno := r.arm(fd, verify)
	if errno == unix.EPERM || errno == 0 && r.files.at(fd).kind == other {
		return unix.ENOTSOCK // every socket can be polled
	}
	return errno
}

// register records that fd is now in the epoll set, and finds out its kind.
func (r *Ring) register(fd int32) {
	f := r.files.make(fd)
	// A descriptor that this ring has accepted most likely has no data yet: the ring waits for its first event. Of
	// others nothing is known, so the first receive is tried, and fails immediately where it cannot work.
	tryFirst, expected := f.phase != accepted, f.is(expectedTCP)
	f.reset(polled)
	if tryFirst {
		f.tryInput()
	}
	if expected {
		r.assertTCP(fd)
		f.kind = tcp
		f.flags |= canZeroCopy | nonblocking | sole
		return
	}
	switch protocol := r.tmp.sockopt(fd, unix.SO_PROTOCOL); {
	case protocol < 0:
		f.kind = other
		if raw(unix.SYS_PREAD64, uintptr(fd), 0, 0, 0, 0, 0) != -int(unix.ESPIPE) {
			f.flags |= hasOffsets
		}
	case protocol == unix.IPPROTO_TCP:
		f.kind = tcp
		f.flags |= canZeroCopy
	default:
		switch r.tmp.sockopt(fd, unix.SO_TYPE) {
		case unix.SOCK_STREAM:
			f.kind = stream
		case unix.SOCK_SEQPACKET:
			f.kind = packets
		default:
			f.kind = datagrams
		}
		if protocol == unix.IPPROTO_UDP && r.tmp.sockopt(fd, unix.SO_DOMAIN) != unix.AF_UNIX {
			f.flags |= canZeroCopy
		}
	}
}

// ExpectTCP tells the ring that fd, on which an entry is about to be pushed, is a TCP socket with O_NONBLOCK set, which
// stays set: if the ring does not know it yet, it needs not ask, which takes up to two system calls. It must be called
// on the ring's thread. If assertions are enabled, the ring asks nevertheless, and panics if it is something else.
func (r *Ring) ExpectTCP(fd int) {
	r.check()
	if f := r.files.make(int32(fd)); f.phase != polled {
		f.flags |= expectedTCP
	}
}

func (r *Ring) assertTCP(fd int32) {
	if !assert.Enabled {
		return
	}
	if r.tmp.sockopt(fd, unix.SO_PROTOCOL) != unix.IPPROTO_TCP || statusFlags(fd)&unix.O_NONBLOCK == 0 {
		panic("epoll: ExpectTCP of a descriptor that is no TCP socket with O_NONBLOCK")
	}
}

// classify records that fd is a plain file, and what decides how it is read and written.
func (r *Ring) classify(fd int32) {
	f := r.files.make(fd)
	f.phase = plain
	f.flags &^= wholeTransfers | unbuffered
	if unix.Fstat(int(fd), &r.tmp.stat) == nil {
		if t := r.tmp.stat.Mode & unix.S_IFMT; t == unix.S_IFREG || t == unix.S_IFBLK {
			f.flags |= wholeTransfers
		}
	}
	if flags := statusFlags(fd); flags >= 0 && flags&unix.O_DIRECT != 0 {
		f.flags |= unbuffered
	}
}

// adopt records a descriptor that this ring has just made: what was known of the number is out of date.
func (r *Ring) adopt(fd int32, p phase) {
	f := r.files.make(fd)
	if f.inFlight != 0 {
		r.abandon(fd)
	}
	f.reset(p)
}

// setNonblock sets O_NONBLOCK on a descriptor whose system calls have no MSG_DONTWAIT.
func (r *Ring) setNonblock(fd int32) {
	f := r.files.at(fd)
	if f.is(nonblocking) {
		return
	}
	f.flags |= nonblocking
	if flags := statusFlags(fd); flags >= 0 && flags&unix.O_NONBLOCK == 0 {
		f.flags |= callerBlocks
		raw(unix.SYS_FCNTL, uintptr(fd), unix.F_SETFL, uintptr(flags|unix.O_NONBLOCK), 0, 0, 0)
	}
}

// open returns EBADF for a descriptor that is not open, or that is only for use in paths.
func (r *Ring) open(fd int32) unix.Errno {
	flags := statusFlags(fd)
	if flags < 0 || flags&unix.O_PATH != 0 || r.files.closing(fd) {
		return unix.EBADF
	}
	return 0
}

// opened reports whether a descriptor was opened for writing, or for reading.
func opened(fd int32, forWriting bool) bool {
	flags := statusFlags(fd)
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

// Forget tells the ring that fd is about to be closed, or given away, other than by a close entry. It must be called
// before that, on the ring's thread, with nothing in flight on fd. Entries that are in flight nevertheless complete
// with -ECANCELED.
//
// Without it the ring takes the next file with the same number for the old one, and may wait for events that never
// come. After [Ring.Close] it does nothing.
func (r *Ring) Forget(fd int) {
	r.check()
	f := r.files.find(int32(fd))
	if f == nil || r.poller.fd < 0 {
		return
	}
	if f.inFlight != 0 {
		r.abandon(int32(fd))
	}
	r.forget(int32(fd))
}

func (r *Ring) forget(fd int32) {
	f := r.files.find(fd)
	if f == nil {
		return
	}
	if f.phase == polled {
		// Closing removes the registration only if no duplicate of the descriptor is left.
		r.poller.ctl(unix.EPOLL_CTL_DEL, fd, 0)
	}
	f.reset(unknown)
}

// abandon completes what waits for fd.
func (r *Ring) abandon(fd int32) {
	f := r.files.at(fd)
	for _, l := range [...]*list{&f.in, &f.out, &f.watch} {
		for e := r.entries.first(l); e != nil; e = r.entries.first(l) {
			r.fail(e, unix.ECANCELED)
		}
	}
	if f.inFlight != 0 {
		r.abandonSplices(fd)
	}
}

// leave counts one entry less on a descriptor, and closes it if that was the last and a close was requested.
func (r *Ring) leave(fd int32) {
	f := r.files.at(fd)
	f.inFlight--
	if f.inFlight == 0 && f.is(closeRequested) {
		r.close(fd)
	}
}

// close closes fd. Linux frees the number whatever close(2) returns.
func (r *Ring) close(fd int32) int {
	if f := r.files.find(fd); f != nil && f.is(sole) && !r.duplicates {
		f.reset(unknown) // closing removes the registration
	} else {
		r.forget(fd)
	}
	return blocking(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0, 0)
}

// closeRequestedFiles closes the files whose close waits for entries in flight.
func (r *Ring) closeRequestedFiles() (errs []error) {
	for n, page := range r.files.records.page {
		for i := range page {
			if page != nil && page[i].is(closeRequested) {
				errs = append(errs, closeError(n<<pageBits|i))
			}
		}
	}
	return errs
}
