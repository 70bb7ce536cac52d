// Command cp copies a file on the reactor, and prints its progress. Several tasks on one loop each read a block and
// write it, so that the storage is always busy.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/task"
)

func main() {
	ring := flag.String("ring", "auto", "auto, io_uring or epoll")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: cp [-ring kind] from to")
	}
	l, err := reactor.NewLoop(reactor.LoopConfig{Ring: reactor.RingKind(*ring)})
	if err != nil {
		log.Fatal(err)
	}
	c := &copying{loop: l, from: flag.Arg(0), to: flag.Arg(1)}
	var failure error
	err = l.Run(func() {
		l.Spawn(task.New(func(t *task.T) error {
			defer l.Stop()
			_, failure = task.Await(t, task.New(c.run))
			return nil
		}))
		l.Spawn(task.New(c.progress))
		l.Spawn(task.New(func(t *task.T) error {
			_, err := task.Await(t, seq.ForEach(l.Signals(1, os.Interrupt), func(os.Signal) error {
				l.Stop()
				return nil
			}, nil))
			return err
		}))
	})
	if err := errors.Join(err, failure); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes copied\n", c.done)
}

// copying is a copy in progress. Only its loop's thread accesses it.
type copying struct {
	loop     *reactor.Loop
	from, to string
	in, out  reactor.File
	size     int64
	next     int64 // offset of the next block
	done     int64 // bytes copied
}

const (
	pieces    = 8       // copied at a time
	pieceSize = 1 << 18 // bytes
)

// run copies the file. Whatever happens, what it has opened it closes.
func (c *copying) run(t *task.T) (err error) {
	cwd := c.loop.Cwd()
	if _, err := task.Await(t, cwd.OpenFile(&c.in, c.from, os.O_RDONLY, 0)); err != nil {
		return err
	}
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.in.Close()) })
	st, err := task.Await(t, c.in.Stat())
	if err != nil {
		return err
	}
	create := cwd.OpenFile(&c.out, c.to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, st.Mode.Perm())
	if _, err := task.Await(t, create); err != nil {
		return err
	}
	defer task.Unstoppable(t, func() {
		if _, e := task.Await(t, c.out.Close()); err == nil {
			err = e
		}
	})
	c.size = st.Size
	lanes := make([]task.Sender, pieces)
	for i := range lanes {
		lanes[i] = task.New(c.lane)
	}
	_, err = task.Await(t, sender.WhenAllSlice(lanes, 0))
	return err
}

// lane copies piece after piece until none is left.
func (c *copying) lane(t *task.T) error {
	buf := make([]byte, pieceSize)
	for c.next < c.size {
		off := c.next
		c.next += pieceSize
		n, err := task.Await(t, c.in.ReadFullAt(buf, off))
		if err != nil {
			return err
		}
		if n, err = task.Await(t, c.out.WriteAllAt(buf[:n], off)); err != nil {
			return err
		}
		c.done += int64(n)
	}
	return nil
}

// progress tells twice a second, until it is stopped.
func (c *copying) progress(t *task.T) error {
	for {
		if _, err := task.Await(t, c.loop.SleepFor(time.Second/2)); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%d of %d bytes\n", c.done, c.size)
	}
}
