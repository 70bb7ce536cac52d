package program

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// copyWays are the ways to copy a file. Each starts from the beginning if it is called again.
var copyWays = []func(w *fileWorker, t *task.T, from, to *reactor.File) error{
	(*fileWorker).copyByMemory,
	(*fileWorker).copyByVectors,
	(*fileWorker).copyByFixedBuffer,
	(*fileWorker).copyByPipe,
	(*fileWorker).copyBySocket,
	(*fileWorker).copyByTwoPipes,
}

func (w *fileWorker) copyByMemory(t *task.T, from, to *reactor.File) error {
	buf := make([]byte, 1+w.k.Rand().IntN(1024))
	for off := int64(0); ; {
		n := 0
		err := w.retryFaults(t, func() (err error) { n, err = task.Await(t, from.ReadAt(buf, off)); return err })
		if err != nil || n == 0 {
			return err
		}
		err = w.retryFaults(t, func() error {
			done, err := task.Await(t, to.WriteAllAt(buf[:n], off))
			return w.all(done, n, err)
		})
		if err != nil {
			return err
		}
		off += int64(n)
	}
}

// copyByVectors copies with readv and writev of two buffers.
func (w *fileWorker) copyByVectors(t *task.T, from, to *reactor.File) error {
	a, b := make([]byte, 1+w.k.Rand().IntN(512)), make([]byte, 1+w.k.Rand().IntN(512))
	for off := int64(0); ; {
		n := 0
		err := w.retryFaults(t, func() (err error) {
			n, err = task.Await(t, from.ReadvAt([][]byte{a, b}, off))
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		first := min(n, len(a))
		err = w.retryFaults(t, func() error {
			done, err := task.Await(t, to.WritevAt([][]byte{a[:first], b[:n-first]}, off))
			return w.all(done, n, err)
		})
		if err != nil {
			return err
		}
		off += int64(n)
	}
}

// copyByFixedBuffer copies through a registered buffer.
func (w *fileWorker) copyByFixedBuffer(t *task.T, from, to *reactor.File) error {
	for off := int64(0); ; {
		n := 0
		err := w.retryFaults(t, func() (err error) { n, err = task.Await(t, from.ReadFixedAt(w.fixed, off)); return err })
		if err != nil || n == 0 {
			return err
		}
		for done := 0; done < n; {
			moved := 0
			err := w.retryFaults(t, func() (err error) {
				moved, err = task.Await(t, to.WriteFixedAt(w.fixed.Slice(done, n), off+int64(done)))
				return err
			})
			if err != nil {
				return err
			}
			done += moved
		}
		off += int64(n)
	}
}

// copyByPipe copies with splice, through a pipe.
func (w *fileWorker) copyByPipe(t *task.T, from, to *reactor.File) error {
	var p reactor.Pipe
	if err := w.retryFaults(t, func() error { return p.Open(w.loop) }); err != nil {
		return err
	}
	defer closeAll(w.k, t, &p.Reader, &p.Writer)
	for off, out := int64(0), int64(0); ; {
		n := 0
		err := w.retryFaults(t, func() (err error) {
			n, err = task.Await(t, reactor.Splice(from.At(off), p.Writer.Stream(), 1+w.k.Rand().IntN(4096)))
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		for off += int64(n); out < off; {
			err := w.retryFaults(t, func() (err error) {
				n, err = task.Await(t, reactor.Splice(p.Reader.Stream(), to.At(out), int(off-out)))
				return err
			})
			if err != nil {
				return err
			}
			out += int64(n)
		}
	}
}

// copyBySocket lets another task send the file, and writes what it receives. If the send fails, it continues at the
// same offset on another connection.
func (w *fileWorker) copyBySocket(t *task.T, from, to *reactor.File) error {
	var got []byte
	err := w.retryFaults(t, func() error { return w.receive(t, from, &got) })
	for len(got) != 0 && err == nil {
		n := 0
		err = w.retryFaults(t, func() (err error) { n, err = task.Await(t, to.Write(got)); return err })
		got = got[n:]
	}
	return err
}

// receive appends to got what another task sends of the file from that offset.
func (w *fileWorker) receive(t *task.T, from *reactor.File, got *[]byte) error {
	var a, b reactor.Socket
	if err := reactor.OpenPair(w.loop, unix.SOCK_STREAM, &a, &b); err != nil {
		return err
	}
	defer closeAll(w.k, t, &b)
	failed := error(unix.EIO) // so that it is retried if the task does not begin
	launch(w.k, w.loop, func(t *task.T) error {
		defer closeAll(w.k, t, &a)
		_, failed = task.Await(t, a.SendFile(from, int64(len(*got)), -1))
		return nil
	}, func(j *taskRun) {
		if !j.began {
			closeDetached(w.k, &a)
		}
	})
	buf := make([]byte, 1+w.k.Rand().IntN(512))
	for {
		n, err := task.Await(t, b.Recv(buf))
		if err != nil {
			return err
		}
		if n == 0 {
			return failed
		}
		*got = append(*got, buf[:n]...)
	}
}
