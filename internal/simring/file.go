package simring

import (
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// firstFd is far beyond the descriptors of the process, so that a call that reaches the real kernel by
// mistake fails.
const firstFd = 1 << 20

// file is an open socket: one end of a connection, or a listener.
type file struct {
	k        *Kernel
	fd       int
	local    netip.AddrPort
	end      *end // nil for a listener
	listens  bool
	room     int // of the backlog
	backlog  []*end
	entries  []*entry // in flight on it
	shutDown bool     // a listener that takes no more
	order    order
}

// open gives f the lowest free descriptor, or 0 if there is none.
func (k *Kernel) open(f *file) unix.Errno {
	if k.chance(k.Odds.NoFile) {
		return [2]unix.Errno{unix.EMFILE, unix.ENFILE}[k.rng.IntN(2)]
	}
	i := slices.Index(k.files, nil)
	if i < 0 {
		if i = len(k.files); i >= k.Odds.Files {
			return unix.EMFILE
		}
		k.files = append(k.files, nil)
	}
	f.k, f.fd = k, firstFd+i
	k.files[i] = f
	return 0
}

func (k *Kernel) file(fd int) *file {
	if i := fd - firstFd; i >= 0 && i < len(k.files) {
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
	if len(f.entries) != 0 {
		k.Errorf("simring: descriptor %d is closed under %d entries, the first for %d", fd, len(f.entries), f.entries[0].Opcode)
	}
	k.files[fd-firstFd] = nil
	if f.listens {
		k.ports[f.local.Port()] = slices.DeleteFunc(k.ports[f.local.Port()], func(g *file) bool { return g == f })
		for _, e := range f.backlog {
			e.abort()
		}
	} else {
		f.end.close()
	}
	return 0
}

// poke lets those who wait on the file look at it again.
func (f *file) poke() {
	if f == nil {
		return
	}
	for _, e := range f.entries {
		e.wake()
	}
}

// events are what poll(2) says of the file.
func (f *file) events() (events uint32) {
	e := f.end
	if f.listens {
		if len(f.backlog) != 0 || f.shutDown {
			events |= unix.POLLIN
		}
		return events
	}
	if e.readable() {
		events |= unix.POLLIN
	}
	if e.writable() {
		events |= unix.POLLOUT
	}
	if e.err != 0 {
		events |= unix.POLLERR
	}
	if e.finIn || e.dead || e.readShut {
		events |= unix.POLLRDHUP
	}
	if e.dead || (e.finIn || e.readShut) && e.writeShut || e.state == fresh {
		events |= unix.POLLHUP
	}
	return events
}
