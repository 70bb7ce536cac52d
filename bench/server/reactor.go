package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// serveReactor serves on its own reactor.
func (c *Config) serveReactor(ctx context.Context, target engine.Target) error {
	cfg := c.reactorConfig()
	cfg.Loop.OnTaskError = func(error) {} // the error of a connection that has ended
	if target.Datagrams() {
		cfg.Loop.Buffers.Size = maxDatagram
	}
	r, err := reactor.New(cfg)
	if err != nil {
		return err
	}
	s, err := c.open(target)
	if err != nil {
		return errors.Join(err, discard(r))
	}
	if target.Scheme == "unix" && target.Path[0] != '@' {
		defer os.Remove(target.Path)
	}
	defer context.AfterFunc(ctx, r.Stop)()
	c.ready(s.addr())
	return r.Run(func(l *reactor.Loop) error {
		s.On(l)
		return nil
	})
}

func (c *Config) reactorConfig() reactor.Config {
	return reactor.Config{Loops: c.Loops, Pin: c.Pin, Loop: reactor.LoopConfig{Ring: c.Ring}}
}

// discard ends a reactor that was not run.
func discard(r *reactor.Reactor) (err error) {
	for _, l := range r.Loops() {
		err = errors.Join(err, l.Discard())
	}
	return err
}

// Sockets are the listeners of a server that shares loops with other work.
type Sockets struct {
	cfg    *Config
	target engine.Target
	fds    []int // one for each loop
	taken  atomic.Int32
}

// Open opens the listeners of a server that shares cfg.Loops loops with other work, in the style receiver. The
// server listens immediately. On each loop it serves after [Sockets.On], until the loop stops. A listener that gets no
// loop is never closed.
func Open(cfg Config) (*Sockets, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	target, err := engine.ParseListen(cfg.Listen)
	if err != nil {
		return nil, err
	}
	if cfg.Style != "receiver" || target.Scheme == "tls" || target.Datagrams() {
		return nil, errors.New("a server that shares loops needs streams, the style receiver, and no TLS")
	}
	return cfg.open(target)
}

func (c *Config) open(target engine.Target) (*Sockets, error) {
	s := &Sockets{cfg: c, target: target}
	first := -1
	for range c.Loops {
		fd, err := listenFD(s.target, first)
		if err != nil {
			for _, fd := range s.fds {
				unix.Close(fd)
			}
			return nil, err
		}
		if first < 0 {
			first = fd
			s.target.Addr = boundTo(fd, target.Addr) // all listeners share this port
		}
		s.fds = append(s.fds, fd)
	}
	return s, nil
}

// On serves on a loop. It is called once for each loop, on the loop's thread.
func (s *Sockets) On(l *reactor.Loop) {
	fd := s.fds[s.taken.Add(1)-1]
	if s.target.Datagrams() {
		newDatagrams(s.cfg, l, fd)
		return
	}
	newListener(s.cfg, l, fd)
}

func (s *Sockets) addr() net.Addr {
	switch {
	case s.target.Datagrams():
		return net.UDPAddrFromAddrPort(s.target.Addr)
	case s.target.Scheme == "unix":
		return &net.UnixAddr{Net: "unix", Name: s.target.Path}
	}
	return net.TCPAddrFromAddrPort(s.target.Addr)
}

// boundTo returns the address of a listener.
func boundTo(fd int, asked netip.AddrPort) netip.AddrPort {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return asked
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(asked.Addr(), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(asked.Addr(), uint16(sa.Port))
	}
	return asked
}

// listener is the receiver of the connections that one loop accepts.
type listener struct {
	cfg     *Config
	loop    *reactor.Loop
	socket  reactor.Socket
	accept  reactor.AcceptManyOp
	closing reactor.CloseOp
	free    *output         // a list of the ones that no connection uses
	answer  []byte          // of reply
	pattern *engine.Pattern // of chargen
}

func newListener(cfg *Config, l *reactor.Loop, fd int) {
	s := &listener{cfg: cfg, loop: l}
	switch cfg.Behaviour {
	case "reply":
		s.answer = make([]byte, cfg.Reply)
	case "chargen":
		s.pattern = cfg.pattern()
	}
	s.socket.Init(l, fd)
	s.socket.AcceptMany(reactor.Unlimited).Connect(&s.accept, s)
	s.accept.Start()
}

func (s *listener) SetNext(fd int) {
	newConn(s, fd)
}

func (s *listener) SetValue(struct{}) { s.close() }
func (s *listener) SetStopped()       { s.close() }
func (s *listener) Env() sender.Env   { return sender.EmptyEnv{} }
func (s *listener) SetError(err error) {
	fmt.Fprintln(os.Stderr, "accept:", err)
	s.close()
}

func (s *listener) close() {
	s.socket.Close().Connect(&s.closing, sender.Discard[struct{}]{})
	s.closing.Start()
}
