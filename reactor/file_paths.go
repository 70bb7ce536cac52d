//go:build linux

package reactor

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// Dir is the directory where relative paths start; it has no meaning for absolute ones. It is a value; its methods are
// called on the loop's thread.
//
// Their senders fail with *[fs.PathError] or *[os.LinkError], as the functions of package os do, so that
// errors.Is(err, fs.ErrNotExist) and the like hold. They allocate: paths are not for the hot path.
type Dir struct {
	loop *Loop
	on   *Descriptor // nil for the current directory
}

// Cwd returns the process's current directory.
func (l *Loop) Cwd() Dir { return Dir{loop: l} }

// Dir returns the directory that f is. Its operations count as operations on f.
func (f *File) Dir() Dir { return Dir{loop: f.loop, on: &f.Descriptor} }

func (d Dir) fd() int {
	if d.on == nil {
		return unix.AT_FDCWD
	}
	return int(d.on.fd)
}

// cString is a path as the kernel reads it.
type cString []byte

// set copies s, and reports whether the kernel takes it.
func (c *cString) set(s string) bool {
	*c = append(append((*c)[:0], s...), 0)
	return strings.IndexByte(s, 0) < 0
}

func (c cString) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(c)) }

// startPaths starts an operation on paths, which fails with EINVAL if they are not valid for the kernel.
func (o *op) startPaths(run operation, env sender.Env, valid bool) {
	if valid {
		o.start(run, env)
	} else {
		o.startFailed(run, env, failure(syscall.EINVAL))
	}
}

// completePath completes as complete does, with errors that name the action and the path.
func (o *single[T]) completePath(v T, out outcome, verb, path string) {
	o.release()
	if err := o.errorOf(out); err != nil {
		o.r.SetError(&fs.PathError{Op: verb, Path: path, Err: err})
		return
	}
	o.report(v, out)
}

// PathSender changes names. See [Dir.Rename] and what follows it.
type PathSender struct {
	affine
	verb     string // as package os has it
	op       uring.Op
	dir, to  Dir
	old, new string // the second is that of rename, link and symlink only
	flags    uint32
}

// Rename returns a sender that gives the file of name oldPath in d the name newPath in to. It replaces a file that has
// that name already.
//
// Kernel operation: IORING_OP_RENAMEAT, rename(2).
func (d Dir) Rename(oldPath string, to Dir, newPath string) PathSender {
	return PathSender{verb: "rename", op: uring.OpRenameat, dir: d, to: to, old: oldPath, new: newPath}
}

// Link returns a sender that gives the file of name oldPath in d one more name, newPath in to.
//
// Kernel operation: IORING_OP_LINKAT, link(2).
func (d Dir) Link(oldPath string, to Dir, newPath string) PathSender {
	return PathSender{verb: "link", op: uring.OpLinkat, dir: d, to: to, old: oldPath, new: newPath}
}

// Symlink returns a sender that makes newPath a symbolic link to target, which need not exist.
//
// Kernel operation: IORING_OP_SYMLINKAT, symlink(2).
func (d Dir) Symlink(target, newPath string) PathSender {
	return PathSender{verb: "symlink", op: uring.OpSymlinkat, dir: d, to: d, old: target, new: newPath}
}

// Unlink returns a sender that removes a name of something that is no directory.
//
// Kernel operation: IORING_OP_UNLINKAT, unlink(2).
func (d Dir) Unlink(path string) PathSender {
	return PathSender{verb: "unlink", op: uring.OpUnlinkat, dir: d, to: d, old: path}
}

// RemoveDir returns a sender that removes an empty directory.
//
// Kernel operation: IORING_OP_UNLINKAT with AT_REMOVEDIR, rmdir(2).
func (d Dir) RemoveDir(path string) PathSender {
	return PathSender{verb: "rmdir", op: uring.OpUnlinkat, dir: d, to: d, old: path, flags: unix.AT_REMOVEDIR}
}

// Mkdir returns a sender that makes a directory with the permissions perm, less the process's umask.
//
// Kernel operation: IORING_OP_MKDIRAT, mkdir(2).
func (d Dir) Mkdir(path string, perm fs.FileMode) PathSender {
	return PathSender{verb: "mkdir", op: uring.OpMkdirat, dir: d, to: d, old: path, flags: modeBits(perm)}
}

// modeBits returns the mode of a file to be made, as chmod(2) has it.
func modeBits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		bits |= unix.S_ISUID
	}
	if m&fs.ModeSetgid != 0 {
		bits |= unix.S_ISGID
	}
	if m&fs.ModeSticky != 0 {
		bits |= unix.S_ISVTX
	}
	return bits
}

// Connect implements [sender.Sender].
func (c PathSender) Connect(op *PathOp, r sender.Receiver[struct{}]) sender.Operation {
	op.what = c
	op.about(c.dir.loop, c.dir.on, c.to.on)
	op.policy, op.r = policyFile, r
	return op
}

// PathOp is the operation state of [Dir.Rename], [Dir.Link], [Dir.Symlink], [Dir.Unlink], [Dir.RemoveDir] and
// [Dir.Mkdir].
type PathOp struct {
	single[struct{}]
	what     PathSender
	old, new cString
}

// Start begins. It may be called again after each completion.
func (o *PathOp) Start() {
	env := o.env()
	w := &o.what
	valid := o.old.set(w.old)
	valid = o.new.set(w.new) && valid
	o.fill()
	o.startPaths(o, env, valid)
}

// fill fills the entry.
func (o *PathOp) fill() {
	w, old, path := &o.what, o.old.pointer(), o.new.pointer()
	switch w.op {
	case uring.OpRenameat:
		o.sqe.PrepRenameat(w.dir.fd(), old, w.to.fd(), path, 0)
	case uring.OpLinkat:
		o.sqe.PrepLinkat(w.dir.fd(), old, w.to.fd(), path, 0)
	case uring.OpSymlinkat:
		o.sqe.PrepSymlinkat(old, w.dir.fd(), path)
	case uring.OpUnlinkat:
		o.sqe.PrepUnlinkat(w.dir.fd(), old, w.flags)
	default:
		o.sqe.PrepMkdirat(w.dir.fd(), old, w.flags)
	}
}

func (o *PathOp) onCompletion(out outcome) {
	w := &o.what
	if w.new == "" {
		o.completePath(struct{}{}, out, w.verb, w.old)
		return
	}
	o.release()
	if err := o.errorOf(out); err != nil {
		o.r.SetError(&os.LinkError{Op: w.verb, Old: w.old, New: w.new, Err: err})
		return
	}
	o.report(struct{}{}, out)
}
