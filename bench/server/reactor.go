package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// serveReactor accepts on every loop of a reactor.
func (c *Config) serveReactor(ctx context.Context, target engine.Target) error {
	loop := reactor.LoopConfig{Ring: c.Ring}
	if target.Datagrams() {
		loop.Buffers.Size = maxDatagram
	}
	r, err := reactor.New(reactor.Config{Loops: c.Loops, Pin: c.Pin, Loop: loop})
	if err != nil {
		return err
	}
	fds := []int{}
	first := -1
	for range r.Loops() {
		fd, err := listenFD(target, first)
		if err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
			for _, l := range r.Loops() {
				err = errors.Join(err, l.Discard())
			}
			return err
		}
		if first < 0 {
			first = fd
			target.Addr = boundTo(fd, target.Addr) // the port that all share
		}
		fds = append(fds, fd)
	}
	defer context.AfterFunc(ctx, r.Stop)()
	serve := newListener
	switch {
	case target.Datagrams():
		serve = newDatagrams
		c.ready(net.UDPAddrFromAddrPort(target.Addr))
	case target.Scheme == "unix":
		if target.Path[0] != '@' {
			defer os.Remove(target.Path)
		}
		c.ready(&net.UnixAddr{Net: "unix", Name: target.Path})
	default:
		c.ready(net.TCPAddrFromAddrPort(target.Addr))
	}
	return r.Run(func(l *reactor.Loop) { serve(c, l, fds[slices.Index(r.Loops(), l)]) })
}

// boundTo is the address of a listener.
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

// listener receives the connections that one loop accepts.
type listener struct {
	cfg     *Config
	loop    *reactor.Loop
	socket  reactor.Socket
	accept  reactor.AcceptManyOp
	closing reactor.CloseOp
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
	if s.cfg.Style == "task" {
		s.spawn(fd)
		return
	}
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
