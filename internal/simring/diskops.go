package simring

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// diskOperations are those of files on the disk, and of their names. Workers do them, but for reads and
// writes of what is in the cache.
var diskOperations = map[uring.Op]operation{
	uring.OpFsync:     {try: onDisk(func(e *entry, r *regular) int { return r.sync() })},
	uring.OpFallocate: {try: onDisk(func(e *entry, r *regular) int { return r.allocate(e.Len, int64(e.Off), int64(e.Addr)) })},
	uring.OpFtruncate: {try: onDisk(func(e *entry, r *regular) int { return r.truncate(int64(e.Off)) })},
	uring.OpOpenat:    {at: (*entry).open},
	uring.OpStatx:     {at: (*entry).stat},
	uring.OpRenameat:  {at: (*entry).rename},
	uring.OpUnlinkat:  {at: (*entry).unlink},
	uring.OpMkdirat:   {at: (*entry).mkdir},
	uring.OpSymlinkat: {at: (*entry).symlink},
	uring.OpLinkat:    {at: (*entry).link},
}

// onDisk has a worker do something to a file of the disk.
func onDisk(f func(*entry, *regular) int) func(*entry) {
	return func(e *entry) {
		r, ok := e.file.object.(*regular)
		if !ok {
			e.fail(unix.EINVAL)
			return
		}
		e.delegate(func() int { return f(e, r) }, nil)
	}
}

// position is where a transfer with the offset begins.
func (f *file) position(off uint64) int64 {
	if off == uring.FilePosition {
		return f.offset
	}
	return int64(off)
}

// advance moves the file's position behind a transfer, if it began there.
func (f *file) advance(off uint64, n int) {
	if off == uring.FilePosition && n > 0 {
		if f.offset += int64(n); f.flags&unix.O_APPEND != 0 {
			if r, ok := f.object.(*regular); ok {
				f.offset = int64(len(r.inode.data))
			}
		}
	}
}

func (e *entry) readDisk(r *regular) {
	pieces, errno := e.pieces()
	if errno != 0 {
		e.fail(errno)
		return
	}
	if e.Flags&uring.SQEBufferSelect != 0 {
		e.fail(unix.EOPNOTSUPP)
		return
	}
	e.transfer(func() int {
		n := r.pread(pieces, e.file.position(e.Off))
		e.file.advance(e.Off, n)
		return n
	})
}

func (e *entry) writeDisk(r *regular) {
	pieces, errno := e.pieces()
	if errno != 0 {
		e.fail(errno)
		return
	}
	e.transfer(func() int {
		n := r.pwrite(pieces, e.file.position(e.Off))
		e.file.advance(e.Off, n)
		return n
	})
}

// transfer reads or writes at once what is in the cache, and has a worker do it otherwise.
func (e *entry) transfer(work func() int) {
	switch k := e.ring.k; {
	case !k.chance(k.Odds.Cold):
		e.finish(work(), 0)
	default:
		e.delegate(work, nil)
	}
}

// directory is the one that a path is relative to.
func (k *Kernel) directory(fd int, path string) (*inode, unix.Errno) {
	if fd == unix.AT_FDCWD || path != "" && path[0] == '/' {
		return k.disk.root, 0
	}
	f := k.file(fd)
	if f == nil {
		return nil, unix.EBADF
	}
	if r, ok := f.object.(*regular); ok && (r.inode.is(unix.S_IFDIR) || path == "") {
		return r.inode, 0
	}
	return nil, unix.ENOTDIR
}

// onPath has a worker do something to a name in a directory. What the entry points to is read now.
func (e *entry) onPath(fd int32, path string, work func(dir *inode) int) {
	k := e.ring.k
	dir, errno := k.directory(int(fd), path)
	if errno != 0 {
		e.fail(errno)
		return
	}
	e.file = k.file(int(fd)) // a directory is not closed under it, either
	e.enlist()
	e.delegate(func() int { return work(dir) }, nil)
}

func (e *entry) open() {
	k, name, flags := e.ring.k, path(e.Addr), int(e.OpFlags)
	e.onPath(e.Fd, name, func(dir *inode) int {
		if errno := k.room(); errno != 0 {
			return -int(errno)
		}
		f, errno := k.disk.open(dir, name, flags, e.Len)
		if errno == 0 {
			errno = k.install(f)
		}
		if errno != 0 {
			return -int(errno)
		}
		k.log("open %q: %d", name, f.fd)
		return f.fd
	})
}

func (e *entry) stat() {
	k, name, flags := e.ring.k, path(e.Addr), int(e.OpFlags)
	st := *(**unix.Statx_t)(unsafe.Pointer(&e.Off))
	if f := k.file(int(e.Fd)); f != nil && name == "" && flags&unix.AT_EMPTY_PATH != 0 {
		e.file = f
		e.enlist()
		e.delegate(func() int { *st = f.stat(); return 0 }, nil)
		return
	}
	e.onPath(e.Fd, name, func(dir *inode) int {
		n, errno := k.disk.stat(dir, name, flags)
		if errno == 0 {
			*st = n.stat()
		}
		return -int(errno)
	})
}

// stat finds what statx(2) is to tell of.
func (d *disk) stat(dir *inode, name string, flags int) (*inode, unix.Errno) {
	if name == "" && flags&unix.AT_EMPTY_PATH != 0 {
		return dir, 0
	}
	s, errno := d.walk(dir, name, flags&unix.AT_SYMLINK_NOFOLLOW != 0)
	if errno == 0 && s.node == nil {
		errno = unix.ENOENT
	}
	return s.node, errno
}

// stat is what fstat(2) tells of an open file.
func (f *file) stat() unix.Statx_t {
	mode := uint16(0o600)
	switch o := f.object.(type) {
	case *regular:
		return o.inode.stat()
	case *pipeEnd:
		mode |= unix.S_IFIFO
	case socket:
		mode |= unix.S_IFSOCK
	}
	return unix.Statx_t{Mask: unix.STATX_BASIC_STATS, Blksize: 4096, Nlink: 1, Mode: mode}
}

func (e *entry) mkdir() {
	d, name := e.ring.k.disk, path(e.Addr)
	e.onPath(e.Fd, name, func(dir *inode) int { return -int(d.mkdir(dir, name, e.Len)) })
}

func (e *entry) unlink() {
	d, name := e.ring.k.disk, path(e.Addr)
	e.onPath(e.Fd, name, func(dir *inode) int { return -int(d.unlink(dir, name, int(e.OpFlags))) })
}

func (e *entry) symlink() {
	d, target, name := e.ring.k.disk, path(e.Addr), path(e.Off)
	e.onPath(e.Fd, name, func(dir *inode) int { return -int(d.symlink(target, dir, name)) })
}

// onPaths is onPath for two names.
func (e *entry) onPaths(work func(from *inode, name string, to *inode, newName string) int) {
	name, newName := path(e.Addr), path(e.Off)
	to, errno := e.ring.k.directory(int(int32(e.Len)), newName)
	if errno != 0 {
		e.fail(errno)
		return
	}
	e.from = e.ring.k.file(int(int32(e.Len)))
	e.onPath(e.Fd, name, func(from *inode) int { return work(from, name, to, newName) })
}

func (e *entry) rename() {
	e.onPaths(func(from *inode, name string, to *inode, newName string) int {
		return -int(e.ring.k.disk.rename(from, name, to, newName, int(e.OpFlags)))
	})
}

func (e *entry) link() {
	e.onPaths(func(from *inode, name string, to *inode, newName string) int {
		return -int(e.ring.k.disk.link(from, name, to, newName, int(e.OpFlags)))
	})
}
