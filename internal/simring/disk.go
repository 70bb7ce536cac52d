package simring

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// disk is a file system: inodes, the directories that name them, and a limit of bytes. Permissions are
// kept and not looked at: whoever runs here is root.
type disk struct {
	k       *Kernel
	root    *inode
	used    int64  // bytes
	count   uint64 // of inodes ever made
	cookies int64  // of directory entries
}

// inode is a file, a directory, a symbolic link, or the name of a unix socket.
type inode struct {
	disk    *disk
	number  uint64
	mode    uint32 // type and permissions
	links   int
	opened  int // open files of it
	data    []byte
	entries []entryName // of a directory, in the order in which they were made
	parent  *inode      // of a directory; nil once it was removed
	target  string      // of a symbolic link
	socket  *local
	changed int64 // when its bytes were
}

type entryName struct {
	name   string
	node   *inode
	cookie int64 // where it stands among all that were ever made
}

// spot is a name in a directory, and what it names; node is nil if it is free. A path that ends in no
// name ("/", "..") has no directory.
type spot struct {
	dir  *inode
	name string
	node *inode
	only bool // it can only name a directory: the path ends in a slash
}

const (
	maxName  = 255
	maxPath  = 4096
	maxLinks = 40 // symbolic links on one path
	sector   = 512
)

func newDisk(k *Kernel) *disk {
	d := &disk{k: k, cookies: 2}
	d.root = d.newInode(unix.S_IFDIR | 0o755)
	d.root.parent, d.root.links = d.root, 2
	return d
}

// DiskUsed is how many bytes are on the disk.
func (k *Kernel) DiskUsed() int64 { return k.disk.used }

func (d *disk) newInode(mode uint32) *inode {
	d.count++
	return &inode{disk: d, number: d.count, mode: mode, changed: d.k.now}
}

func (n *inode) is(kind uint32) bool { return n.mode&unix.S_IFMT == kind }

func (n *inode) lookup(name string) *inode {
	switch name {
	case ".":
		return n
	case "..":
		return n.parent
	}
	if i := n.find(name); i >= 0 {
		return n.entries[i].node
	}
	return nil
}

func (n *inode) find(name string) int {
	return slices.IndexFunc(n.entries, func(e entryName) bool { return e.name == name })
}

// walk follows a path from a directory. The last name is not followed if it is a symbolic link and
// follow says so; whether it is there at all is for the caller.
func (d *disk) walk(from *inode, path string, noFollow bool) (spot, unix.Errno) {
	left := maxLinks
	return d.follow(from, path, noFollow, &left)
}

func (d *disk) follow(at *inode, path string, noFollow bool, left *int) (s spot, errno unix.Errno) {
	switch {
	case path == "":
		return s, unix.ENOENT
	case len(path) >= maxPath:
		return s, unix.ENAMETOOLONG
	case path[0] == '/':
		at = d.root
	}
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	s = spot{node: at, only: strings.HasSuffix(path, "/")}
	for i, name := range names {
		last := i == len(names)-1
		switch {
		case s.node == nil:
			return s, unix.ENOENT
		case !s.node.is(unix.S_IFDIR):
			return s, unix.ENOTDIR
		case len(name) > maxName:
			return s, unix.ENAMETOOLONG
		}
		dir := s.node
		s.dir, s.name, s.node = dir, name, dir.lookup(name)
		if name == "." || name == ".." {
			s.dir = nil
		}
		if s.node == nil || !s.node.is(unix.S_IFLNK) || last && noFollow && !s.only {
			continue
		}
		if *left--; *left < 0 {
			return s, unix.ELOOP
		}
		only := s.only
		if s, errno = d.follow(dir, s.node.target, false, left); errno != 0 {
			return s, errno
		}
		s.only = s.only || only
	}
	if s.only && s.node != nil && !s.node.is(unix.S_IFDIR) {
		return s, unix.ENOTDIR
	}
	return s, 0
}

