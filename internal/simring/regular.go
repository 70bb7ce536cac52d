package simring

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// regular is an open file or directory of the disk.
type regular struct {
	node
	inode *inode
}

func (r *regular) String() string { return fmt.Sprintf("inode %d", r.inode.number) }

// events: a file can always be read and written, which is why nothing waits for it.
func (r *regular) events() uint32 { return unix.POLLIN | unix.POLLOUT }

func (r *regular) release() {
	r.inode.opened--
	r.inode.forget()
}

const knownOpenFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_APPEND | unix.O_DIRECTORY |
	unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_DIRECT | unix.O_SYNC | unix.O_DSYNC | unix.O_NOATIME |
	unix.O_NOCTTY | unix.O_LARGEFILE | unix.O_PATH | o_LARGEFILE

// o_LARGEFILE is what the kernel has for it on 64-bit machines, where package unix has 0.
const o_LARGEFILE = 0o100000

// open is openat(2) without a descriptor.
func (d *disk) open(from *inode, path string, flags int, mode uint32) (*file, unix.Errno) {
	if flags&^knownOpenFlags != 0 {
		return nil, unix.EOPNOTSUPP
	}
	exclusive := flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL
	s, errno := d.walk(from, path, exclusive || flags&unix.O_NOFOLLOW != 0)
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0
	n := s.node
	switch {
	case errno != 0:
		return nil, errno
	case n == nil && flags&unix.O_CREAT == 0:
		return nil, unix.ENOENT
	case n == nil && s.only, n != nil && n.is(unix.S_IFDIR) && flags&unix.O_CREAT != 0 && !exclusive:
		return nil, unix.EISDIR
	case n != nil && exclusive:
		return nil, unix.EEXIST
	case n == nil:
		if n, errno = d.create(s, unix.S_IFREG|mode&0o7777); errno != 0 {
			return nil, errno
		}
	case n.is(unix.S_IFLNK):
		return nil, unix.ELOOP
	case n.is(unix.S_IFSOCK):
		return nil, unix.ENXIO
	case n.is(unix.S_IFDIR) && writes:
		return nil, unix.EISDIR
	case !n.is(unix.S_IFDIR) && flags&unix.O_DIRECTORY != 0:
		return nil, unix.ENOTDIR
	}
	if flags&unix.O_TRUNC != 0 && n.is(unix.S_IFREG) {
		n.resize(0)
	}
	return &file{object: &regular{node{k: d.k}, n}, flags: flags}, 0
}

func (r *regular) attach(f *file) {
	r.node.attach(f)
	r.inode.opened++
}

// resize makes the file n bytes long. It reports false if the disk has not as many left.
func (n *inode) resize(size int) bool {
	more := int64(size - len(n.data))
	if more > 0 && n.disk.used+more > n.disk.k.Odds.Disk {
		return false
	}
	n.disk.used += more
	if more > 0 {
		n.data = append(n.data, make([]byte, more)...)
	} else {
		clear(n.data[size:])
		n.data = n.data[:size]
	}
	n.changed = n.disk.k.now
	return true
}

// readable says why the file cannot be read.
func (f *file) readable() unix.Errno {
	if f.flags&unix.O_ACCMODE == unix.O_WRONLY || f.flags&unix.O_PATH != 0 {
		return unix.EBADF
	}
	return 0
}

// writable says why the file cannot be written.
func (f *file) writable() unix.Errno {
	if f.flags&unix.O_ACCMODE == unix.O_RDONLY || f.flags&unix.O_PATH != 0 {
		return unix.EBADF
	}
	return 0
}

// aligned says whether a transfer is what O_DIRECT takes.
func (f *file) aligned(pieces [][]byte, off int64) bool {
	if f.flags&unix.O_DIRECT == 0 {
		return true
	}
	for _, p := range pieces {
		if len(p)%sector != 0 || len(p) != 0 && addressOfByte(&p[0])%sector != 0 {
			return false
		}
	}
	return off%sector == 0
}

// pread reads at an offset. It returns a count or a negative errno.
func (r *regular) pread(pieces [][]byte, off int64) int {
	m := message{pieces: pieces}
	k := r.k
	errno := r.file.readable()
	switch {
	case errno != 0:
		return -int(errno)
	case r.inode.is(unix.S_IFDIR):
		return -int(unix.EISDIR)
	case off < 0, !r.file.aligned(pieces, off):
		return -int(unix.EINVAL)
	case off >= int64(len(r.inode.data)) || m.size() == 0:
		return 0
	case k.chance(k.Odds.Broken):
		return -int(unix.EIO)
	}
	b := r.inode.data[off:]
	n := min(len(b), m.size())
	if r.file.flags&unix.O_DIRECT == 0 {
		n = k.some(n)
	} else if n > sector {
		n = min(n, (k.some(n)+sector-1)/sector*sector)
	}
	return m.scatter(b[:n], 0)
}

