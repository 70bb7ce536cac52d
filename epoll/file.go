package epoll

import (
	"github.com/reactord/reactord/internal/assert"
	"golang.org/x/sys/unix"
)

// interest is what every descriptor is registered for, once. Being edge-triggered it needs no
// changes, and what nobody waits for is reported once instead of for ever.
const interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLET

// file is what the ring knows of one descriptor.
type file struct {
	gen   uint32 // tells this use of the number from earlier ones; comes back in events
	live  uint32 // entries in flight on it
	next  int32  // the next descriptor on the ready list, plus one
	state state
	kind  kind
	// patient: accept and connect may wait in the kernel's own ring, for it was the ring that set O_NONBLOCK.
	patient bool
	in      list // entries that receive, read or accept
	out     list // entries that send, write or connect
	watch   list // polls and out-of-band receives: every event is shown to all of them
	pool    list // entries in the pool
}

// state holds what the last events and system calls said of a file.
type state uint16

const (
	registered state = 1 << iota // it is in the epoll set
	readable                     // a receive may find something
	blocked                      // a send found no room; the next edge will clear it
	eager                        // an end, an error or urgent data was signalled: a short read proves nothing
	due                          // an event has not been shown to the watchers yet
	inReady                      // it is on the ready list
	nonblock                     // O_NONBLOCK is set
	accepted                     // this ring accepted it, and it has not been used since
	listens                      // it was accepted from
	closing                      // a close came; the number is freed when the last entry has left
	zerocopy                     // the kernel would send from it without copying: TCP and UDP
	shut                         // a socket for datagrams will receive no more, which recv(2) says only when it may wait
	positioned                   // it can be waited for, and has offsets all the same: a file of procfs
	plain                        // it cannot be waited for; blocked then says that a write is at work
	whole                        // a plain file of which a short transfer is gone on with: regular, or a block device
	uncached                     // O_DIRECT: every call waits for the device
)

// kind is as much of a file's type as decides how it is read.
type kind uint8

const (
	other     kind = iota // not a socket: a pipe, an eventfd, a terminal
	datagrams             // a socket with message boundaries and no connections
	packets               // a socket with message boundaries and connections
	stream                // a socket with connections
	tcp                   // a stream of which a short read says that it is drained
)

func (f *file) listOf(at place) *list {
	switch at {
	case waitingIn:
		return &f.in
	case waitingOut:
		return &f.out
	case watching:
		return &f.watch
	case pooled:
		return &f.pool
	}
	panic("epoll: an entry that is not in flight has no list")
}

// ready reports whether there is something to try.
func (f *file) ready() bool {
	return f.in.head != 0 && f.state&readable != 0 ||
		f.out.head != 0 && f.state&blocked == 0 ||
		f.watch.head != 0 && f.state&due != 0
}

// reset makes f a new use of its number. It may still be on the ready list.
func (f *file) reset(s state) {
	if assert.Enabled && f.live != 0 {
		panic("epoll: a descriptor was closed and its number used again while entries were in flight on it")
	}
	*f = file{gen: f.gen + 1, live: f.live, pool: f.pool, next: f.next, state: f.state&inReady | s}
}

// file returns what is known of a descriptor, or nil.
func (r *Ring) file(fd int32) *file {
	if r.files.has(fd) {
		return r.files.at(fd)
	}
	return nil
}

// known is like file, and makes room for a descriptor that is open.
func (r *Ring) known(fd int32) *file {
	if !r.files.has(fd) {
		r.files.make(fd)
	}
	return r.files.at(fd)
}

// arm sees to it that fd is in the epoll set. EPERM says that it cannot be: a regular file.
//
// With verify it does not believe its own record of a descriptor on which nothing is in flight, and
// asks the kernel: the number may have been closed behind the ring's back. That costs a system call,
// so it is for entries that stay or are rare.
func (r *Ring) arm(fd int32, verify bool) unix.Errno {
	var gen uint32
	f := r.file(fd)
	if f != nil {
		switch {
		case f.state&closing != 0:
			return unix.EBADF
		case f.state&registered != 0 && (f.live != 0 || !verify && !assert.Enabled):
			return 0
		}
		gen = f.gen
	}
	errno := r.epollCtl(unix.EPOLL_CTL_ADD, fd, gen+1)
	if errno == unix.EEXIST {
		if f != nil && f.state&registered != 0 {
			return 0
		}
		errno = r.epollCtl(unix.EPOLL_CTL_MOD, fd, gen+1)
	} else if assert.Enabled && !verify && f != nil && f.state&registered != 0 {
		panic("epoll: a descriptor was closed without Forget")
	}
	if errno != 0 {
		if f != nil && f.live == 0 {
			f.reset(0)
		}
		return errno
	}
	r.register(fd)
	return 0
}

// armSocket is arm for what must be a socket.
func (r *Ring) armSocket(fd int32, verify bool) unix.Errno {
	errno := r.arm(fd, verify)
	if errno == unix.EPERM || errno == 0 && r.files.at(fd).kind == other {
		return unix.ENOTSOCK // every socket can be polled
	}
	return errno
}

