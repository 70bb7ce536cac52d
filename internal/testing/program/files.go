package program

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Files writes files, copies them in several ways, renames and removes them. Each worker has its own directory. The
// disk must have what a model has. An operation that fails by a fault is retried. Sometimes the workers are stopped
// before the end.
func Files(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	s := &files{k: k, early: rng.IntN(4) == 0}
	loops := make([]*reactor.Loop, 1+rng.IntN(2))
	for i := range loops {
		loops[i] = newLoop(k, 64)
	}
	workers := 1 + rng.IntN(4)
	left := workers
	all := runLoops(k, loops, func(l *reactor.Loop) {
		fixed, err := l.NewFixedBuffers(workers, 300)
		if err != nil {
			k.Errorf("registered buffers: %v", err)
			return
		}
		for i := range workers {
			if loops[i%len(loops)] == l {
				w := &fileWorker{files: s, loop: l, dir: fmt.Sprintf("/worker%d", i), fixed: fixed.Buffer(i)}
				s.workers = append(s.workers, w)
				w.taskRun = launch(k, l, w.run, func(*taskRun) { left-- })
			}
		}
	})
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(all.Up)
		if s.early {
			t.Sleep(time.Duration(rng.Int64N(int64(5 * time.Millisecond))))
			for _, w := range s.workers {
				if rng.IntN(2) == 0 {
					w.taskRun.source.RequestStop()
				}
			}
		}
		if !s.early || rng.IntN(2) == 0 {
			t.Until(func() bool { return left == 0 })
		}
		all.Stop()
	})
	return func() {
		for _, w := range s.workers {
			if w.taskRun.ended != 1 || !s.early && !w.done {
				k.Errorf("the work in %s is not done", w.dir)
			}
		}
		if n := k.DiskUsed(); !s.early && n != 0 {
			k.Errorf("%d bytes are left on the disk", n)
		}
	}
}

type files struct {
	k       *simring.Kernel
	workers []*fileWorker
	early   bool // all may be stopped before the end
}

// all returns err, or ErrStopped if not all was moved because the operation was stopped.
func (s *files) all(moved, wanted int, err error) error {
	switch {
	case err != nil || moved == wanted:
		return err
	case s.early:
		return sender.ErrStopped
	}
	return fmt.Errorf("%d bytes were moved instead of %d", moved, wanted)
}

// fileWorker works in its own directory.
type fileWorker struct {
	*files
	loop    *reactor.Loop
	dir     string
	taskRun *taskRun
	fixed   reactor.FixedBuffer
	model   map[string][]byte // what the files hold, by name
	copied  string            // what is being copied
	done    bool
}

// isFault reports whether an error comes from a fault, and can have no other cause.
func isFault(err error) bool {
	faults := []error{unix.EIO, unix.ENOSPC, unix.EMFILE, unix.ENFILE}
	return slices.ContainsFunc(faults, func(fault error) bool { return errors.Is(err, fault) })
}

// retryFaults repeats f as long as it fails by a fault. A fault changes nothing.
func (w *fileWorker) retryFaults(t *task.T, f func() error) error {
	for {
		err := f()
		if !isFault(err) {
			return err
		}
		if err := task.Yield(t); err != nil {
			return err
		}
	}
}

func (w *fileWorker) run(t *task.T) error {
	cwd := w.loop.Cwd()
	w.model = map[string][]byte{}
	if err := w.retryFaults(t, func() error { _, err := task.Await(t, cwd.Mkdir(w.dir, 0o755)); return err }); err != nil {
		return err
	}
	for i := range 1 + w.k.Rand().IntN(3) {
		name := fmt.Sprintf("%s/file%d", w.dir, i)
		data := make([]byte, w.k.Rand().IntN(1<<w.k.Rand().IntN(13)))
		for i := range data {
			data[i] = byte(w.k.Rand().Uint32())
		}
		w.model[name] = data
		steps := []func(*task.T, string) error{w.write, w.copy, w.closeUnderWay, w.look, w.rename}
		for _, step := range steps {
			if err := step(t, name); err != nil {
				return w.explain(err, name)
			}
		}
	}
	if err := w.list(t); err != nil {
		return w.explain(err, w.dir)
	}
	if err := w.remove(t); err != nil {
		return w.explain(err, w.dir)
	}
	w.done = true
	return nil
}

