//go:build linux

package epoll

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/uring"
)

var (
	fileEntries = flag.Int("files.entries", 20_000, "how many entries TestFilesAtRandom runs")
	fileSeed    = flag.Uint64("files.seed", 1, "what TestFilesAtRandom draws them from")
)

// FuzzFiles runs random programs of entries on files, paths, pipes and processes, on the kernel's ring and on this
// package's. Both must make the same completions, write the same memory, and leave the same files.
//
// A program is a sequence of steps, six bytes each: the operation, its descriptor, three arguments, and a fault of the
// entry. It runs in two worlds that differ in the ring only, each with its own directory in memory. After each step the
// two run until they agree. While an entry waits, on a pipe for example, entries that would race with it on its
// descriptors are left out.
func FuzzFiles(f *testing.F) {
	d := newFileDuel(f)
	for op := range byte(fileOps) {
		for fd := range byte(fileFds) {
			f.Add([]byte{op, fd, 3, 0, 1, 15, op, fd, 5, 1, 2, 15, op, fd, 3, 0, 0, 1})
		}
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 64*stepLen {
			return
		}
		if err := d.run(program); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFilesAtRandom is FuzzFiles on programs drawn from a seed.
func TestFilesAtRandom(t *testing.T) {
	d := newFileDuel(t)
	random := rand.New(rand.NewPCG(*fileSeed, 0))
	program := make([]byte, 48*stepLen)
	most := *fileEntries
	if testing.Short() {
		most /= 10
	}
	for d.entries < most {
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		if err := d.run(program); err != nil {
			t.Fatalf("program %x: %v", program, err)
		}
	}
	t.Logf("%d entries on each ring; by operation:", d.entries)
	for op, n := range d.count {
		t.Logf("%16s %8d", fileOpNames[op], n)
	}
}

// fileDuel has the two worlds, on a separate thread, for many programs.
type fileDuel struct {
	programs chan []byte
	verdicts chan error
	entries  int // that were run on each ring
	count    [fileOps]int
}

func newFileDuel(t testing.TB) *fileDuel {
	_, err := uring.Probe()
	testenv.NeedIOUring(t, err)
	d := &fileDuel{programs: make(chan []byte), verdicts: make(chan error)}
	go d.work()
	t.Cleanup(func() {
		close(d.programs)
		if err := <-d.verdicts; err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *fileDuel) run(program []byte) error {
	d.programs <- program
	return <-d.verdicts
}

// work runs programs. After a finding it continues with new rings.
func (d *fileDuel) work() {
	runtime.LockOSThread()
	var worlds *[2]*fileWorld
	for program := range d.programs {
		var err error
		if worlds == nil {
			worlds, err = d.open()
		}
		if err == nil {
			err = guarded(func() { d.play(worlds, program) })
		}
		if err != nil && worlds != nil {
			for _, w := range worlds {
				_ = os.RemoveAll(w.dir)
				_ = w.child.Process.Kill()
				_ = w.child.Wait()
			}
			worlds = nil // and leak the rings: they may be stuck
		}
		d.verdicts <- err
	}
	d.verdicts <- guarded(func() {
		if worlds != nil {
			worlds[0].close()
			worlds[1].close()
		}
	})
}

func (d *fileDuel) open() (*[2]*fileWorld, error) {
	var worlds [2]*fileWorld
	err := guarded(func() {
		tb := &panicker{}
		worlds[0] = newFileWorld(tb, newEpoll(tb, Config{Entries: 4, BatchBytes: 100, Workers: 2}))
		worlds[1] = newFileWorld(tb, newKernel(tb))
	})
	if err != nil {
		return nil, err
	}
	return &worlds, nil
}

// panicker is a testing.TB for a goroutine that does not belong to a test: it panics with the finding.
type panicker struct {
	testing.TB
	cleanups []func()
}

func (p *panicker) Helper()                   {}
func (p *panicker) Cleanup(f func())          { p.cleanups = append(p.cleanups, f) }
func (p *panicker) Fatal(args ...any)         { panic(finding(fmt.Sprint(args...))) }
func (p *panicker) Fatalf(s string, a ...any) { panic(finding(fmt.Sprintf(s, a...))) }
func (p *panicker) Error(args ...any)         { p.Fatal(args...) }
func (p *panicker) Skipf(s string, a ...any)  { p.Fatalf(s, a...) }

type finding string

// guarded runs f and returns the finding that it panics with.
func guarded(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case finding:
			err = errors.New(string(p))
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// play runs one program in both worlds.
func (d *fileDuel) play(worlds *[2]*fileWorld, program []byte) {
	a, b := worlds[0], worlds[1]
	a.begin()
	b.begin()
	for ; len(program) >= stepLen; program = program[stepLen:] {
		s := decode(program)
		if !a.allowed(s) {
			continue
		}
		d.count[s.op]++
		d.entries++
		a.step(s)
		b.step(s)
		d.settle(a, b)
	}
	for ud := range a.next {
		if p := a.pending[ud]; p != nil && !p.done {
			d.entries++
			a.cancel(ud)
			b.cancel(ud)
			d.settle(a, b)
		}
	}
	if x, y := a.tree(), b.tree(); x != y {
		a.Fatalf("the files differ:\n%s\n%s\nafter %s", x, y, a.history(b))
	}
	a.end()
	b.end()
}

// settle runs both worlds until they agree and nothing further completes. An entry that has completed on this package's
// ring must complete on the kernel's. That an entry has not completed on this package's ring is known when its pool is
// idle.
func (d *fileDuel) settle(a, b *fileWorld) {
	a.pumpUntilIdle()
	b.pump(0)
	for deadline := time.Now().Add(patience); a.completed != b.completed; b.pump(time.Second) {
		if b.completed > a.completed || time.Now().After(deadline) {
			d.report(a, b)
		}
	}
	for _, ud := range append(a.fresh, b.fresh...) {
		x, y := a.pending[ud], b.pending[ud]
		if x.done != y.done || !slices.EqualFunc(x.log, y.log, fileOutcome.equal) {
			d.report(a, b)
		}
	}
	a.fresh, b.fresh = a.fresh[:0], b.fresh[:0]
}

func (d *fileDuel) report(a, b *fileWorld) { a.Fatalf("the rings disagree\n%s", a.history(b)) }

// history lists the steps taken, and what the worlds disagree about.
func (w *fileWorld) history(other *fileWorld) string {
	var text strings.Builder
	for ud := range w.next {
		if p, q := w.pending[ud], other.pending[ud]; p != nil {
			fmt.Fprintf(&text, "%3d: %v\n", ud, p.step)
			if p.done != q.done || !slices.EqualFunc(p.log, q.log, fileOutcome.equal) {
				fmt.Fprintf(&text, "     epoll %v\n     uring %v\n", p.log, q.log)
			}
		}
	}
	return text.String()
}
