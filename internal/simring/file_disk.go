package simring

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// disk is a store of files by their names. A name is an absolute path without "." and "..". Symbolic links can be
// made and are never followed, directories cannot be renamed, and permissions are kept and not checked.
type disk struct {
	k       *Kernel
	entries []dirent // in the order in which they were made
	used    int64    // bytes
	count   uint64   // inodes ever made
	cookies int64    // entries ever made
}

// dirent is a name of an inode. The cookie is its position in a listing of its directory.
type dirent struct {
	name   string
	node   *inode
	cookie int64
}

// inode is a file, a directory, a symbolic link, or the name of a unix socket.
type inode struct {
	disk    *disk
	number  uint64
	mode    uint32 // type and permissions
	links   int    // names
	opened  int    // open files of it
	data    []byte
	dir     string // the name of a directory
	socket  *unixSocket
	changed int64 // when its bytes were
}

func newDisk(k *Kernel) *disk {
	d := &disk{k: k, cookies: 2} // "." and ".." have the first two
	d.enter("/", d.newInode(unix.S_IFDIR|0o755))
	return d
}

// DiskUsed returns how many bytes are on the disk.
func (k *Kernel) DiskUsed() int64 { return k.disk.used }

func (d *disk) newInode(mode uint32) *inode {
	d.count++
	return &inode{disk: d, number: d.count, mode: mode, changed: d.k.now}
}

func (n *inode) is(kind uint32) bool { return n.mode&unix.S_IFMT == kind }

// enter gives an inode a name.
func (d *disk) enter(name string, n *inode) {
	d.cookies++
	d.entries = append(d.entries, dirent{name, n, d.cookies})
	if n.links++; n.is(unix.S_IFDIR) {
		n.dir = name
	}
}

// leave takes a name away.
func (d *disk) leave(name string) {
	i := d.find(name)
	n := d.entries[i].node
	d.entries = slices.Delete(d.entries, i, i+1)
	n.links--
	n.free()
}

// free frees the bytes of an inode that has no name and is not open.
func (n *inode) free() {
	if n.links == 0 && n.opened == 0 {
		n.disk.used -= int64(len(n.data))
		n.data = nil
	}
}

func (d *disk) find(name string) int {
	return slices.IndexFunc(d.entries, func(e dirent) bool { return e.name == name })
}

// lookup returns the inode with a name, or nil.
func (d *disk) lookup(name string) *inode {
	if i := d.find(name); i >= 0 {
		return d.entries[i].node
	}
	return nil
}

// list returns the entries of a directory.
func (d *disk) list(dir string) (entries []dirent) {
	for _, e := range d.entries {
		if path.Dir(e.name) == dir && e.name != "/" {
			entries = append(entries, e)
		}
	}
	return entries
}

// vacant returns why a name cannot be given to a new inode; 0 if it can.
func (d *disk) vacant(name string) unix.Errno {
	switch dir := d.lookup(path.Dir(name)); {
	case dir == nil:
		return unix.ENOENT
	case !dir.is(unix.S_IFDIR):
		return unix.ENOTDIR
	case d.lookup(name) != nil:
		return unix.EEXIST
	}
	return 0
}

// create makes an inode.
func (d *disk) create(name string, mode uint32) (*inode, unix.Errno) {
	if errno := d.vacant(name); errno != 0 {
		return nil, errno
	}
	if d.k.chance(d.k.Odds.NoSpace) {
		return nil, unix.ENOSPC
	}
	n := d.newInode(mode)
	d.enter(name, n)
	return n, 0
}

// mkdir simulates mkdirat(2).
func (d *disk) mkdir(name string, mode uint32) unix.Errno {
	_, errno := d.create(name, unix.S_IFDIR|mode&0o7777)
	return errno
}

// symlink simulates symlinkat(2).
func (d *disk) symlink(target, name string) unix.Errno {
	n, errno := d.create(name, unix.S_IFLNK|0o777)
	if errno == 0 && !n.write([]byte(target), 0) {
		d.leave(name)
		errno = unix.ENOSPC
	}
	return errno
}

// link simulates linkat(2).
func (d *disk) link(old, name string, _ uint32) unix.Errno {
	n := d.lookup(old)
	switch errno := d.vacant(name); {
	case n == nil:
		return unix.ENOENT
	case errno != 0:
		return errno
	case n.is(unix.S_IFDIR):
		return unix.EPERM
	}
	d.enter(name, n)
	return 0
}

// unlink simulates unlinkat(2).
func (d *disk) unlink(name string, flags uint32) unix.Errno {
	remove := flags&unix.AT_REMOVEDIR != 0
	switch n := d.lookup(name); {
	case n == nil:
		return unix.ENOENT
	case name == "/":
		return unix.EBUSY
	case remove && !n.is(unix.S_IFDIR):
		return unix.ENOTDIR
	case remove && len(d.list(name)) != 0:
		return unix.ENOTEMPTY
	case !remove && n.is(unix.S_IFDIR):
		return unix.EISDIR
	}
	d.leave(name)
	return 0
}

// rename simulates renameat2(2) without flags, except of directories.
func (d *disk) rename(old, name string, flags uint32) unix.Errno {
	n, replaced := d.lookup(old), d.lookup(name)
	switch errno := d.vacant(name); {
	case flags != 0:
		return unix.EINVAL
	case n == nil:
		return unix.ENOENT
	case errno != 0 && errno != unix.EEXIST:
		return errno
	case n.is(unix.S_IFDIR):
		return unix.EOPNOTSUPP
	case replaced == n:
		return 0
	case replaced != nil && replaced.is(unix.S_IFDIR):
		return unix.EISDIR
	case replaced != nil:
		d.leave(name)
	}
	d.enter(name, n)
	d.leave(old)
	return 0
}

// stat returns the result of statx(2).
func (n *inode) stat() unix.Statx_t {
	when := unix.StatxTimestamp{Sec: n.changed / 1e9, Nsec: uint32(n.changed % 1e9)}
	return unix.Statx_t{
		Mask: unix.STATX_BASIC_STATS, Blksize: 4096, Nlink: uint32(n.links), Mode: uint16(n.mode), Ino: n.number,
		Size: uint64(len(n.data)), Blocks: uint64(len(n.data)+511) / 512, Atime: when, Mtime: when, Ctime: when,
	}
}

// resize makes the file size bytes long. False: the disk has no room for as many.
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

// write writes bytes at an offset, and makes the file as long as that takes. False: there is no room.
func (n *inode) write(b []byte, off int) bool {
	if end := off + len(b); end > len(n.data) && !n.resize(end) {
		return false
	}
	copy(n.data[off:], b)
	n.changed = n.disk.k.now
	return true
}
