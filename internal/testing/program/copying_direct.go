package program

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// sector is what O_DIRECT reads and writes a multiple of.
const sector = 512

// copyByDirect copies past the cache. What is written behind the end to fill a sector is cut off again.
func (w *fileWorker) copyByDirect(t *task.T, _, _ *reactor.File) error {
	return w.open(t, w.copied, os.O_RDONLY|unix.O_DIRECT, func(from *reactor.File) error {
		return w.open(t, w.copied+".copy", os.O_WRONLY|unix.O_DIRECT, func(to *reactor.File) error {
			return w.copyAligned(t, from, to)
		})
	})
}

func (w *fileWorker) copyAligned(t *task.T, from, to *reactor.File) error {
	buf := reactor.AlignedBuffer(sector * (1 + w.k.Rand().IntN(8)))
	if _, err := task.Await(t, from.ReadAt(buf, 1)); !errors.Is(err, unix.EINVAL) && !stopped(err) {
		return fmt.Errorf("a read past the cache of what begins inside a sector: %w", err)
	}
	off := int64(0)
	for n := sector; n%sector == 0; off += int64(n) {
		err := w.insist(t, func() (err error) { n, err = task.Await(t, from.ReadAt(buf, off)); return err })
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		whole := (n + sector - 1) / sector * sector
		err = w.insist(t, func() error {
			done, err := task.Await(t, to.WriteAllAt(buf[:whole], off))
			return w.all(done, whole, err)
		})
		if err != nil {
			return err
		}
	}
	return w.insist(t, func() error { _, err := task.Await(t, to.Truncate(off)); return err })
}
