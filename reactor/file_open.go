//go:build linux

package reactor

import (
	"io/fs"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// OpenSender opens a file. See [Dir.OpenFile].
type OpenSender struct {
	affine
	dir  Dir
	f    *File
	path string
	flag int
	perm fs.FileMode
}

// OpenFile returns a sender that opens path and gives it to f, which is new or closed. It completes with f. flag is as
// for [os.OpenFile] (os.O_RDONLY, os.O_CREATE, unix.O_DIRECT, …), with O_CLOEXEC added; perm are the permissions of a
// file that it makes, less the process's umask.
//
// A file that was opened while the operation was being stopped is delivered, and is in f even if nothing uses the
// value: f is to be closed if it has a loop. Opening a FIFO waits for its other end, on a worker thread that others
// cannot use meanwhile, unless flag has unix.O_NONBLOCK.
//
// Kernel operation: IORING_OP_OPENAT, openat(2).
func (d Dir) OpenFile(f *File, path string, flag int, perm fs.FileMode) OpenSender {
	return OpenSender{dir: d, f: f, path: path, flag: flag, perm: perm}
}

// Connect implements [sender.Sender].
func (c OpenSender) Connect(op *OpenOp, r sender.Receiver[*File]) sender.Operation {
	op.what = c
	op.about(c.dir.loop, c.dir.on, nil)
	op.policy, op.r = policyFile, r
	return op
}

// OpenOp is the operation state of [Dir.OpenFile].
type OpenOp struct {
	single[*File]
	what OpenSender
	path cString
}

// Start begins to open. It may be called again after each completion, once the file is closed.
func (o *OpenOp) Start() {
	env := o.env()
	w := &o.what
	valid := o.path.set(w.path)
	o.sqe.PrepOpenat(w.dir.fd(), o.path.pointer(), uint32(w.flag)|unix.O_CLOEXEC|unix.O_LARGEFILE, modeBits(w.perm))
	o.startPaths(o, env, valid)
}

func (o *OpenOp) onCompletion(out outcome) {
	if out.done() {
		o.what.f.Init(o.loop, int(out.res))
	}
	o.completePath(o.what.f, out, "open", o.what.path)
}
