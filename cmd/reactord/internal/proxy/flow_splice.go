package proxy

import (
	"errors"
	"syscall"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// polled is what a splice has polled for since bytes were last taken from the sending side (src):
//
//	nothing            → readable  wait(readable): the kernel pipe is empty, and src had no bytes
//	nothing            → writable  wait(writable): dst had no room
//	readable, writable → either    wait, again
//	readable, writable → nothing   fill: bytes were taken
type polled uint8

const (
	polledNothing polled = iota
	polledReadable
	polledWritable
)

// splice moves the bulk of a pipe by splice(2), through a kernel pipe instead of through buffers. Meanwhile the receive
// of the pipe waits for the credits of its last item, which are granted when the bulk ends. The receive reports EOF or
// a reset of src. But the kernel reports an error only once, so the splice handles the errors that it gets.
type splice struct {
	pipe    *pipe
	tube    reactor.SplicePipe
	poll    reactor.PollOp
	credits int // to grant to the receive
	polled  polled
}

const (
	// spliceSize bounds the bytes that one kernel pipe holds.
	spliceSize = 1 << 20
	// maxSplices bounds the directions of a loop that are spliced at a time. Their kernel pipes take an eighth of the
	// descriptors at most. Other directions use large buffers.
	maxSplices = 16
	// spliceTurn bounds the bytes that one direction moves in a turn of the loop.
	spliceTurn = 1 << 20
)

// startSplice takes over from the transfer, which has sent everything, if the loop has a splice left. It grants the
// credits when it ends.
func (t *transfer) startSplice(credits int) bool {
	p := t.pipe
	w := p.conn.worker()
	if w.splicing >= w.maxSplices || w.proxy.budget.Pipes().Take() != limit.Granted {
		return false
	}
	s := w.splices.Get()
	*s = splice{pipe: p, credits: credits}
	if s.tube.Open(w.loop, spliceSize) != nil {
		w.proxy.budget.Pipes().Give()
		w.splices.Put(s)
		return false
	}
	w.splicing++
	t.splice = s
	s.run()
	return true
}

// run moves bytes until it has to wait for a side, or until the turn is used up.
func (s *splice) run() {
	for left := spliceTurn; ; {
		for s.tube.Held() != 0 {
			if !s.drain() {
				return
			}
		}
		switch {
		case s.pipe.regime() != regimeSplice:
			s.leave()
			return
		case left <= 0:
			s.wait(polledReadable)
			return
		}
		n := s.fill()
		if n == 0 {
			return
		}
		left -= n
	}
}

// fill takes bytes from src, and returns their number. 0 means that there is nothing to do now.
func (s *splice) fill() int {
	p := s.pipe
	n, err := s.tube.Fill(p.src())
	switch {
	case err == nil && n != 0:
		s.polled = polledNothing
		p.moved(n)
		p.filled(n / p.conn.loop().Buffers().Size())
		return n
	case errors.Is(err, syscall.EAGAIN) && s.polled != polledReadable:
		s.wait(polledReadable)
	case err == nil, cannotSplice(err):
		s.leave()
	default:
		s.end()
		p.releaseTransfer()
		p.conn.sideReset(int(p.from))
	}
	return 0
}

// cannotSplice reports whether err means that there are bytes which cannot be spliced, such as urgent data (EAGAIN
// although src is readable), or that the process may not splice.
func cannotSplice(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.EAGAIN, syscall.EINVAL, syscall.ENOMEM, syscall.EPERM, syscall.ENOSYS,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// drain passes on what the kernel pipe holds, and reports whether it could.
func (s *splice) drain() bool {
	p := s.pipe
	_, err := s.tube.Drain(p.dst())
	switch {
	case err == nil:
		p.conn.touch()
		return true
	case errors.Is(err, syscall.EAGAIN):
		s.wait(polledWritable)
	default:
		credits := s.credits
		s.end()
		p.receiveMore(credits)
		p.failed(err)
	}
	return false
}

// wait polls one of the sides.
func (s *splice) wait(on polled) {
	s.polled = on
	if on == polledReadable {
		s.pipe.src().Poll(unix.POLLIN).Connect(&s.poll, s)
	} else {
		s.pipe.dst().Poll(unix.POLLOUT).Connect(&s.poll, s)
	}
	s.poll.Start()
}

// leave lets the receive continue.
func (s *splice) leave() {
	p, credits := s.pipe, s.credits
	s.end()
	p.bulk = 0
	p.receiveMore(credits)
	p.drained()
}

// end closes the kernel pipe. Bytes that it still holds are dropped.
func (s *splice) end() {
	w := s.pipe.conn.worker()
	s.tube.Close()
	w.proxy.budget.Pipes().Give()
	s.pipe.out.splice = nil
	w.splicing--
	w.splices.Put(s)
}

// SetValue continues: the polled side is ready.
func (s *splice) SetValue(uint32) {
	if c := s.pipe.conn; c.phase == phaseClosed || c.rests() {
		s.SetStopped()
		return
	}
	s.run()
}

// SetError ends the splice: a socket is being closed.
func (s *splice) SetError(error) { s.SetStopped() }

// SetStopped ends the splice, unless the connection rests: the connection or the loop is stopping.
func (s *splice) SetStopped() {
	p := s.pipe
	if p.conn.rests() {
		p.out.stopped = true
		return
	}
	p.conn.close(reasonKilled, bothSides)
	s.end()
	p.failed(nil)
}

// Env returns an empty environment.
func (s *splice) Env() sender.Env { return sender.EmptyEnv{} }
