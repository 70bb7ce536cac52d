package program

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// read reads from a pipe to which another task writes, with deadlines: a read that fails by its deadline must not take
// bytes.
func (s *timers) read(t *task.T) error {
	rng := s.k.Rand()
	var p reactor.Pipe
	for p.Open(s.loop) != nil { // until there are descriptors
		if err := task.Yield(t); err != nil {
			return err
		}
	}
	defer closeAll(s.k, t, &p.Reader)
	total := rng.IntN(50)
	s.left++
	launch(s.k, s.loop, func(t *task.T) error { return s.write(t, &p.Writer, total) }, func(*taskRun) { s.left-- })
	buf := make([]byte, 1+rng.IntN(8))
	for got := 0; ; {
		began, d := s.k.Now(), time.Duration(rng.Int64N(1<<rng.IntN(24)))
		n, err := task.Await(t, sender.Timeout(p.Reader.Read(buf), s.loop.SleepFor(d)))
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if took := s.k.Now() - began; took < int64(d) {
				return fmt.Errorf("a deadline of %v was met after %d ns", d, took)
			}
			continue
		case err != nil:
			return err
		case n == 0 && got == total:
			return nil
		case n == 0:
			return fmt.Errorf("%d of %d bytes were read", got, total)
		}
		for _, c := range buf[:n] {
			if c != byte(got) {
				return fmt.Errorf("%d was read instead of %d", c, byte(got))
			}
			got++
		}
	}
}

// write writes n bytes at random times, and closes the pipe.
func (s *timers) write(t *task.T, to *reactor.File, total int) error {
	defer closeAll(s.k, t, to)
	for i := range total {
		if d := s.k.Rand().Int64N(1 << s.k.Rand().IntN(22)); d > 100 {
			if _, err := task.Await(t, s.loop.SleepFor(time.Duration(d))); err != nil {
				return err
			}
		}
		if _, err := task.Await(t, to.WriteAll([]byte{byte(i)})); err != nil {
			return err
		}
	}
	return nil
}
