//go:build linux

package reactor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// outcome is how an operation completed.
type outcome[T any] struct {
	v       T
	err     error
	stopped bool
}

func (o outcome[T]) String() string {
	return fmt.Sprintf("value %v, error %v, stopped %v", o.v, o.err, o.stopped)
}

// finish plays a sender on the loop to its end.
func finish[T, O any, S sender.Sender[T, O]](r *running, s S, op *O) outcome[T] {
	r.t.Helper()
	done := make(chan outcome[T], 1)
	r.do(func() {
		s.Connect(op, &sink[T]{t: r.t,
			value:   func(v T) { done <- outcome[T]{v: v} },
			failed:  func(err error) { done <- outcome[T]{err: err} },
			stopped: func() { done <- outcome[T]{stopped: true} },
		}).Start()
	})
	return <-done
}

// must is finish for what has to succeed.
func must[T, O any, S sender.Sender[T, O]](r *running, s S, op *O) T {
	r.t.Helper()
	o := finish[T](r, s, op)
	if o.err != nil || o.stopped {
		r.t.Fatalf("completed with %v", o)
	}
	return o.v
}

// open opens a file of the loop, which the test closes.
func (r *running) open(path string, flag int) *reactor.File {
	r.t.Helper()
	return must[*reactor.File](r, r.Cwd().OpenFile(new(reactor.File), path, flag, 0o644), new(reactor.OpenOp))
}

func (r *running) closeFiles(files ...*reactor.File) {
	r.t.Helper()
	for _, f := range files {
		must[struct{}](r, f.Close(), new(reactor.CloseOp))
	}
}

func eachRunning(t *testing.T, f func(t *testing.T, r *running)) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		f(t, r)
		r.end()
	})
}

func TestFileBytes(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		path := filepath.Join(t.TempDir(), "file")
		f := r.open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
		text := []byte("The quick brown fox jumps over the lazy dog.")
		if n := must[int](r, f.WriteAllAt(text, 100), new(reactor.WriteOp)); n != len(text) {
			t.Errorf("%d bytes were written", n)
		}
		must[struct{}](r, f.Sync(), new(reactor.FileOp))
		must[struct{}](r, f.DataSync(), new(reactor.FileOp))
		got := make([]byte, 200)
		if n := must[int](r, f.ReadFullAt(got, 0), new(reactor.ReadOp)); n != 144 || !bytes.Equal(got[100:n], text) {
			t.Errorf("%d bytes were read: %q", n, got)
		}
		if n := must[int](r, f.ReadAt(got, 144), new(reactor.ReadOp)); n != 0 {
			t.Errorf("%d bytes were read at the end", n)
		}
		a, b := make([]byte, 9), make([]byte, 100)
		n := must[int](r, f.ReadvAt([][]byte{a, nil, b}, 100), new(reactor.ReadvOp))
		if n != len(text) || string(a) != "The quick" || string(b[:10]) != " brown fox" {
			t.Errorf("%d bytes were read: %q %q", n, a, b)
		}
		if n := must[int](r, f.WritevAt([][]byte{[]byte("A slow"), []byte(" white")}, 100), new(reactor.WritevOp)); n != 12 {
			t.Errorf("%d bytes were written", n)
		}
		must[int](r, f.Read(got[:100]), new(reactor.ReadOp)) // the position moves
		if n := must[int](r, f.Read(got[:12]), new(reactor.ReadOp)); n != 12 || string(got[:12]) != "A slow white" {
			t.Errorf("%d bytes were read: %q", n, got[:12])
		}
		must[int](r, f.Write([]byte("!")), new(reactor.WriteOp))
		must[struct{}](r, f.Truncate(113), new(reactor.TruncateOp))
		if whole, err := os.ReadFile(path); err != nil || string(whole[100:]) != "A slow white!" {
			t.Errorf("the file is %q, %v", whole, err)
		}
		must[struct{}](r, f.Allocate(0, 0, 8192), new(reactor.FileOp))
		st := must[reactor.FileStat](r, f.Stat(), new(reactor.StatOp))
		if st.Size != 8192 || st.Mode != 0o644 || st.Links != 1 || st.Modified.IsZero() {
			t.Errorf("%+v", st)
		}
		r.closeFiles(f)
		if o := finish[int](r, f.ReadAt(got, 0), new(reactor.ReadOp)); !errors.Is(o.err, fs.ErrClosed) {
			t.Errorf("a read of a closed file completed with %v", o)
		}
	})
}

