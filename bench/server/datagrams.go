package server

import (
	"fmt"
	"os"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// maxDatagram is the size of a buffer for any datagram, with the header that the loop puts before it.
const maxDatagram = 64<<10 + 256

// datagrams serves datagrams on one loop.
type datagrams struct {
	cfg     *Config
	loop    *reactor.Loop
	socket  reactor.Socket
	recv    reactor.RecvMsgManyOp
	closing reactor.CloseOp
	idle    []*reply
}

func newDatagrams(cfg *Config, l *reactor.Loop, fd int) {
	s := &datagrams{cfg: cfg, loop: l}
	s.socket.Init(l, fd)
	if cfg.Style == "task" {
		l.Spawn(task.New(s.task))
		return
	}
	s.socket.RecvFromMany(reactor.Unlimited).Connect(&s.recv, s)
	s.recv.Start()
}

func (s *datagrams) SetNext(d reactor.Datagram) {
	if s.cfg.Behaviour == "discard" {
		d.Release()
		return
	}
	r := s.reply()
	if s.cfg.Behaviour == "echo" {
		r.d = d
		r.send(d.Bytes(), d.From)
		return
	}
	r.later, r.to = append(r.later[:0], d.Bytes()...), d.From
	d.Release() // otherwise the buffers would be used up
	s.loop.SetTimer(&r.timer, s.loop.Clock()+int64(s.cfg.Delay))
}

func (s *datagrams) SetValue(struct{}) { s.close() }
func (s *datagrams) SetStopped()       { s.close() }
func (s *datagrams) Env() sender.Env   { return sender.EmptyEnv{} }
func (s *datagrams) SetError(err error) {
	fmt.Fprintln(os.Stderr, "receive:", err)
	s.close()
}

func (s *datagrams) close() {
	s.socket.Close().Connect(&s.closing, sender.Discard[struct{}]{})
	s.closing.Start()
}

// reply is a datagram that is sent back, with its operation state.
type reply struct {
	s     *datagrams
	op    reactor.SendToOp
	d     reactor.Datagram // what is sent immediately is sent from the receive buffer
	later []byte           // what is sent later is a copy
	to    reactor.Address
	timer reactor.Timer
}

// reply returns a reply that is idle.
func (s *datagrams) reply() *reply {
	n := len(s.idle)
	if n == 0 {
		r := &reply{s: s}
		r.timer.Init(r)
		return r
	}
	r := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return r
}

func (r *reply) send(p []byte, to reactor.Address) {
	r.s.socket.SendTo(p, to).Connect(&r.op, r)
	r.op.Start()
}

// OnTimer sends the reply, which is due.
func (r *reply) OnTimer(int64) { r.send(r.later, r.to) }

func (r *reply) SetValue(int)    { r.done() }
func (r *reply) SetError(error)  { r.done() } // the datagram is lost
func (r *reply) SetStopped()     { r.done() }
func (r *reply) Env() sender.Env { return sender.EmptyEnv{} }

func (r *reply) done() {
	r.d.Release()
	r.d = reactor.Datagram{}
	r.s.idle = append(r.s.idle, r)
}

// task serves datagrams in a coroutine.
func (s *datagrams) task(t *task.T) error {
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, s.socket.Close()) })
	for {
		d, err := task.Await(t, s.socket.RecvFromLease())
		if err != nil {
			return err
		}
		switch s.cfg.Behaviour {
		case "echo":
			_, _ = task.Await(t, s.socket.SendTo(d.Bytes(), d.From)) // an error loses the datagram
		case "delay":
			s.later(append([]byte(nil), d.Bytes()...), d.From)
		}
		d.Release()
	}
}

// later sends a datagram back when it is due, in its own coroutine.
func (s *datagrams) later(p []byte, to reactor.Address) {
	due := s.loop.Clock() + int64(s.cfg.Delay)
	s.loop.Spawn(task.New(func(t *task.T) error {
		if _, err := task.Await(t, s.loop.SleepUntil(due)); err != nil {
			return err
		}
		_, err := task.Await(t, s.socket.SendTo(p, to))
		return err
	}))
}