// free says why a spot cannot be given to something new.
func (s spot) free() unix.Errno {
	switch {
	case s.node != nil:
		return unix.EEXIST
	case s.dir.parent == nil:
		return unix.ENOENT // the directory was removed
	}
	return 0
}

// create makes a new inode at a spot.
func (d *disk) create(s spot, mode uint32) (*inode, unix.Errno) {
	if errno := s.free(); errno != 0 {
		return nil, errno
	}
	if d.k.chance(d.k.Odds.NoSpace) {
		return nil, unix.ENOSPC
	}
	n := d.newInode(mode)
	s.put(n)
	if n.is(unix.S_IFDIR) {
		n.parent = s.dir
		n.links++
		s.dir.links++
	}
	return n, 0
}

// put makes a spot name n.
func (s spot) put(n *inode) {
	n.links++
	s.dir.enter(s.name, n)
}

// enter adds an entry to a directory.
func (n *inode) enter(name string, node *inode) {
	n.disk.cookies++
	n.entries = append(n.entries, entryName{name, node, n.disk.cookies})
}

// drop frees a spot.
func (s spot) drop() {
	i := s.dir.find(s.name)
	s.dir.entries = slices.Delete(s.dir.entries, i, i+1)
	s.node.links--
	if s.node.is(unix.S_IFDIR) {
		s.node.links--
		s.dir.links--
		s.node.parent = nil
	}
	s.node.forget()
}

// forget frees the bytes of an inode that has no name and is not open.
func (n *inode) forget() {
	if n.links <= 0 && n.opened == 0 {
		n.disk.used -= int64(len(n.data))
		n.data = nil
	}
}

// mkdir is mkdirat(2).
func (d *disk) mkdir(from *inode, path string, mode uint32) unix.Errno {
	s, errno := d.walk(from, path, true)
	if errno == 0 {
		_, errno = d.create(s, unix.S_IFDIR|mode&0o7777)
	}
	return errno
}

// symlink is symlinkat(2).
func (d *disk) symlink(target string, from *inode, path string) unix.Errno {
	if target == "" {
		return unix.ENOENT
	}
	s, errno := d.walk(from, path, true)
	switch {
	case errno != 0:
		return errno
	case s.node == nil && s.only:
		return unix.ENOENT
	}
	n, errno := d.create(s, unix.S_IFLNK|0o777)
	if errno == 0 {
		n.target = target
	}
	return errno
}

// link is linkat(2).
func (d *disk) link(from *inode, path string, to *inode, newPath string, flags int) unix.Errno {
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return unix.EINVAL
	}
	old := spot{node: from}
	if path != "" || flags&unix.AT_EMPTY_PATH == 0 {
		var errno unix.Errno
		if old, errno = d.walk(from, path, flags&unix.AT_SYMLINK_FOLLOW == 0); errno != 0 {
			return errno
		}
	}
	s, errno := d.walk(to, newPath, true)
	switch {
	case old.node == nil:
		return unix.ENOENT
	case errno != 0:
		return errno
	case s.node != nil:
		return unix.EEXIST
	case s.only:
		return unix.ENOENT
	case old.node.is(unix.S_IFDIR):
		return unix.EPERM
	case old.node.links == 0:
		return unix.ENOENT
	}
	if errno := s.free(); errno != 0 {
		return errno
	}
	s.put(old.node)
	return 0
}

// unlink is unlinkat(2).
func (d *disk) unlink(from *inode, path string, flags int) unix.Errno {
	if flags&^unix.AT_REMOVEDIR != 0 {
		return unix.EINVAL
	}
	s, errno := d.walk(from, path, true)
	remove := flags&unix.AT_REMOVEDIR != 0
	switch {
	case errno != 0:
		return errno
	case s.dir == nil && !remove:
		return unix.EISDIR
	case s.dir == nil && s.node == d.root:
		return unix.EBUSY
	case s.dir == nil && strings.HasSuffix(strings.TrimRight(path, "/"), ".."):
		return unix.ENOTEMPTY
	case s.dir == nil:
		return unix.EINVAL
	case s.node == nil:
		return unix.ENOENT
	case remove && !s.node.is(unix.S_IFDIR):
		return unix.ENOTDIR
	case remove && len(s.node.entries) != 0:
		return unix.ENOTEMPTY
	case !remove && s.node.is(unix.S_IFDIR):
		return unix.EISDIR
	}
	s.drop()
	return 0
}