// What has more bytes than the kernel moves at a time is moved in parts.
func TestFileTransfersGoOn(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		h.push = shorten
		r := runLoop(t, l)
		f := r.open(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE)
		text := []byte("The quick brown fox jumps over the lazy dog.")
		if n := must[int](r, f.WriteAllAt(text, 3), new(reactor.WriteOp)); n != len(text) {
			t.Errorf("%d bytes were written", n)
		}
		if n := must[int](r, f.WriteAt(text, 3), new(reactor.WriteOp)); n != 5 {
			t.Errorf("%d bytes were written by one write", n)
		}
		if n := must[int](r, f.WriteAll(text[:7]), new(reactor.WriteOp)); n != 7 {
			t.Errorf("%d bytes were written", n)
		}
		got := make([]byte, 100)
		if n := must[int](r, f.ReadFullAt(got, 7), new(reactor.ReadOp)); n != 40 || !bytes.Equal(got[:n], text[4:]) {
			t.Errorf("%d bytes were read: %q", n, got)
		}
		pieces := [][]byte{make([]byte, 2), make([]byte, 3), nil, make([]byte, 30), make([]byte, 30)}
		n := must[int](r, f.ReadvAt(pieces, 7), new(reactor.ReadvOp))
		if n != 40 || !bytes.Equal(slices.Concat(pieces...)[:n], text[4:]) {
			t.Errorf("%d bytes were read: %q", n, pieces)
		}
		if n := must[int](r, f.WritevAt([][]byte{[]byte("A "), []byte("slow white")}, 3), new(reactor.WritevOp)); n != 12 {
			t.Errorf("%d bytes were written", n)
		}
		must[int](r, f.ReadFullAt(got[:12], 3), new(reactor.ReadOp))
		if string(got[:12]) != "A slow white" {
			t.Errorf("the file is %q", got[:12])
		}
		r.closeFiles(f)
		r.end()
	})
}

// shorten makes the ring move a few bytes at a time.
func shorten(sqe *uring.SQE) {
	switch sqe.Opcode {
	case uring.OpRead, uring.OpWrite:
		sqe.Len = min(sqe.Len, 5)
	case uring.OpReadv, uring.OpWritev:
		sqe.Len = min(sqe.Len, 1)
	}
}

func TestFileErrors(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		dir := t.TempDir()
		o := finish[*reactor.File](r, r.Cwd().OpenFile(new(reactor.File), dir+"/none", os.O_RDONLY, 0), new(reactor.OpenOp))
		var perr *fs.PathError
		if !errors.Is(o.err, fs.ErrNotExist) || !errors.As(o.err, &perr) || perr.Path != dir+"/none" || perr.Op != "open" {
			t.Errorf("opening what is not there completed with %v", o)
		}
		o = finish[*reactor.File](r, r.Cwd().OpenFile(new(reactor.File), "a\x00b", os.O_RDONLY, 0), new(reactor.OpenOp))
		if !errors.Is(o.err, syscall.EINVAL) {
			t.Errorf("a path with a zero completed with %v", o)
		}
		f := r.open(dir, os.O_RDONLY)
		if o := finish[int](r, f.ReadAt(make([]byte, 8), 0), new(reactor.ReadOp)); !errors.Is(o.err, syscall.EISDIR) {
			t.Errorf("reading a directory completed with %v", o)
		}
		if o := finish[struct{}](r, f.Truncate(1), new(reactor.TruncateOp)); !errors.Is(o.err, syscall.EINVAL) {
			t.Errorf("truncating a directory completed with %v", o)
		}
		r.closeFiles(f)
	})
}

func TestFixedBuffers(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		var buffers *reactor.FixedBuffers
		var err error
		r.do(func() { buffers, err = r.NewFixedBuffers(3, 4096) })
		if err != nil {
			t.Fatal(err)
		}
		f := r.open(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE)
		a, b := buffers.Buffer(0), buffers.Buffer(2)
		copy(a.Bytes(), "fixed")
		if n := must[int](r, f.WriteFixedAt(a.Slice(0, 5), 7), new(reactor.WriteOp)); n != 5 {
			t.Errorf("%d bytes were written", n)
		}
		if n := must[int](r, f.ReadFixedAt(b, 0), new(reactor.ReadOp)); n != 12 || string(b.Bytes()[7:12]) != "fixed" {
			t.Errorf("%d bytes were read: %q", n, b.Bytes()[:n])
		}
		r.do(func() { _, err = r.NewFixedBuffers(1, 1) })
		if !errors.Is(err, syscall.EBUSY) {
			t.Errorf("fixed buffers for the second time: %v", err)
		}
		if buffers.Len() != 3 {
			t.Errorf("there are %d", buffers.Len())
		}
		r.closeFiles(f)
	})
}

