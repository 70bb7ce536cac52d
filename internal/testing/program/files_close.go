package program

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// closeUnderWay closes a file under an operation of another task, which waits for bytes or for room. The operation must
// fail with ErrClosed.
func (w *fileWorker) closeUnderWay(t *task.T, name string) error {
	if w.k.Rand().IntN(2) == 0 {
		return w.closePipesUnderWay(t)
	}
	return w.open(t, name, unix.O_RDONLY, func(f *reactor.File) error { return w.closeSocketUnderWay(t, f) })
}

// closePipesUnderWay closes an end of one of two empty pipes.
func (w *fileWorker) closePipesUnderWay(t *task.T) error {
	var p, q reactor.Pipe
	if err := w.retryFaults(t, func() error { return p.Open(w.loop) }); err != nil {
		return err
	}
	if err := w.retryFaults(t, func() error { return q.Open(w.loop) }); err != nil {
		closeAll(w.k, t, &p.Reader, &p.Writer)
		return err
	}
	rng := w.k.Rand()
	move := reactor.Splice(p.Reader.Stream(), q.Writer.Stream(), 1+rng.IntN(100))
	if rng.IntN(2) == 0 {
		move = reactor.Tee(&p.Reader, &q.Writer, 1+rng.IntN(100))
	}
	first, then := &p.Reader, &q.Writer
	if rng.IntN(2) == 0 {
		first, then = then, first
	}
	return w.closeUnder(t, first, func(t *task.T) error {
		_, err := task.Await(t, move)
		return err
	}, then, &p.Writer, &q.Reader)
}

// closeSocketUnderWay closes a socket whose peer does not read, under a SendFile, which may also succeed.
func (w *fileWorker) closeSocketUnderWay(t *task.T, f *reactor.File) error {
	var a, b reactor.Socket
	if err := w.retryFaults(t, func() error { return reactor.OpenPair(w.loop, unix.SOCK_STREAM, &a, &b) }); err != nil {
		return err
	}
	return w.closeUnder(t, &a, func(t *task.T) error {
		_, err := task.Await(t, a.SendFile(f, 0, -1))
		if isFault(err) {
			return nil
		}
		return err
	}, &b)
}

// closeUnder closes c while another task calls move, which must return by that or before. Then it closes the rest.
func (w *fileWorker) closeUnder(t *task.T, c closer, move func(*task.T) error, rest ...closer) error {
	over := false
	launch(w.k, w.loop, func(t *task.T) error {
		if err := move(t); err != nil && !errors.Is(err, fs.ErrClosed) {
			return err
		}
		return nil
	}, func(*taskRun) { over = true })
	var stop error
	if w.k.Rand().IntN(4) != 0 {
		_, stop = task.Await(t, w.loop.SleepFor(time.Duration(1+w.k.Rand().Int64N(int64(time.Millisecond)))))
	}
	closeAll(w.k, t, c)
	for stop == nil && !over {
		stop = task.Yield(t)
	}
	closeAll(w.k, t, rest...)
	return stop
}
