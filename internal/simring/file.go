package simring

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// firstFd is far beyond the descriptors of the process, so that a call that reaches the real kernel by
// mistake fails. Each machine has as many numbers.
const firstFd = 1 << 20

// object can be open: a socket, an end of a pipe, a file of a disk.
type object interface {
	attach(f *file) // f is the open file of it
	events() uint32 // what poll(2) says of it
	release()       // its last descriptor is closed
	String() string // for the trace
}

// node has what objects share. Its file is nil while the object is not open: a connection that was not accepted yet, or
// that outlives its descriptor.
type node struct {
	k        *Kernel
	file     *file
	endpoint notified // it is one; nil: it is none
}

func (n *node) attach(f *file) { n.file = f }

// poke wakes the entries that wait on the object, which are attempted again, and tells the endpoint that it is.
func (n *node) poke() {
	n.file.poke()
	if n.endpoint != nil {
		n.endpoint.notify()
	}
}

// file is an open file. Descriptors refer to it, and messages that carry it.
type file struct {
	k *Kernel
	object
	fd      int // the latest descriptor
	refs    int
	flags   int   // O_NONBLOCK and the other flags of open(2)
	offset  int64 // its position
	entries []*entry
	order   order
}

func (f *file) String() string {
	if f.object == nil {
		return "nothing"
	}
	return f.object.String()
}

// open gives f the lowest free descriptor, or says why not.
func (k *Kernel) open(f *file) unix.Errno {
	if errno := k.room(); errno != 0 {
		return errno
	}
	return k.install(f)
}

// room returns why there is no free descriptor; 0 if there is one.
func (k *Kernel) room() unix.Errno {
	switch {
	case k.abroad != 0:
		return 0
	case k.chance(k.Odds.NoDescriptor):
		return [2]unix.Errno{unix.EMFILE, unix.ENFILE}[k.rng.IntN(2)]
	case k.used-len(k.foreign) >= k.Odds.Files:
		return unix.EMFILE
	}
	return 0
}

// install gives f one more descriptor, the lowest that is free.
func (k *Kernel) install(f *file) unix.Errno {
	if k.abroad == 0 && k.used-len(k.foreign) >= k.Odds.Files {
		return unix.EMFILE
	}
	i := k.lowest
	for i < len(k.files) && k.files[i] != nil {
		i++
	}
	if k.lowest = i; i == len(k.files) {
		k.files = append(k.files, nil)
	}
	if f.refs == 0 {
		k.opened++
		f.object.attach(f)
	}
	f.k, f.fd = k, k.firstFd+i
	f.refs++
	k.files[i] = f
	k.used++
	k.belongs(f.fd)
	if k.abroad != 0 {
		k.foreign[f.fd] = true
	}
	return 0
}

// Abroad calls f, which must not wait, as another process: without faults. The descriptors that it opens do not count
// towards the limit.
func (k *Kernel) Abroad(f func()) {
	k.abroad++
	defer func() { k.abroad-- }()
	k.Spared(f)
}

// openTwo opens both files or none. A pair is made with the first descriptor below the second.
func (k *Kernel) openTwo(f, g *file) unix.Errno {
	if errno := k.open(f); errno != 0 {
		return errno
	}
	if errno := k.install(g); errno != 0 {
		_ = k.close(f.fd)
		return errno
	}
	return 0
}

func (k *Kernel) file(fd int) *file {
	if i := fd - k.firstFd; i >= 0 && i < len(k.files) {
		return k.files[i]
	}
	return nil
}

// close closes a descriptor.
func (k *Kernel) close(fd int) unix.Errno {
	f := k.file(fd)
	if f == nil {
		k.Errorf("simring: descriptor %d is closed, and is not open", fd)
		return unix.EBADF
	}
	for _, e := range f.entries {
		if e.Fd == int32(fd) {
			k.Errorf("simring: descriptor %d is closed under %d entries, one of them %s", fd, len(f.entries), Describe(&e.SQE))
			break
		}
	}
	k.files[fd-k.firstFd] = nil
	k.lowest = min(k.lowest, fd-k.firstFd)
	k.used--
	delete(k.foreign, fd)
	k.disown(fd)
	k.unref(f)
	return 0
}

// unref drops a reference to each of the files, and releases those without any.
func (k *Kernel) unref(files ...*file) {
	for _, f := range files {
		if f.refs--; f.refs == 0 {
			k.opened--
			f.object.release()
		}
	}
}

// poke wakes the entries that wait on the file: they are attempted again.
func (f *file) poke() {
	if f == nil {
		return
	}
	for _, e := range f.entries {
		if e.Opcode == uring.OpPollAdd && f.k.flawed(LoseReadiness) {
			continue
		}
		e.wake()
	}
}

func (f *file) nonblocking() bool { return f.flags&unix.O_NONBLOCK != 0 }
