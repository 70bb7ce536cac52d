package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// serveReceivers echoes on the reactor, each loop on a listener of its own.
func (s *serveEcho) serveReceivers(ctx context.Context, address string) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	r, err := reactor.New(reactor.Config{
		Loops: s.Loops,
		Pin:   s.Pin,
		Loop:  reactor.LoopConfig{Ring: reactor.Kind(s.Ring)},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, r.Stop)()
	listeners := make(chan error, len(r.Loops()))
	err = r.Run(func(l *reactor.Loop) {
		e := &echoListener{loop: l}
		err := e.listener.Listen(l, addr)
		if listeners <- err; err != nil {
			r.Stop()
			return
		}
		e.listener.AcceptMany(reactor.Unlimited).Connect(&e.accept, e)
		e.accept.Start()
	})
	for len(listeners) > 0 && err == nil {
		err = <-listeners
	}
	return err
}

// echoListener receives the connections that one loop accepts.
type echoListener struct {
	loop     *reactor.Loop
	listener reactor.Socket
	accept   reactor.AcceptManyOp
	closing  reactor.CloseOp
}

func (e *echoListener) SetNext(fd int) {
	c := &echoConn{}
	c.socket.Init(e.loop, fd)
	_ = c.socket.SetNoDelay(true)
	c.socket.Sendv(nil).Connect(&c.send, (*echoSent)(c))
	c.socket.RecvMany(echoCredit).Connect(&c.recv, (*echoReceived)(c))
	c.recv.Start()
}

func (e *echoListener) SetValue(struct{}) { e.close() }
func (e *echoListener) SetStopped()       { e.close() }
func (e *echoListener) Env() sender.Env   { return sender.EmptyEnv{} }
func (e *echoListener) SetError(err error) {
	fmt.Fprintln(os.Stderr, "accept:", err)
	e.close()
}

func (e *echoListener) close() {
	e.listener.Close().Connect(&e.closing, sender.Discard[struct{}]{})
	e.closing.Start()
}

// echoCredit is how many received buffers a connection may hold before it has to send some.
const echoCredit = 16

// echoConn is a connection with its operation states, made in one piece. What arrives is lent to it,
// and queued; what is queued is sent as one, while what arrives meanwhile queues up again.
type echoConn struct {
	socket  reactor.Socket
	recv    reactor.RecvManyOp
	send    reactor.SendvOp
	closing reactor.CloseOp

	queue   []reactor.Lease // received, in order
	sending int             // so many of them, from the first, are being sent
	ended   bool            // nothing more will be received
	closed  bool
}

// flush sends what is queued.
func (c *echoConn) flush() {
	c.send.Reset()
	for _, lease := range c.queue {
		c.send.Add(lease.Bytes())
	}
	c.sending = len(c.queue)
	c.send.Start()
}

// drop lets go of the first n queued buffers.
func (c *echoConn) drop(n int) {
	for _, lease := range c.queue[:n] {
		lease.Release()
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
}

func (c *echoConn) close() {
	if c.closed {
		return
	}
	c.closed = true
	c.socket.Close().Connect(&c.closing, sender.Discard[struct{}]{})
	c.closing.Start()
}

// echoReceived is an echoConn as the receiver of what the client sends.
type echoReceived echoConn

func (r *echoReceived) SetNext(lease reactor.Lease) {
	c := (*echoConn)(r)
	c.queue = append(c.queue, lease)
	if c.sending == 0 {
		c.flush()
	}
}

func (r *echoReceived) SetValue(struct{}) { (*echoConn)(r).end() }
func (r *echoReceived) SetError(error)    { (*echoConn)(r).end() }
func (r *echoReceived) SetStopped()       { (*echoConn)(r).end() }
func (r *echoReceived) Env() sender.Env   { return sender.EmptyEnv{} }

// end is called when nothing more will be received: what is queued is still sent.
func (c *echoConn) end() {
	c.ended = true
	if c.sending == 0 {
		c.close()
	}
}

// echoSent is an echoConn as the receiver of how sending went.
type echoSent echoConn

func (s *echoSent) SetValue(int) {
	c := (*echoConn)(s)
	n := c.sending
	c.sending = 0
	c.drop(n)
	switch {
	case len(c.queue) > 0:
		c.flush()
	case c.ended:
		c.close()
	}
	if !c.ended {
		c.recv.Grant(n)
	}
}

func (s *echoSent) SetError(error)  { (*echoConn)(s).fail() }
func (s *echoSent) SetStopped()     { (*echoConn)(s).fail() }
func (s *echoSent) Env() sender.Env { return sender.EmptyEnv{} }

// fail is called when the client cannot be reached any more.
func (c *echoConn) fail() {
	c.sending = 0
	c.drop(len(c.queue))
	c.close()
}
