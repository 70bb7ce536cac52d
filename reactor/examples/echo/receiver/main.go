// Command receiver is an echo server in the style of receivers: it allocates once for each connection and never for a
// message.
package main

import (
	"log"
	"net/netip"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/sender"
)

func main() {
	ctx, listen, cfg := cmdline.Parse()
	err := reactor.Run(ctx, cfg, func(l *reactor.Loop) error { return serve(l, listen) })
	if err != nil {
		log.Fatal(err)
	}
}

// server accepts connections on one loop.
type server struct {
	loop     *reactor.Loop
	listener reactor.Socket
	accept   reactor.AcceptManyOp
	closing  reactor.CloseOp
}

// serve listens on the address. Every loop has its own listener there, see [reactor.ListenConfig].
func serve(l *reactor.Loop, addr netip.AddrPort) error {
	s := &server{loop: l}
	if err := s.listener.OpenListener(l, reactor.ListenConfig{Addr: addr}); err != nil {
		return err
	}
	s.listener.AcceptMany(reactor.Unlimited).Connect(&s.accept, s)
	s.accept.Start()
	return nil
}

// SetNext gets an accepted connection.
func (s *server) SetNext(fd int) {
	c := &conn{}
	c.socket.Init(s.loop, fd)
	_ = c.socket.SetNoDelay(true)
	c.socket.RecvLease().Connect(&c.recv, (*received)(c))
	c.recv.Start()
}

func (s *server) SetValue(struct{})  {}
func (s *server) SetError(err error) { log.Print("accept: ", err); s.close() }
func (s *server) SetStopped()        { s.close() }
func (s *server) Env() sender.Env    { return sender.EmptyEnv{} }

func (s *server) close() {
	s.listener.Close().Connect(&s.closing, sender.Discard[struct{}]{})
	s.closing.Start()
}

// conn is a connection with its operation states: it receives into a leased buffer, sends the bytes back, and receives
// again.
type conn struct {
	socket  reactor.Socket
	recv    reactor.RecvLeaseOp
	send    reactor.SendOp
	closing reactor.CloseOp
	lease   reactor.Lease
}

func (c *conn) close() {
	c.socket.Close().Connect(&c.closing, sender.Discard[struct{}]{})
	c.closing.Start()
}

// received is a conn as the receiver of c.recv.
type received conn

// SetValue gets what the client has sent; no bytes mean EOF.
func (r *received) SetValue(lease reactor.Lease) {
	c := (*conn)(r)
	if lease.Len() == 0 {
		c.close()
		return
	}
	c.lease = lease
	c.socket.SendAll(lease.Bytes()).Connect(&c.send, (*sent)(c))
	c.send.Start()
}

func (r *received) SetError(error)  { (*conn)(r).close() }
func (r *received) SetStopped()     { (*conn)(r).close() }
func (r *received) Env() sender.Env { return sender.EmptyEnv{} }

// sent is a conn as the receiver of c.send.
type sent conn

// SetValue takes in that all bytes of the lease have been sent.
func (s *sent) SetValue(int) {
	c := (*conn)(s)
	c.lease.Release()
	c.recv.Start()
}

func (s *sent) SetError(error)  { s.fail() }
func (s *sent) SetStopped()     { s.fail() }
func (s *sent) Env() sender.Env { return sender.EmptyEnv{} }

func (s *sent) fail() {
	c := (*conn)(s)
	c.lease.Release()
	c.close()
}