func (w *fileWorker) explain(err error, name string) error {
	if stopped(err) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// open opens a file, calls f with it, and closes it.
func (w *fileWorker) open(t *task.T, name string, flag int, f func(*reactor.File) error) error {
	file := new(reactor.File)
	err := w.retryFaults(t, func() error {
		_, err := task.Await(t, w.loop.Cwd().OpenFile(file, name, flag, 0o644))
		return err
	})
	if file.Loop() != nil { // it may be open although it was stopped
		defer closeAll(w.k, t, file)
	}
	if err != nil {
		return err
	}
	return f(file)
}

// write writes a file in pieces, in any order.
func (w *fileWorker) write(t *task.T, name string) error {
	return w.open(t, name, os.O_CREATE|os.O_EXCL|os.O_RDWR, func(f *reactor.File) error {
		data := w.model[name]
		piece := 1 + w.k.Rand().IntN(len(data)+1)
		for _, i := range w.k.Rand().Perm((len(data) + piece - 1) / piece) {
			off := i * piece
			err := w.retryFaults(t, func() error {
				n, err := task.Await(t, f.WriteAllAt(data[off:min(off+piece, len(data))], int64(off)))
				return w.all(n, min(piece, len(data)-off), err)
			})
			if err != nil {
				return err
			}
		}
		return w.retryFaults(t, func() error { _, err := task.Await(t, f.Sync()); return err })
	})
}

// copy copies a file to name.copy, in one of many ways.
func (w *fileWorker) copy(t *task.T, name string) error {
	to := name + ".copy"
	w.copied = name
	way := copyWays[w.k.Rand().IntN(len(copyWays))]
	err := w.open(t, name, os.O_RDONLY, func(from *reactor.File) error {
		return w.retryFaults(t, func() error {
			return w.open(t, to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, func(f *reactor.File) error { return way(w, t, from, f) })
		})
	})
	if err == nil {
		w.model[to] = w.model[name]
	}
	return err
}

// look asserts that a file and its copy have the bytes that they should have.
func (w *fileWorker) look(t *task.T, name string) error {
	for _, name := range []string{name, name + ".copy"} {
		err := w.open(t, name, os.O_RDONLY, func(f *reactor.File) error {
			want := w.model[name]
			got := make([]byte, len(want)+1)
			n := 0
			err := w.retryFaults(t, func() (err error) { n, err = task.Await(t, f.ReadFullAt(got, 0)); return err })
			if err == nil && !bytes.Equal(got[:n], want) && !(w.early && bytes.HasPrefix(want, got[:n])) {
				err = fmt.Errorf("%s has the wrong bytes: %d instead of %d", name, n, len(want))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rename renames the copy, and makes links.
func (w *fileWorker) rename(t *task.T, name string) error {
	cwd := w.loop.Cwd()
	moved, linked := name+".moved", name+".linked"
	for _, step := range []sender.Sender[struct{}, reactor.PathOp]{
		cwd.Rename(name+".copy", cwd, moved),
		cwd.Link(moved, cwd, linked),
		cwd.Unlink(moved),
		cwd.Symlink(linked, moved), // which is listed and removed, and not followed
	} {
		if err := w.retryFaults(t, func() error { _, err := task.Await(t, step); return err }); err != nil {
			return err
		}
	}
	w.model[linked], w.model[moved] = w.model[name], []byte(linked)
	delete(w.model, name+".copy")
	err := w.retryFaults(t, func() error {
		st, err := task.Await(t, cwd.Stat(linked))
		if err == nil && st.Size != int64(len(w.model[name])) {
			err = fmt.Errorf("%s is %d bytes long", linked, st.Size)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := task.Await(t, cwd.Stat(name+".copy")); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.New("it is still there")
		}
		return w.retryFaults(t, func() error { return err })
	}
	return nil
}

// list compares the directory with the model.
func (w *fileWorker) list(t *task.T) error {
	return w.open(t, w.dir, os.O_RDONLY|unix.O_DIRECTORY, func(f *reactor.File) error {
		var names []string
		buf := make([]byte, 64+w.k.Rand().IntN(512))
		for {
			var entries reactor.Dirents
			err := w.retryFaults(t, func() (err error) { entries, err = task.Await(t, f.ReadDir(buf)); return err })
			if err != nil {
				return err
			}
			if entries.Len() == 0 {
				break
			}
			for e := range entries.All() {
				names = append(names, w.dir+"/"+string(e.Name))
			}
		}
		want := sorted(w.model)
		if slices.Sort(names); !slices.Equal(names, want) {
			return fmt.Errorf("it has %q, not %q", names, want)
		}
		return nil
	})
}

// remove removes all files and the directory.
func (w *fileWorker) remove(t *task.T) error {
	cwd := w.loop.Cwd()
	for _, name := range sorted(w.model) {
		if err := w.retryFaults(t, func() error { _, err := task.Await(t, cwd.Unlink(name)); return err }); err != nil {
			return err
		}
	}
	return w.retryFaults(t, func() error { _, err := task.Await(t, cwd.RemoveDir(w.dir)); return err })
}

// sorted returns the names of a model, sorted.
func sorted(model map[string][]byte) (names []string) {
	for name := range model {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
