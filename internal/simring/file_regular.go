package simring

import (
	"encoding/binary"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// regular is an open file or directory of the disk.
type regular struct {
	node
	inode *inode
}

func (r *regular) String() string { return fmt.Sprintf("inode %d", r.inode.number) }

// events reports that a file can always be read and written, which is why nothing waits for it.
func (r *regular) events() uint32 { return unix.POLLIN | unix.POLLOUT }

func (r *regular) release() {
	r.inode.opened--
	r.inode.free()
}

const knownOpenFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_APPEND | unix.O_DIRECTORY |
	unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_DIRECT | unix.O_SYNC | unix.O_DSYNC | unix.O_NOATIME |
	unix.O_NOCTTY | unix.O_LARGEFILE | o_LARGEFILE

// o_LARGEFILE is the kernel's value on 64-bit machines, where package unix has 0.
const o_LARGEFILE = 0o100000

// open simulates openat(2), but makes no descriptor.
func (d *disk) open(name string, flags int, mode uint32) (*file, unix.Errno) {
	creates, writes := flags&unix.O_CREAT != 0, flags&(unix.O_ACCMODE|unix.O_TRUNC) != unix.O_RDONLY
	n, errno := d.lookup(name), unix.Errno(0)
	switch {
	case flags&^knownOpenFlags != 0:
		return nil, unix.EOPNOTSUPP
	case n == nil && creates:
		if n, errno = d.create(name, unix.S_IFREG|mode&0o7777); errno != 0 {
			return nil, errno
		}
	case n == nil:
		return nil, unix.ENOENT
	case creates && flags&unix.O_EXCL != 0:
		return nil, unix.EEXIST
	case n.is(unix.S_IFLNK):
		return nil, unix.ELOOP
	case n.is(unix.S_IFSOCK):
		return nil, unix.ENXIO
	case n.is(unix.S_IFDIR) && (writes || creates):
		return nil, unix.EISDIR
	case !n.is(unix.S_IFDIR) && flags&unix.O_DIRECTORY != 0:
		return nil, unix.ENOTDIR
	}
	if flags&unix.O_TRUNC != 0 {
		n.resize(0)
	}
	return &file{object: &regular{node{k: d.k}, n}, flags: flags}, 0
}

func (r *regular) attach(f *file) {
	r.node.attach(f)
	r.inode.opened++
}

// lacks returns EBADF if the file was not opened for this access, to read or to write.
func (f *file) lacks(access int) unix.Errno {
	if mode := f.flags & unix.O_ACCMODE; mode != unix.O_RDWR && mode != access {
		return unix.EBADF
	}
	return 0
}

// pread reads at an offset. It returns a count or a negative errno.
func (r *regular) pread(pieces [][]byte, off int64) int {
	m := message{pieces: pieces}
	k := r.k
	errno := r.file.lacks(unix.O_RDONLY)
	switch {
	case errno != 0:
		return -int(errno)
	case r.inode.is(unix.S_IFDIR):
		return -int(unix.EISDIR)
	case off < 0:
		return -int(unix.EINVAL)
	case off >= int64(len(r.inode.data)) || m.size() == 0:
		return 0
	case k.chance(k.Odds.IOError):
		return -int(unix.EIO)
	}
	b := r.inode.data[off:]
	return m.scatter(b[:k.some(min(len(b), m.size()))], 0)
}

// pwrite writes at an offset, or behind the last byte. It returns a count or a negative errno.
func (r *regular) pwrite(pieces [][]byte, off int64) (n int) {
	m := message{pieces: pieces}
	k := r.k
	if r.file.flags&unix.O_APPEND != 0 {
		off = int64(len(r.inode.data))
	}
	errno := r.file.lacks(unix.O_WRONLY)
	switch {
	case errno != 0:
		return -int(errno)
	case off < 0:
		return -int(unix.EINVAL)
	case m.size() == 0:
		return 0
	case k.chance(k.Odds.IOError):
		return -int(unix.EIO)
	case k.chance(k.Odds.NoSpace):
		return -int(unix.ENOSPC)
	}
	n = k.some(m.size())
	for int(off)+n > len(r.inode.data) && !r.inode.resize(int(off)+n) {
		if n /= 2; n == 0 {
			return -int(unix.ENOSPC)
		}
	}
	if !k.flawed(LoseWrites) {
		r.inode.write(m.bytes(0)[:n], int(off))
	}
	return n
}

// truncate simulates ftruncate(2).
func (r *regular) truncate(size int64) int {
	switch errno := r.file.lacks(unix.O_WRONLY); {
	case errno != 0, r.inode.is(unix.S_IFDIR), size < 0:
		return -int(unix.EINVAL)
	case !r.inode.resize(int(size)):
		return -int(unix.EFBIG)
	}
	return 0
}

// allocate simulates fallocate(2) that reserves bytes, with the size kept or not.
func (r *regular) allocate(mode uint32, off, size int64) int {
	switch errno := r.file.lacks(unix.O_WRONLY); {
	case errno != 0:
		return -int(errno)
	case off < 0 || size <= 0:
		return -int(unix.EINVAL)
	case mode&^unix.FALLOC_FL_KEEP_SIZE != 0:
		return -int(unix.EOPNOTSUPP)
	case r.inode.is(unix.S_IFDIR):
		return -int(unix.EISDIR)
	case r.k.chance(r.k.Odds.NoSpace):
		return -int(unix.ENOSPC)
	case mode == 0 && int(off+size) > len(r.inode.data) && !r.inode.resize(int(off+size)):
		return -int(unix.ENOSPC)
	}
	return 0
}

// sync simulates fsync(2).
func (r *regular) sync() int {
	if k := r.k; k.chance(k.Odds.IOError) {
		return -int(unix.EIO)
	}
	return 0
}

// getdents simulates getdents64(2): it reads the entries of a directory from the file's position on, as many as fit.
func (r *regular) getdents(buf []byte) int {
	n, d := r.inode, r.inode.disk
	switch {
	case !n.is(unix.S_IFDIR):
		return -int(unix.ENOTDIR)
	case n.links == 0: // it was removed
		return -int(unix.ENOENT)
	}
	all := append([]dirent{{".", n, 1}, {"..", d.lookup(path.Dir(n.dir)), 2}}, d.list(n.dir)...)
	used := 0
	for _, e := range all {
		if e.cookie <= r.file.offset || r.k.flawed(SkipDirents) {
			continue
		}
		name := path.Base(e.name)
		size := (19 + len(name) + 1 + 7) &^ 7
		if used+size > len(buf) {
			if used == 0 {
				return -int(unix.EINVAL)
			}
			break
		}
		b := buf[used : used+size]
		clear(b)
		binary.NativeEndian.PutUint64(b, e.node.number)
		binary.NativeEndian.PutUint64(b[8:], uint64(e.cookie))
		binary.NativeEndian.PutUint16(b[16:], uint16(size))
		b[18] = byte(e.node.mode & unix.S_IFMT >> 12)
		copy(b[19:], name)
		used += size
		r.file.offset = e.cookie
	}
	return used
}