// rename is renameat2(2).
func (d *disk) rename(from *inode, path string, to *inode, newPath string, flags int) unix.Errno {
	const exchange = unix.RENAME_EXCHANGE
	if flags&^(unix.RENAME_NOREPLACE|exchange) != 0 || flags == unix.RENAME_NOREPLACE|exchange {
		return unix.EINVAL
	}
	old, errno := d.walk(from, path, true)
	if errno != 0 {
		return errno
	}
	s, errno := d.walk(to, newPath, true)
	switch {
	case errno != 0:
		return errno
	case old.dir == nil || s.dir == nil:
		return unix.EBUSY
	case old.node == nil, s.node == nil && flags == exchange:
		return unix.ENOENT
	case s.node != nil && flags == unix.RENAME_NOREPLACE:
		return unix.EEXIST
	case old.node.within(s.dir):
		return unix.EINVAL
	case s.node == old.node:
		return 0
	case s.only && !old.node.is(unix.S_IFDIR):
		return unix.ENOTDIR
	}
	if flags == exchange {
		return exchangeSpots(old, s)
	}
	if s.node != nil {
		switch isDir := old.node.is(unix.S_IFDIR); {
		case s.node.within(old.dir):
			return unix.ENOTEMPTY
		case isDir && !s.node.is(unix.S_IFDIR):
			return unix.ENOTDIR
		case !isDir && s.node.is(unix.S_IFDIR):
			return unix.EISDIR
		case len(s.node.entries) != 0:
			return unix.ENOTEMPTY
		}
		s.drop()
	} else if errno := s.free(); errno != 0 {
		return errno
	}
	i := old.dir.find(old.name)
	old.dir.entries = slices.Delete(old.dir.entries, i, i+1)
	s.dir.enter(s.name, old.node)
	old.node.move(old.dir, s.dir)
	return 0
}

// exchangeSpots lets two names change places.
func exchangeSpots(a, b spot) unix.Errno {
	if b.node.within(a.dir) {
		return unix.EINVAL
	}
	a.dir.entries[a.dir.find(a.name)].node = b.node
	b.dir.entries[b.dir.find(b.name)].node = a.node
	a.node.move(a.dir, b.dir)
	b.node.move(b.dir, a.dir)
	return 0
}

// within: n is dir or above it.
func (n *inode) within(dir *inode) bool {
	for ; dir != nil; dir = dir.parent {
		if dir == n {
			return true
		}
		if dir.parent == dir {
			break
		}
	}
	return false
}

// move tells a directory that its name is in another one.
func (n *inode) move(from, to *inode) {
	if n.is(unix.S_IFDIR) {
		n.parent = to
		from.links--
		to.links++
	}
}

// stat is what statx(2) tells of an inode.
func (n *inode) stat() unix.Statx_t {
	when := unix.StatxTimestamp{Sec: n.changed / 1e9, Nsec: uint32(n.changed % 1e9)}
	st := unix.Statx_t{
		Mask: unix.STATX_BASIC_STATS, Blksize: 4096, Nlink: uint32(max(n.links, 0)), Mode: uint16(n.mode), Ino: n.number,
		Size: uint64(len(n.data)), Blocks: uint64(len(n.data)+sector-1) / sector, Atime: when, Mtime: when, Ctime: when,
	}
	if n.is(unix.S_IFLNK) {
		st.Size = uint64(len(n.target))
	}
	return st
}
