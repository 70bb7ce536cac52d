package simring

import (
	"path"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// diskOperations are the operations on files of the disk and on paths. Workers do them, except reads and writes of what
// is in the page cache.
var diskOperations = map[uring.Op]operation{
	uring.OpFsync:     {try: onDisk(func(e *entry, r *regular) int { return r.sync() })},
	uring.OpFallocate: {try: onDisk((*entry).allocate)},
	uring.OpFtruncate: {try: onDisk(func(e *entry, r *regular) int { return r.truncate(int64(e.Off)) })},
	uring.OpOpenat:    {at: onPath((*entry).open)},
	uring.OpStatx:     {at: (*entry).stat},
	uring.OpMkdirat:   {at: onPath((*entry).mkdir)},
	uring.OpUnlinkat:  {at: onPath((*entry).unlink)},
	uring.OpSymlinkat: {at: (*entry).symlink},
	uring.OpRenameat:  {at: onPaths((*disk).rename)},
	uring.OpLinkat:    {at: onPaths((*disk).link)},
}

// onDisk returns an operation in which a worker calls f with a file or a directory of the disk. On a pipe, a socket or
// an eventfd it fails with EINVAL, as FSYNC and FTRUNCATE do in the kernel. FALLOCATE fails there in other ways (EBADF,
// ESPIPE, ENODEV), which are not simulated. The tests that use onBoth compare these operations on regular files only.
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

// position returns where a transfer with the offset begins.
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

// transfer reads or writes: immediately if the page cache has the data, on a worker otherwise.
func (e *entry) transfer(work func() int) {
	switch k := e.ring.k; {
	case !k.chance(k.Odds.CacheMiss):
		e.finish(work(), 0)
	default:
		e.delegate(work, nil)
	}
}

// resolve returns the name of a path that begins at a directory.
func (e *entry) resolve(dir int32, p string) (name string, errno unix.Errno) {
	switch {
	case p == "":
		return "", unix.ENOENT
	case path.IsAbs(p) || dir == unix.AT_FDCWD:
		return path.Clean("/" + p), 0
	}
	f := e.ring.k.file(int(dir))
	if f == nil {
		return "", unix.EBADF
	}
	if r, ok := f.object.(*regular); ok && r.inode.is(unix.S_IFDIR) {
		return path.Join(r.inode.dir, p), 0
	}
	return "", unix.ENOTDIR
}

// named lets a worker call work with the name of a path. The memory that the entry points to is read now.
func (e *entry) named(p string, work func(name string) int) {
	name, errno := e.resolve(e.Fd, p)
	if errno != 0 {
		e.fail(errno)
		return
	}
	e.file = e.ring.k.file(int(e.Fd)) // a directory is not closed under it, either
	e.enlist()
	e.delegate(func() int { return work(name) }, nil)
}

// onPath returns an operation on one path.
func onPath(work func(e *entry, name string) int) func(*entry) {
	return func(e *entry) {
		e.named(pathAt(e.Addr), func(name string) int { return work(e, name) })
	}
}

// onPaths returns an operation on two paths.
func onPaths(work func(d *disk, old, name string, flags uint32) unix.Errno) func(*entry) {
	return func(e *entry) {
		name, errno := e.resolve(int32(e.Len), pathAt(e.Off))
		if errno != 0 {
			e.fail(errno)
			return
		}
		e.from = e.ring.k.file(int(int32(e.Len)))
		e.named(pathAt(e.Addr), func(old string) int { return -int(work(e.ring.k.disk, old, name, e.OpFlags)) })
	}
}

func (e *entry) allocate(r *regular) int { return r.allocate(e.Len, int64(e.Off), int64(e.Addr)) }

func (e *entry) mkdir(name string) int { return -int(e.ring.k.disk.mkdir(name, e.Len)) }

func (e *entry) unlink(name string) int { return -int(e.ring.k.disk.unlink(name, e.OpFlags)) }

func (e *entry) symlink() {
	target := pathAt(e.Addr)
	e.named(pathAt(e.Off), func(name string) int { return -int(e.ring.k.disk.symlink(target, name)) })
}

func (e *entry) open(name string) int {
	k := e.ring.k
	if errno := k.room(); errno != 0 {
		return -int(errno)
	}
	f, errno := k.disk.open(name, int(e.OpFlags), e.Len)
	if errno == 0 {
		errno = k.install(f)
	}
	if errno != 0 {
		return -int(errno)
	}
	k.log("open %q: %d", name, f.fd)
	return f.fd
}

// stat simulates statx(2) of a path, or with AT_EMPTY_PATH of the open file.
func (e *entry) stat() {
	k, p := e.ring.k, pathAt(e.Addr)
	st := *(**unix.Statx_t)(unsafe.Pointer(&e.Off))
	if f := k.file(int(e.Fd)); f != nil && p == "" && e.OpFlags&unix.AT_EMPTY_PATH != 0 {
		e.file = f
		e.enlist()
		e.delegate(func() int { *st = f.stat(); return 0 }, nil)
		return
	}
	e.named(p, func(name string) int {
		n := k.disk.lookup(name)
		if n == nil {
			return -int(unix.ENOENT)
		}
		*st = n.stat()
		return 0
	})
}

// stat returns the result of fstat(2).
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
