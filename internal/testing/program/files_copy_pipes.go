package program

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/task"
)

// copyByTwoPipes lets another task copy through one pipe and tee the same bytes to a second one, which it reads until
// EOF.
func (w *fileWorker) copyByTwoPipes(t *task.T, from, to *reactor.File) error {
	var p, q reactor.Pipe
	if err := w.retryFaults(t, func() error { return p.Open(w.loop) }); err != nil {
		return err
	}
	if err := w.retryFaults(t, func() error { return q.Open(w.loop) }); err != nil {
		closeAll(w.k, t, &p.Reader, &p.Writer)
		return err
	}
	defer closeAll(w.k, t, &q.Reader)
	failed := error(unix.EIO) // so that it is retried if the task does not begin
	launch(w.k, w.loop, func(t *task.T) error {
		defer closeAll(w.k, t, &p.Reader, &p.Writer, &q.Writer)
		failed = w.pump(t, from, to, &p, &q)
		return nil
	}, func(j *taskRun) {
		if !j.began {
			closeDetached(w.k, &p.Reader, &p.Writer, &q.Writer)
		}
	})
	var got []byte
	credit := [2]int{1 << 20, reactor.Unlimited}[w.k.Rand().IntN(2)]
	take := func(l reactor.Lease) error {
		got = append(got, l.Bytes()...)
		l.Release()
		return nil
	}
	_, err := task.Await(t, seq.ForEach(q.Reader.ReadMany(credit), take, reactor.Lease.Release))
	switch want := w.model[w.copied]; {
	case err != nil:
		return err
	case failed == nil && !bytes.Equal(got, want):
		return fmt.Errorf("the wrong bytes came through two pipes: %d instead of %d", len(got), len(want))
	}
	return failed
}

// pump copies through the pipe p, and tees the same bytes to q.
func (w *fileWorker) pump(t *task.T, from, to *reactor.File, p, q *reactor.Pipe) error {
	for off := int64(0); ; {
		n := 0
		err := w.retryFaults(t, func() (err error) {
			n, err = task.Await(t, reactor.Splice(from.At(off), p.Writer.Stream(), 1+w.k.Rand().IntN(4096)))
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		for n > 0 {
			both := 0
			err := w.retryFaults(t, func() (err error) {
				both, err = task.Await(t, reactor.Tee(&p.Reader, &q.Writer, n))
				return err
			})
			if err == nil {
				err = w.drain(t, p, to, off, both)
			}
			if err != nil {
				return err
			}
			n, off = n-both, off+int64(both)
		}
	}
}

// drain moves n bytes from a pipe to a file.
func (w *fileWorker) drain(t *task.T, p *reactor.Pipe, to *reactor.File, off int64, n int) error {
	for n > 0 {
		moved := 0
		err := w.retryFaults(t, func() (err error) {
			moved, err = task.Await(t, reactor.Splice(p.Reader.Stream(), to.At(off), n))
			return err
		})
		switch {
		case err != nil:
			return err
		case moved == 0:
			return fmt.Errorf("a pipe ended before %d bytes that another one got had come", n)
		}
		n, off = n-moved, off+int64(moved)
	}
	return nil
}
