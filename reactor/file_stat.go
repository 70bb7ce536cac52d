//go:build linux

package reactor

import (
	"io/fs"
	"time"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// FileStat describes a file. See statx(2).
type FileStat struct {
	Mode    fs.FileMode // type and permissions, as package os has them
	Size    int64       // bytes
	Blocks  int64       // of 512 bytes, that it takes up
	Links   uint32      // how many names it has
	UID     uint32
	GID     uint32
	Inode   uint64
	Device  uint64 // that it is stored on, as unix.Mkdev makes it
	Special uint64 // that it stands for, if it is a device file

	Accessed time.Time
	Modified time.Time
	Changed  time.Time // when any of this was changed last
	Born     time.Time // zero: the file system does not report it

	BlockSize    uint32 // bytes: a good size for a read or a write
	DirectMemory uint32 // what the address of memory must be a multiple of with O_DIRECT; 0 if unknown
	DirectOffset uint32 // the same of offsets and lengths
}

// StatSender asks for a [FileStat]. See [Dir.Stat].
type StatSender struct {
	affine
	verb  string // as package os has it; "": it has no path
	dir   Dir
	path  string
	flags uint32
}

// Stat returns a sender of the description of the file that path leads to.
//
// Kernel operation: IORING_OP_STATX, statx(2).
func (d Dir) Stat(path string) StatSender { return StatSender{verb: "stat", dir: d, path: path} }

// Lstat works as [Dir.Stat], but does not follow path if it is a symbolic link.
func (d Dir) Lstat(path string) StatSender {
	return StatSender{verb: "lstat", dir: d, path: path, flags: unix.AT_SYMLINK_NOFOLLOW}
}

// Stat returns a sender of the description of the file.
func (f *File) Stat() StatSender { return StatSender{dir: f.Dir(), flags: unix.AT_EMPTY_PATH} }

// statMask selects the fields of statx(2).
const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_DIOALIGN

// Connect implements [sender.Sender].
func (c StatSender) Connect(op *StatOp, r sender.Receiver[FileStat]) sender.Operation {
	op.what = c
	op.about(c.dir.loop, c.dir.on, nil)
	op.policy, op.r = policyFile, r
	return op
}

// StatOp is the operation state of [Dir.Stat], [Dir.Lstat] and [File.Stat].
type StatOp struct {
	single[FileStat]
	what StatSender
	path cString
	out  unix.Statx_t
}

// Start asks. It may be called again after each completion.
func (o *StatOp) Start() {
	env := o.env()
	w := &o.what
	valid := o.path.set(w.path)
	o.sqe.PrepStatx(w.dir.fd(), o.path.pointer(), w.flags, statMask, unsafe.Pointer(&o.out))
	o.startPaths(o, env, valid)
}

func (o *StatOp) onCompletion(out outcome) {
	var st FileStat
	if out.done() {
		st = fileStat(&o.out)
	}
	if w := &o.what; w.verb != "" {
		o.completePath(st, out, w.verb, w.path)
	} else {
		o.complete(st, out)
	}
}

func fileStat(x *unix.Statx_t) FileStat {
	s := FileStat{
		Mode:      fileMode(uint32(x.Mode)),
		Size:      int64(x.Size),
		Blocks:    int64(x.Blocks),
		Links:     x.Nlink,
		UID:       x.Uid,
		GID:       x.Gid,
		Inode:     x.Ino,
		Device:    unix.Mkdev(x.Dev_major, x.Dev_minor),
		Special:   unix.Mkdev(x.Rdev_major, x.Rdev_minor),
		Accessed:  fileTime(x.Atime),
		Modified:  fileTime(x.Mtime),
		Changed:   fileTime(x.Ctime),
		BlockSize: x.Blksize,
	}
	if x.Mask&unix.STATX_BTIME != 0 {
		s.Born = fileTime(x.Btime)
	}
	if x.Mask&unix.STATX_DIOALIGN != 0 {
		s.DirectMemory, s.DirectOffset = x.Dio_mem_align, x.Dio_offset_align
	}
	return s
}

func fileTime(t unix.StatxTimestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// fileMode converts a st_mode to the mode of package os. See inode(7).
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m&0o777) | fileType(m&unix.S_IFMT>>12)
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// fileType returns the type of a file whose DT_ number is t: see readdir(3). The upper bits of st_mode are that number
// too.
func fileType(t uint32) fs.FileMode {
	switch t {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_FIFO:
		return fs.ModeNamedPipe
	case unix.DT_SOCK:
		return fs.ModeSocket
	case unix.DT_BLK:
		return fs.ModeDevice
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	}
	return fs.ModeIrregular
}
