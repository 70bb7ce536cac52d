package proxy

import (
	"errors"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// splice moves the bulk of a pipe through the kernel instead of through buffers. Meanwhile the pipe's receive rests
// for want of the credit for its last item, and gets it when there is no bulk any more. How the source ends is for
// the receive to find out; but an error, which is told once, is dealt with here.
type splice struct {
	pipe  *pipe
	tube  reactor.SplicePipe
	poll  reactor.PollOp
	worth int   // credit that the receive is to be granted
	signs uint8 // fillings in a row that were no bulk
	woken bool  // the source was said to be readable, and was not looked at since
}

const (
	// spliceSigns is how many items of bulk in a row it takes to splice, and how many fillings that are none to stop.
	spliceSigns = 4
	// spliceSize is how much is in the kernel's hands at most, and maxSplices how many directions of a loop can be
	// spliced at a time, if their pipes take an eighth of the descriptors at most. Others use large buffers.
	spliceSize = 1 << 20
	maxSplices = 16
	// spliceTurn is how much one direction moves in a turn of the loop.
	spliceTurn = 1 << 20
)

// isBulk: it takes a large buffer to hold as much, and after such an item the receive rests until all its credit is
// granted again. See reactor.RecvManySender.Adaptive.
func isBulk(worth int) bool { return worth > 2 }

// splice takes over from the transfer, which has sent all there was, if there is bulk. It grants worth when it is done.
func (t *transfer) splice(worth int) bool {
	p := t.pipe
	c := p.conn
	w := c.worker()
	if p.bulk < spliceSigns || c.phase != phaseFlowing || p.state != pipeOpen || w.spliced >= w.maxSplices || !w.proxy.budget.take() {
		return false
	}
	s := w.splices.get()
	*s = splice{pipe: p, worth: worth}
	if s.tube.Open(c.loop(), spliceSize) != nil {
		w.proxy.budget.give()
		w.splices.put(s)
		return false
	}
	w.spliced++
	t.spliced = s
	s.run()
	return true
}

// run moves bytes until one of the sides has to be waited for, or others should have their turn.
func (s *splice) run() {
	for left := spliceTurn; ; {
		for s.tube.Held() != 0 {
			if !s.drain() {
				return
			}
		}
		switch {
		case s.signs == spliceSigns || s.pipe.conn.phase != phaseFlowing:
			s.leave()
			return
		case left <= 0:
			s.wait(s.pipe.source(), unix.POLLIN)
			return
		}
		n := s.fill()
		if n == 0 {
			return
		}
		left -= n
	}
}

// fill takes what has come. 0: nothing is to be done now.
func (s *splice) fill() int {
	p := s.pipe
	c := p.conn
	n, err := s.tube.Fill(p.source())
	switch {
	case err == nil && n != 0:
		s.woken = false
		c.touch()
		p.bytes += uint64(n)
		c.listener.stats.bytes[p.from].Add(uint64(n))
		if s.signs++; isBulk(n / c.loop().Buffers().Size()) {
			s.signs = 0
		}
		return n
	case errors.Is(err, syscall.EAGAIN) && !s.woken:
		s.wait(p.source(), unix.POLLIN)
	case err == nil, notForSplice(err):
		s.leave()
	default:
		s.end()
		p.giveBack()
		c.sideReset(int(p.from))
	}
	return 0
}

// notForSplice: there is something, but it cannot be spliced, such as urgent data (EAGAIN), or nothing may be.
func notForSplice(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EAGAIN, syscall.EINVAL, syscall.ENOMEM, syscall.EPERM, syscall.ENOSYS} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// drain passes on what was taken, and reports whether it could.
func (s *splice) drain() bool {
	p := s.pipe
	_, err := s.tube.Drain(p.target())
	switch {
	case err == nil:
		p.conn.touch()
		return true
	case errors.Is(err, syscall.EAGAIN):
		s.wait(p.target(), unix.POLLOUT)
	default:
		worth := s.worth
		s.end()
		p.recv.Grant(worth)
		p.failed(err)
	}
	return false
}

func (s *splice) wait(on *reactor.Socket, events uint32) {
	s.woken = on == s.pipe.source()
	on.Poll(events).Connect(&s.poll, s)
	s.poll.Start()
}

// leave lets the receive go on.
func (s *splice) leave() {
	p, worth := s.pipe, s.worth
	s.end()
	p.bulk = 0
	p.recv.Grant(worth)
	p.drained()
}

// end gives back what the kernel had been asked for. What is left in it is lost.
func (s *splice) end() {
	w := s.pipe.conn.worker()
	s.tube.Close()
	w.proxy.budget.give()
	s.pipe.out.spliced = nil
	w.spliced--
	w.splices.put(s)
}

// SetValue says that there is something to be moved, or room for it.
func (s *splice) SetValue(uint32) {
	if s.pipe.conn.phase == phaseClosing {
		s.SetStopped()
		return
	}
	s.run()
}

// SetError says that a socket is being closed.
func (s *splice) SetError(error) { s.SetStopped() }

// SetStopped says that the connection or the loop is ending.
func (s *splice) SetStopped() {
	p := s.pipe
	p.conn.close(endKilled, abortBoth)
	s.end()
	p.failed(nil)
}

// Env is empty.
func (s *splice) Env() sender.Env { return sender.EmptyEnv{} }
