//go:build linux

package reactor_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

func (r *running) pipe() *reactor.Pipe {
	r.t.Helper()
	p := new(reactor.Pipe)
	var err error
	r.do(func() { err = p.Open(r.Loop) })
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// begin starts a sender on the loop.
func begin[T, O any, S sender.Sender[T, O]](r *running, s S, op *O, source *stop.Source) result {
	r.t.Helper()
	res := newResult()
	r.do(func() {
		s.Connect(op, sinkOf[T](r.t, res, source)).Start()
	})
	r.settle()
	return res
}

func TestPipe(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		p := r.pipe()
		buf := make([]byte, 100)
		read := begin[int](r, p.Reader.Read(buf), new(reactor.ReadOp), nil)
		read.none(t)
		must[int](r, p.Writer.WriteAll([]byte("hello")), new(reactor.WriteOp))
		read.expect(t, "5")

		source := new(stop.Source)
		read = begin[int](r, p.Reader.Read(buf), new(reactor.ReadOp), source)
		source.RequestStop()
		read.expect(t, "stopped")

		large := make([]byte, 1<<18) // more than there is room for
		write := begin[int](r, p.Writer.WriteAll(large), new(reactor.WriteOp), nil)
		write.none(t)
		got := 0
		for got < len(large) {
			n := must[int](r, p.Reader.Read(make([]byte, 1<<17)), new(reactor.ReadOp))
			if got += n; n == 0 {
				t.Fatal("the pipe is at its end")
			}
		}
		write.expect(t, "262144")

		read = begin[int](r, p.Reader.Read(buf), new(reactor.ReadOp), nil)
		r.closeFiles(&p.Writer)
		read.expect(t, "0")
		r.closeFiles(&p.Reader)

		p = r.pipe()
		read = begin[int](r, p.Reader.Read(buf), new(reactor.ReadOp), nil)
		r.closeFiles(&p.Reader)
		read.expect(t, "error: use of a closed descriptor")
		if o := finish[int](r, p.Writer.Write(buf), new(reactor.WriteOp)); !errors.Is(o.err, syscall.EPIPE) {
			t.Errorf("a write to a pipe without a reader completed with %v", o)
		}
		r.closeFiles(&p.Writer)
	})
}

// A stream is read on and on, by one entry or by many, with all the credit or a little.
func TestReadMany(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, lacks := range map[string]uring.Op{"multishot": uring.Op(255), "single": uring.OpReadMultishot} {
			for _, credit := range []int{1, 3, reactor.Unlimited} {
				t.Run(name, func(t *testing.T) { readMany(t, lacking{newRing(t, kind), lacks}, credit) })
			}
		}
	})
}

func readMany(t *testing.T, ring host.Ring, credit int) {
	cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: 64, Window: 2, Limit: 2}}
	l, err := reactor.NewLoopOn(ring, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := runLoop(t, l)
	p := r.pipe()
	var got []byte
	items := 0
	op, res := new(reactor.ReadManyOp), newResult()
	r.do(func() {
		p.Reader.ReadMany(credit).Connect(op, seqSinkOf(t, res, nil, func(l reactor.Lease) {
			items++
			got = append(got, l.Bytes()...)
			l.Release()
		})).Start()
	})
	text := bytes.Repeat([]byte("0123456789"), 100)
	must[int](r, p.Writer.WriteAll(text), new(reactor.WriteOp))
	r.settle()
	if credit != reactor.Unlimited {
		r.do(func() {
			if items != credit || len(got) != credit*64 {
				t.Errorf("%d items of %d bytes with a credit of %d", items, len(got), credit)
			}
			op.Grant(1000)
		})
	}
	r.closeFiles(&p.Writer)
	res.expect(t, "{}")
	if !bytes.Equal(got, text) {
		t.Errorf("%d bytes were read of %d", len(got), len(text))
	}
	r.closeFiles(&p.Reader)
	r.end()
}

