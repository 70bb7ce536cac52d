package program

import (
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Echo runs an echo server on one to three loops, and its clients. Another thread stops some of the connections, and
// sometimes a loop.
func Echo(k *simring.Kernel) (check func()) {
	loops := make([]*reactor.Loop, 1+k.Rand().IntN(3))
	for i := range loops {
		loops[i] = NewLoop(k)
	}
	var servers []*echoServer
	all := runLoops(k, loops, func(l *reactor.Loop) {
		s := &echoServer{k: k, loop: l}
		servers = append(servers, s)
		s.start()
	})
	talk := NewTalk(k)
	early := all.endSoon(k, talk.Clients(all.Up), func() {
		for _, s := range servers {
			s.stopSome()
		}
	})
	return func() {
		for _, p := range talk.Parties() {
			p.Judge(early)
		}
	}
}

// echoServer accepts on one loop.
type echoServer struct {
	sender.EmptyEnv
	k      *simring.Kernel
	loop   *reactor.Loop
	socket reactor.Socket
	accept reactor.AcceptManyOp
	close  reactor.CloseOp
	conns  []*echoConn
}

func (s *echoServer) start() {
	for s.socket.OpenListener(s.loop, reactor.ListenConfig{Addr: address}) != nil { // until there are descriptors
	}
	s.socket.AcceptMany(1+s.k.Rand().IntN(2)*reactor.Unlimited/2).Connect(&s.accept, s)
	s.accept.Start()
}

// stopSome stops some connections. It is called on another thread.
func (s *echoServer) stopSome() {
	for _, c := range s.conns {
		if s.k.Rand().IntN(2) == 0 {
			c.source.RequestStop()
		}
	}
}

func (s *echoServer) SetNext(fd int) {
	s.accept.Grant(1)
	c := &echoConn{server: s, source: new(stop.Source)}
	s.conns = append(s.conns, c)
	c.socket.Init(s.loop, fd)
	many := c.socket.RecvMany(1 + s.k.Rand().IntN(8))
	if s.k.Rand().IntN(2) == 0 {
		many = many.Adaptive()
	}
	many.Connect(&c.recv, c)
	c.socket.Sendv(nil).Connect(&c.send, (*echoed)(c))
	c.recv.Start()
}

func (s *echoServer) SetValue(struct{})  { s.k.Errorf("accepting completed with a value") }
func (s *echoServer) SetError(err error) { s.k.Errorf("accepting: %v", err); s.SetStopped() }
func (s *echoServer) Env() sender.Env    { return s }
func (s *echoServer) SetStopped()        { s.end(&s.socket, &s.close) }
func (s *echoServer) end(socket *reactor.Socket, op *reactor.CloseOp) {
	socket.Close().Connect(op, &closed{k: s.k})
	op.Start()
}

// closed is the receiver of a close.
type closed struct {
	sender.EmptyEnv
	k *simring.Kernel
}

func (c *closed) SetValue(struct{})  {}
func (c *closed) SetError(err error) { c.k.Errorf("close: %v", err) }
func (c *closed) SetStopped()        { c.k.Errorf("a close was stopped") }
func (c *closed) Env() sender.Env    { return c }

// echoConn receives, and keeps the leases until their bytes are sent.
type echoConn struct {
	sender.EmptyEnv
	server *echoServer
	socket reactor.Socket
	recv   reactor.RecvManyOp
	send   reactor.SendvOp
	close  reactor.CloseOp
	source *stop.Source
	queue  []reactor.Lease
	flying int
	done   bool // nothing more is received
	broken bool
}

// Env returns the connection's stop token.
func (c *echoConn) Env() sender.Env       { return c }
func (c *echoConn) StopToken() stop.Token { return c.source.Token() }

func (c *echoConn) SetNext(l reactor.Lease) {
	if c.broken {
		l.Release()
		return
	}
	c.queue = append(c.queue, l)
	if c.flying == 0 {
		c.flush()
	}
}

func (c *echoConn) flush() {
	c.flying = len(c.queue)
	c.send.Reset()
	for _, l := range c.queue {
		c.send.Add(l.Bytes())
	}
	c.send.Start()
}

func (c *echoConn) SetValue(struct{}) { c.done = true; c.endIfDone() }
func (c *echoConn) SetError(error)    { c.done, c.broken = true, true; c.endIfDone() }
func (c *echoConn) SetStopped()       { c.done, c.broken = true, true; c.endIfDone() }

func (c *echoConn) endIfDone() {
	if !c.done || c.flying != 0 {
		return
	}
	if c.broken {
		_ = c.socket.SetAbort()
	}
	c.server.end(&c.socket, &c.close)
}

// echoed is an echoConn as the receiver of its sends.
type echoed echoConn

func (e *echoed) SetValue(n int) {
	c := (*echoConn)(e)
	want, granted := 0, 0
	for _, l := range c.queue[:c.flying] {
		want += l.Len()
		granted += l.Credits()
		l.Release()
	}
	c.queue, c.flying = append(c.queue[:0], c.queue[c.flying:]...), 0
	if n < want {
		c.fail()
		return
	}
	if !c.done {
		c.recv.Grant(granted)
	}
	if len(c.queue) != 0 {
		c.flush()
	} else {
		c.endIfDone()
	}
}

func (e *echoed) SetError(error) { e.dropFlying() }
func (e *echoed) SetStopped()    { e.dropFlying() }

func (e *echoed) dropFlying() {
	c := (*echoConn)(e)
	for _, l := range c.queue[:c.flying] {
		l.Release()
	}
	c.queue, c.flying = append(c.queue[:0], c.queue[c.flying:]...), 0
	c.fail()
}

// fail stops receiving, which ends the connection.
func (c *echoConn) fail() {
	for _, l := range c.queue {
		l.Release()
	}
	c.queue, c.broken = nil, true
	c.source.RequestStop()
	c.endIfDone()
}

func (e *echoed) Env() sender.Env { return (*echoConn)(e) }
