//go:build linux

package reactor

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"iter"

	"github.com/reactord/reactord/sender"
)

// ReadDirSender reads a directory. See [File.ReadDir].
type ReadDirSender struct {
	affine
	f   *File
	buf []byte
}

// ReadDir returns a sender that reads the next entries of the directory that the file is: as many as have room in buf,
// which belongs to the operation from Start until it completes, and to the entries thereafter. Entries of Len 0 are the
// end of the directory. It fails with EINVAL if buf has no room for the next one; 4 KiB is enough for any, 64 KiB is a
// good size.
//
// io_uring has no opcode for it: it calls getdents64(2) as [Offload] does.
func (f *File) ReadDir(buf []byte) ReadDirSender { return ReadDirSender{f: f, buf: buf} }

// Connect implements [sender.Sender].
func (c ReadDirSender) Connect(op *ReadDirOp, r sender.Receiver[Dirents]) sender.Operation {
	op.buf = c.buf
	op.loop, op.on, op.r = c.f.loop, &c.f.Descriptor, r
	if op.job.do == nil {
		op.job.do = op.call
	}
	op.job.connect(&op.op)
	return op
}

// ReadDirOp is the operation state of [File.ReadDir].
type ReadDirOp struct {
	single[Dirents]
	job job
	buf []byte
	fd  int
	n   int
	err error
}

// Start begins to read. It may be called again after each completion.
func (o *ReadDirOp) Start() {
	env := o.env()
	o.fd = int(o.on.fd)
	o.job.start(o, env)
}

// call runs on a worker thread. The file stays open meanwhile, because the operation is in flight on it.
func (o *ReadDirOp) call() { o.n, o.err = o.loop.sys.Getdents(o.fd, o.buf) }

func (o *ReadDirOp) onCompletion(out outcome) {
	var entries Dirents
	if out.done() {
		if out = o.outcomeOfJob(o.err); out.done() {
			entries.raw = o.buf[:o.n]
		}
	}
	o.job.end()
	o.complete(entries, out)
}

// Dirents are some of the entries of a directory, in the order in which the file system has them. They are in the
// buffer that they were read into.
type Dirents struct{ raw []byte }

// Dirent is an entry of a directory.
type Dirent struct {
	Name  []byte      // in the buffer
	Type  fs.FileMode // the type bits; fs.ModeIrregular if the file system does not report it
	Inode uint64
}

// Len returns how many bytes of the buffer the entries take up; 0 is the end of the directory.
func (d Dirents) Len() int { return len(d.raw) }

// Offsets within struct linux_dirent64: see getdents64(2).
const (
	direntReclen = 16
	direntType   = 18
	direntName   = 19
)

// All iterates over the entries, except "." and "..".
func (d Dirents) All() iter.Seq[Dirent] {
	return func(yield func(Dirent) bool) {
		for rest := d.raw; len(rest) > direntName; {
			n := int(binary.NativeEndian.Uint16(rest[direntReclen:]))
			if n <= direntName || n > len(rest) {
				return
			}
			e := rest[:n]
			rest = rest[n:]
			name := e[direntName:]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if string(name) == "." || string(name) == ".." {
				continue
			}
			if !yield(Dirent{Name: name, Type: fileType(uint32(e[direntType])), Inode: binary.NativeEndian.Uint64(e)}) {
				return
			}
		}
	}
}