func TestSplice(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		a, b := r.pipe(), r.pipe()
		buf, op := make([]byte, 100), new(reactor.SpliceOp)
		splice := begin[int](r, reactor.Splice(a.Reader.Stream(), b.Writer.Stream(), 3), op, nil)
		splice.none(t)
		must[int](r, a.Writer.WriteAll([]byte("hello")), new(reactor.WriteOp))
		splice.expect(t, "3")
		if n := must[int](r, reactor.Tee(&a.Reader, &b.Writer, 10), op); n != 2 {
			t.Errorf("%d bytes were copied", n)
		}
		if n := must[int](r, b.Reader.Read(buf), new(reactor.ReadOp)); string(buf[:n]) != "hello" {
			t.Errorf("read %q", buf[:n])
		}

		f := r.open(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE)
		if n := must[int](r, reactor.Splice(a.Reader.Stream(), f.At(10), 10), op); n != 2 {
			t.Errorf("%d bytes were moved", n)
		}
		if n := must[int](r, reactor.Splice(f.At(9), b.Writer.Stream(), 10), op); n != 3 {
			t.Errorf("%d bytes were moved", n)
		}
		if n := must[int](r, reactor.Splice(f.Stream(), b.Writer.Stream(), 11), op); n != 11 {
			t.Errorf("%d bytes were moved from the file's position", n)
		}
		n := must[int](r, b.Reader.Read(buf), new(reactor.ReadOp))
		if string(buf[:n]) != "\x00lo\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00l" {
			t.Errorf("read %q", buf[:n])
		}
		if n := must[int](r, reactor.Splice(f.At(12), b.Writer.Stream(), 10), op); n != 0 {
			t.Errorf("%d bytes were moved at the end", n)
		}
		if o := finish[int](r, reactor.Splice(f.At(0), f.At(1), 1), op); !errors.Is(o.err, syscall.EINVAL) {
			t.Errorf("a splice without a pipe completed with %v", o)
		}
		r.closeFiles(f, &a.Reader, &a.Writer, &b.Reader, &b.Writer)
	})
}

// A splice that waits is ended by a stop and by the close of either of its descriptors, and the bytes stay where
// they are.
func TestSpliceEnds(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		for _, full := range []bool{false, true} {
			for _, how := range []string{"stop", "from", "to"} {
				a, b := r.pipe(), r.pipe()
				if full { // so that it waits for room
					must[int](r, a.Writer.WriteAll([]byte("hello")), new(reactor.WriteOp))
					fillPipe(t, b.Writer.Fd())
				}
				source := new(stop.Source)
				splice := begin[int](r, reactor.Splice(a.Reader.Stream(), b.Writer.Stream(), 10), new(reactor.SpliceOp), source)
				splice.none(t)
				want, open := "error: use of a closed descriptor", []*reactor.File{&a.Reader, &a.Writer, &b.Reader, &b.Writer}
				switch how {
				case "stop":
					source.RequestStop()
					want = "stopped"
				case "from":
					r.closeFiles(&a.Reader)
					open = open[1:]
				case "to":
					r.closeFiles(&b.Writer)
					open = open[:3]
				}
				splice.expect(t, want)
				if full && how != "from" {
					if got := string(drainNow(a.Reader.Fd())); got != "hello" {
						t.Errorf("%s: %q is left", how, got)
					}
				}
				r.closeFiles(open...)
			}
		}
	})
}

// What the kernel says of a splice that was at work when it was cancelled is a stop.
func TestSpliceCancelledAtWork(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		source := new(stop.Source)
		var splice uint64
		h.push = func(e *uring.SQE) {
			if e.Opcode == uring.OpSplice {
				splice = e.UserData
				e.PrepNop()
				e.UserData = splice
			}
		}
		h.pop = func(e *uring.CQE) bool {
			if splice != 0 && e.UserData == splice {
				source.RequestStop()
				e.Res = -512 // ERESTARTSYS
			}
			return true
		}
		r := runLoop(t, l)
		defer r.end()
		a, b := r.pipe(), r.pipe()
		must[int](r, a.Writer.WriteAll([]byte("hello")), new(reactor.WriteOp))
		begin[int](r, reactor.Splice(a.Reader.Stream(), b.Writer.Stream(), 10), new(reactor.SpliceOp), source).
			expect(t, "stopped")
		r.closeFiles(&a.Reader, &a.Writer, &b.Reader, &b.Writer)
	})
}

// A splice is refused when either of its descriptors is closing.
func TestSpliceOnClosed(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		a, b := r.pipe(), r.pipe()
		r.closeFiles(&a.Reader, &b.Writer)
		for _, s := range []sender.Sender[int, reactor.SpliceOp]{
			reactor.Splice(a.Reader.Stream(), a.Writer.Stream(), 1),
			reactor.Splice(b.Reader.Stream(), b.Writer.Stream(), 1),
		} {
			if o := finish[int](r, s, new(reactor.SpliceOp)); !errors.Is(o.err, fs.ErrClosed) {
				t.Errorf("completed with %v", o)
			}
		}
		r.closeFiles(&a.Writer, &b.Reader)
	})
}

func fillPipe(t *testing.T, fd int) (total int) {
	t.Helper()
	for buf := make([]byte, 1<<16); ; {
		n, err := unix.Write(fd, buf)
		if err == unix.EAGAIN {
			return total
		} else if err != nil {
			t.Fatal(err)
		}
		total += n
	}
}

func drainNow(fd int) []byte {
	buf := make([]byte, 1<<20)
	n, _ := unix.Read(fd, buf)
	return buf[:max(n, 0)]
}