// pwrite writes at an offset, or behind the last byte. It returns a count or a negative errno.
func (r *regular) pwrite(pieces [][]byte, off int64) (n int) {
	m := message{pieces: pieces}
	k, data := r.k, &r.inode.data
	if r.file.flags&unix.O_APPEND != 0 {
		off = int64(len(*data))
	}
	errno := r.file.writable()
	switch {
	case errno != 0:
		return -int(errno)
	case off < 0, !r.file.aligned(pieces, off):
		return -int(unix.EINVAL)
	case m.size() == 0:
		return 0
	case k.chance(k.Odds.Broken):
		return -int(unix.EIO)
	case k.chance(k.Odds.NoSpace):
		return -int(unix.ENOSPC)
	}
	n = m.size()
	if r.file.flags&unix.O_DIRECT == 0 {
		n = k.some(n)
	} else if n > sector {
		n = min(n, (k.some(n)+sector-1)/sector*sector)
	}
	for int(off)+n > len(*data) && !r.inode.resize(int(off)+n) {
		if n /= 2; n == 0 || r.file.flags&unix.O_DIRECT != 0 {
			return -int(unix.ENOSPC)
		}
	}
	if k.Odds.Flaw != LoseWrites || !k.chance(0.1) {
		copy((*data)[off:], m.bytes(0)[:n])
	}
	r.inode.changed = k.now
	return n
}

// truncate is ftruncate(2).
func (r *regular) truncate(size int64) int {
	switch errno := r.file.writable(); {
	case errno != 0, r.inode.is(unix.S_IFDIR), size < 0:
		return -int(unix.EINVAL)
	case !r.inode.resize(int(size)):
		return -int(unix.EFBIG)
	}
	return 0
}

// allocate is fallocate(2): to reserve bytes, to keep the size, and to punch a hole.
func (r *regular) allocate(mode uint32, off, size int64) int {
	const keep, punch, zero = unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_PUNCH_HOLE, unix.FALLOC_FL_ZERO_RANGE
	errno := r.file.writable()
	data := &r.inode.data
	switch {
	case errno != 0:
		return -int(errno)
	case off < 0 || size <= 0:
		return -int(unix.EINVAL)
	case mode&^(keep|punch|zero) != 0 || mode&punch != 0 && mode&keep == 0:
		return -int(unix.EOPNOTSUPP)
	case r.inode.is(unix.S_IFDIR):
		return -int(unix.EISDIR)
	case r.k.chance(r.k.Odds.NoSpace):
		return -int(unix.ENOSPC)
	}
	if mode&(punch|zero) != 0 {
		from := min(int(off), len(*data))
		clear((*data)[from:min(int(off+size), len(*data))])
	}
	if mode&keep == 0 && int(off+size) > len(*data) && !r.inode.resize(int(off+size)) {
		return -int(unix.ENOSPC)
	}
	return 0
}

// sync is fsync(2).
func (r *regular) sync() int {
	if k := r.k; k.chance(k.Odds.Broken) {
		return -int(unix.EIO)
	}
	return 0
}

// getdents is getdents64(2): the entries of a directory from the file's position on, as many as fit.
func (r *regular) getdents(buf []byte) int {
	if !r.inode.is(unix.S_IFDIR) {
		return -int(unix.ENOTDIR)
	}
	if r.inode.parent == nil {
		return -int(unix.ENOENT)
	}
	all := append([]entryName{{".", r.inode, 1}, {"..", r.inode.parent, 2}}, r.inode.entries...)
	n := 0
	for _, e := range all {
		if e.cookie <= r.file.offset || r.k.flawed(SkipEntries) {
			continue
		}
		size := (19 + len(e.name) + 1 + 7) &^ 7
		if n+size > len(buf) {
			if n == 0 {
				return -int(unix.EINVAL)
			}
			break
		}
		b := buf[n : n+size]
		clear(b)
		binary.NativeEndian.PutUint64(b, e.node.number)
		binary.NativeEndian.PutUint64(b[8:], uint64(e.cookie))
		binary.NativeEndian.PutUint16(b[16:], uint16(size))
		b[18] = byte(e.node.mode & unix.S_IFMT >> 12)
		copy(b[19:], e.name)
		n += size
		r.file.offset = e.cookie
	}
	return n
}