func TestAlignedBuffer(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 10000} {
		b := reactor.AlignedBuffer(n)
		if len(b) != n || cap(b) != n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%reactor.DirectAlign != 0 {
			t.Errorf("%d bytes: len %d, cap %d at %p", n, len(b), cap(b), b)
		}
	}
}

func TestDirectIO(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		path := filepath.Join(t.TempDir(), "file")
		open := r.Cwd().OpenFile(new(reactor.File), path, os.O_RDWR|os.O_CREATE|unix.O_DIRECT, 0o600)
		o := finish[*reactor.File](r, open, new(reactor.OpenOp))
		if errors.Is(o.err, syscall.EINVAL) {
			t.Skip("this file system has no O_DIRECT")
		}
		if o.err != nil {
			t.Fatal(o.err)
		}
		f := o.v
		out, in := reactor.AlignedBuffer(8192), reactor.AlignedBuffer(8192)
		for i := range out {
			out[i] = byte(i * 7)
		}
		must[int](r, f.WriteAllAt(out, 4096), new(reactor.WriteOp))
		if n := must[int](r, f.ReadFullAt(in, 4096), new(reactor.ReadOp)); n != 8192 || !bytes.Equal(in, out) {
			t.Errorf("%d bytes were read", n)
		}
		r.closeFiles(f)
	})
}

// TestTruncateWithoutOpcode does it on another thread.
func TestTruncateWithoutOpcode(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoopOn(lacking{newRing(t, kind), uring.OpFtruncate}, nil, reactor.LoopConfig{})
		if err != nil {
			t.Fatal(err)
		}
		r := runLoop(t, l)
		path := filepath.Join(t.TempDir(), "file")
		f := r.open(path, os.O_RDWR|os.O_CREATE)
		must[struct{}](r, f.Truncate(77), new(reactor.TruncateOp))
		if st, err := os.Stat(path); err != nil || st.Size() != 77 {
			t.Errorf("%v, %v", st, err)
		}
		if o := finish[struct{}](r, f.Truncate(-1), new(reactor.TruncateOp)); !errors.Is(o.err, syscall.EINVAL) {
			t.Errorf("a negative length completed with %v", o)
		}
		r.closeFiles(f)
		if o := finish[struct{}](r, f.Truncate(1), new(reactor.TruncateOp)); !errors.Is(o.err, fs.ErrClosed) {
			t.Errorf("truncating a closed file completed with %v", o)
		}
		r.end()
	})
}

// A negative offset is none. Least of all is it the file's position, as the ring's -1 is.
func TestNegativeOffset(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
			t.Fatal(err)
		}
		f := r.open(path, os.O_RDWR)
		buf := make([]byte, 4)
		a, b := r.openPair(unix.SOCK_STREAM)
		p := r.pipe()
		for _, off := range []int64{-1, -2, math.MinInt64} {
			for what, o := range map[string]outcome[int]{
				"read":   finish[int](r, f.ReadAt(buf, off), new(reactor.ReadOp)),
				"write":  finish[int](r, f.WriteAt(buf, off), new(reactor.WriteOp)),
				"readv":  finish[int](r, f.ReadvAt([][]byte{buf}, off), new(reactor.ReadvOp)),
				"writev": finish[int](r, f.WritevAt([][]byte{buf}, off), new(reactor.WritevOp)),
				"splice": finish[int](r, reactor.Splice(f.At(off), p.Writer.Stream(), 4), new(reactor.SpliceOp)),
				"send file": func() outcome[int] {
					o := finish[int64](r, a.SendFile(f, off, 4), new(reactor.SendFileOp))
					return outcome[int]{int(o.v), o.err, o.stopped}
				}(),
			} {
				if !errors.Is(o.err, syscall.EINVAL) {
					t.Errorf("%s at %d: %v", what, off, o)
				}
			}
		}
		if pos, err := unix.Seek(f.Fd(), 0, io.SeekCurrent); pos != 0 || err != nil {
			t.Errorf("the position is %d, %v", pos, err)
		}
		r.closeFiles(f, &p.Reader, &p.Writer)
		r.close(a, b)
		r.end()
	})
}