// register records that fd is now in the epoll set.
func (r *Ring) register(fd int32) {
	f := r.known(fd)
	// What this ring accepted is most likely idle: wait for its first event. Of anything else nothing
	// is known, so the first receive is tried, and fails at once where it cannot work.
	s := registered
	if f.state&accepted == 0 {
		s |= readable
	}
	f.reset(s)
	switch protocol := r.sockopt(fd, unix.SO_PROTOCOL); {
	case protocol < 0:
		f.kind = other
		if raw(unix.SYS_PREAD64, uintptr(fd), 0, 0, 0, 0, 0) != -int(unix.ESPIPE) {
			f.state |= positioned
		}
	case protocol == unix.IPPROTO_TCP:
		f.kind = tcp
		f.state |= zerocopy
	default:
		f.kind = stream
		switch r.sockopt(fd, unix.SO_TYPE) {
		case unix.SOCK_STREAM:
		case unix.SOCK_SEQPACKET:
			f.kind = packets
		default:
			f.kind = datagrams
		}
		if protocol == unix.IPPROTO_UDP && r.sockopt(fd, unix.SO_DOMAIN) != unix.AF_UNIX {
			f.state |= zerocopy
		}
	}
}

// adopt notes a descriptor that this ring has just made: whatever is known of the number is out of date.
func (r *Ring) adopt(fd int32, s state) {
	f := r.known(fd)
	if f.live != 0 {
		r.abandon(fd)
	}
	f.reset(s)
}

// closed reports whether a close came for fd, although the file is still open.
func (r *Ring) closed(fd int32) bool {
	f := r.file(fd)
	return f != nil && f.state&closing != 0
}

// setNonblock sets O_NONBLOCK on what has no MSG_DONTWAIT.
func (r *Ring) setNonblock(fd int32) {
	f := r.files.at(fd)
	if f.state&nonblock != 0 {
		return
	}
	f.state |= nonblock
	if flags := raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0, 0, 0, 0); flags >= 0 && flags&unix.O_NONBLOCK == 0 {
		raw(unix.SYS_FCNTL, uintptr(fd), unix.F_SETFL, uintptr(flags|unix.O_NONBLOCK), 0, 0, 0)
	}
}

// Forget tells the ring that fd is about to be closed, or given away, other than by a close entry. It
// must be called before that, on the ring's thread, with nothing in flight on fd; what is in flight
// nevertheless completes with -ECANCELED.
//
// Without it the ring takes the next file with the same number for the old one, and may wait for
// events that never come. After Close it does nothing.
func (r *Ring) Forget(fd int) {
	r.check()
	f := r.file(int32(fd))
	if f == nil || r.epfd < 0 {
		return
	}
	if f.live != 0 {
		r.abandon(int32(fd))
	}
	r.forget(int32(fd))
}

func (r *Ring) forget(fd int32) {
	f := r.file(fd)
	if f == nil {
		return
	}
	if f.state&registered != 0 {
		// Closing removes the registration only if no duplicate of the descriptor is left.
		r.epollCtl(unix.EPOLL_CTL_DEL, fd, 0)
	}
	f.reset(0)
}

// abandon completes what waits on fd.
func (r *Ring) abandon(fd int32) {
	for at := waitingIn; at <= watching; at++ {
		for {
			i := r.files.at(fd).listOf(at).head
			if i == 0 {
				break
			}
			r.fail(i, unix.ECANCELED)
		}
	}
	if r.files.at(fd).live != 0 {
		r.abandonGuests(fd)
	}
}

// close closes fd. Linux frees the number whatever close(2) returns.
func (r *Ring) close(fd int32) int {
	r.forget(fd)
	return blocking(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0, 0)
}

// signal records an event and readies what waited for it.
func (r *Ring) signal(fd int32, gen, events uint32) {
	f := r.files.at(fd)
	if f.gen != gen {
		return // of an earlier use of the number
	}
	const ends = unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLIN|ends) != 0 {
		f.state |= readable
	}
	if events&ends != 0 {
		f.state |= eager
	}
	if events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		f.state &^= blocked
	}
	if f.watch.head != 0 {
		f.state |= due
	}
	r.enqueue(fd)
}

// enqueue puts fd at the end of the ready list if there is something to try.
func (r *Ring) enqueue(fd int32) {
	f := r.files.at(fd)
	if f.state&inReady != 0 || !f.ready() {
		return
	}
	f.state |= inReady
	f.next = 0
	if r.readyTail == 0 {
		r.readyHead = fd + 1
	} else {
		r.files.at(r.readyTail - 1).next = fd + 1
	}
	r.readyTail = fd + 1
}

// dequeue takes the first descriptor of the ready list, which must not be empty.
func (r *Ring) dequeue() int32 {
	fd := r.readyHead - 1
	f := r.files.at(fd)
	f.state &^= inReady
	r.readyHead = f.next
	if r.readyHead == 0 {
		r.readyTail = 0
	}
	return fd
}

// work makes attempts, one a direction and descriptor in turn, until nothing is ready or a batch of
// bytes was received.
func (r *Ring) work() {
	for r.spent = 0; r.readyHead != 0 && r.spent < r.batch; r.spent += turnCost {
		fd := r.dequeue()
		r.serve(fd)
		r.enqueue(fd)
	}
}

// turnCost is what a turn is charged of a batch besides the bytes received: an estimate of the cache
// lines that the kernel touches for it.
const turnCost = 256

// serve gives each direction of fd one attempt. The watchers come first, while what they watch for is
// still there.
func (r *Ring) serve(fd int32) {
	f := r.files.at(fd)
	if f.watch.head != 0 && f.state&due != 0 {
		f.state &^= due
		r.show(fd)
	}
	f = r.files.at(fd)
	if i := f.out.head; i != 0 && f.state&blocked == 0 {
		if r.attempt(i) == wouldBlock {
			r.files.at(fd).state |= blocked
		}
	}
	f = r.files.at(fd)
	if i := f.in.head; i != 0 && f.state&readable != 0 {
		if r.attempt(i) == wouldBlock {
			r.files.at(fd).state &^= readable | eager
		}
	}
}
