package program

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Descriptors makes pipes, writes to them, and sends their read ends over a unix socket to a task that reads them. The
// bytes must be in each pipe that arrives. The receiver must learn of each descriptor that does not arrive
// (MSG_CTRUNC). In the end no end of a pipe must be open.
func Descriptors(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	p := &descriptors{k: k, pipes: 1 + rng.IntN(10), early: rng.IntN(4) == 0}
	kind := [2]int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}[rng.IntN(2)]
	var jobs []*taskRun
	left := 2
	all := runLoops(k, []*reactor.Loop{NewLoop(k)}, func(l *reactor.Loop) {
		p.loop = l
		for reactor.OpenPair(l, kind, &p.from, &p.to) != nil { // until there are descriptors
		}
		begin := func(f func(*task.T) error, end *reactor.Socket) {
			jobs = append(jobs, launch(k, l, f, func(j *taskRun) {
				if left--; !j.began {
					closeDetached(k, end)
				}
			}))
		}
		begin(p.give, &p.from)
		begin(p.take, &p.to)
	})
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(all.Up)
		if p.early {
			t.Sleep(time.Duration(rng.Int64N(int64(time.Millisecond))))
			jobs[rng.IntN(2)].source.RequestStop()
		}
		if !p.early || rng.IntN(2) == 0 {
			t.Until(func() bool { return left == 0 })
		}
		all.Stop()
	})
	return func() {
		if !p.early && p.read+p.lost != p.pipes {
			k.Errorf("of %d pipes %d were read and %d lost", p.pipes, p.read, p.lost)
		}
	}
}

type descriptors struct {
	k        *simring.Kernel
	loop     *reactor.Loop
	from, to reactor.Socket
	pipes    int
	read     int // that have come through
	lost     int // as the receiver has learnt from MSG_CTRUNC
	early    bool
}

// contents returns the bytes that are written to pipe i.
func contents(i int) []byte {
	b := make([]byte, 1+i*i%13)
	for j := range b {
		b[j] = byte(7*i + j)
	}
	return b
}

// give sends the pipes.
func (p *descriptors) give(t *task.T) error {
	defer closeAll(p.k, t, &p.from)
	for i := range p.pipes {
		if err := p.pass(t, i); err != nil {
			return p.expected(err)
		}
	}
	return nil
}

// expected returns nil for errors that follow when the other side has been stopped, and err for others.
func (p *descriptors) expected(err error) error {
	if p.early && (errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET)) {
		return nil
	}
	return err
}

func (p *descriptors) pass(t *task.T, i int) error {
	var pipe reactor.Pipe
	for pipe.Open(p.loop) != nil { // until there are descriptors
		if err := task.Yield(t); err != nil {
			return err
		}
	}
	defer closeAll(p.k, t, &pipe.Reader, &pipe.Writer)
	data := contents(i)
	if n, err := task.Await(t, pipe.Writer.WriteAll(data)); err != nil {
		return err
	} else if n != len(data) {
		return sender.ErrStopped
	}
	_, err := task.Await(t, p.from.SendFDs([]byte{byte(i)}, []int{pipe.Reader.Fd()}))
	return err
}

// take reads the pipes that it receives.
func (p *descriptors) take(t *task.T) error {
	defer closeAll(p.k, t, &p.to)
	buf := make([]byte, 1)
	for i := 0; ; i++ {
		r, err := task.Await(t, p.to.RecvFDs(buf, p.k.Rand().IntN(3)))
		switch {
		case err != nil:
			return p.expected(err)
		case r.N == 0:
			return nil
		case int(buf[0]) != i || len(r.FDs) > 1 || len(r.FDs) == 0 && !r.Truncated:
			r.Close()
			return fmt.Errorf("message %d came as %d, with %d descriptors", i, buf[0], len(r.FDs))
		case len(r.FDs) == 0:
			p.lost++
			continue
		}
		if err := p.drain(t, r.FDs[0], i); err != nil {
			return err
		}
		p.read++
	}
}

// drain reads a pipe until EOF.
func (p *descriptors) drain(t *task.T, fd, i int) error {
	f := new(reactor.File)
	f.Init(p.loop, fd)
	defer closeAll(p.k, t, f)
	var got []byte
	buf := make([]byte, 5)
	for {
		n, err := task.Await(t, f.Read(buf))
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		got = append(got, buf[:n]...)
	}
	if string(got) != string(contents(i)) {
		return fmt.Errorf("pipe %d had % x", i, got)
	}
	return nil
}
