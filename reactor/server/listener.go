//go:build linux

package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// listener accepts on one loop. It is the receiver of the connections.
type listener struct {
	w       *worker
	socket  reactor.Socket
	accept  reactor.AcceptManyOp
	closing reactor.CloseOp
	limited bool // it has a credit, one for each connection
	state   listenerState
}

// listenerState is the state of a listener.
//
//	open → closing → closed
type listenerState uint8

const (
	listenerOpen listenerState = iota
	listenerClosing
	listenerClosed
)

// listen opens the worker's listeners. It is called with the server's lock held.
func (w *worker) listen() error {
	if w.cfg.Addr.IsValid() || !w.cfg.Address.IsZero() {
		if err := w.listenOn(); err != nil {
			return err
		}
	}
	for _, ln := range w.cfg.Listeners {
		c, ok := ln.(syscall.Conn)
		if !ok {
			return fmt.Errorf("server: a %T has no descriptor: %w", ln, errors.ErrUnsupported)
		}
		if err := w.inherit(c); err != nil {
			return err
		}
	}
	for _, f := range w.cfg.Files {
		if err := w.inherit(f); err != nil {
			return err
		}
	}
	first := &w.listeners[0].socket
	if s := w.server; s.bound.IsZero() {
		a, err := first.LocalAddress()
		if err != nil {
			return os.NewSyscallError("getsockname", err)
		}
		s.bound.Address = a
	}
	return nil
}

// listenOn opens the listener of the configured address. The first loop's binds it; those of the other loops bind the
// same one (SO_REUSEPORT), or duplicate the listener of a unix socket.
func (w *worker) listenOn() error {
	s := w.server
	ln := w.newListener()
	config := reactor.ListenConfig{Addr: w.cfg.Addr, Address: w.cfg.Address, Backlog: w.cfg.Backlog}
	if config.Addr.IsValid() {
		config.Address = reactor.Address{}
	}
	if !s.bound.IsZero() {
		if s.bound.Family() == unix.AF_UNIX {
			return w.duplicate(ln)
		}
		config.Address = s.bound.Address
	}
	if err := ln.socket.OpenListener(w.loop, config); err != nil {
		return fmt.Errorf("server: listen on %v: %w", firstOf(config), err)
	}
	w.listeners = append(w.listeners, ln)
	if name := config.Address.Name(); s.bound.IsZero() && name != "" && name[0] != '@' {
		s.bound.unlink = name
	}
	return nil
}

func firstOf(cfg reactor.ListenConfig) any {
	if !cfg.Address.IsZero() {
		return cfg.Address
	}
	return cfg.Addr
}

// duplicate makes ln a duplicate of a listener of another worker.
func (w *worker) duplicate(ln *listener) error {
	for _, other := range w.server.workers {
		if first := other.listeners[0]; first.state == listenerOpen {
			fd, err := first.socket.Dup()
			if err != nil {
				return os.NewSyscallError("fcntl", err)
			}
			ln.socket.Init(w.loop, fd)
			w.listeners = append(w.listeners, ln)
			return nil
		}
	}
	return net.ErrClosed
}

// inherit adds a listener for a duplicate of a descriptor.
func (w *worker) inherit(c syscall.Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	fd, listens := -1, 0
	e := raw.Control(func(h uintptr) {
		if listens, err = unix.GetsockoptInt(int(h), unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens == 0 {
			return
		}
		if fd, err = unix.FcntlInt(h, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			err = unix.SetNonblock(fd, true)
		}
	})
	if err = errors.Join(err, e); err == nil && listens == 0 {
		err = unix.EINVAL
	}
	if err != nil {
		return fmt.Errorf("server: not a socket that listens: %w", err)
	}
	ln := w.newListener()
	ln.socket.Init(w.loop, fd)
	w.listeners = append(w.listeners, ln)
	return nil
}

func (w *worker) newListener() *listener { return &listener{w: w} }

// discardListeners closes listeners that were not started.
func (w *worker) discardListeners() {
	for _, ln := range w.listeners {
		ln.closeSocket()
	}
}

func (ln *listener) start() {
	credit := reactor.Unlimited
	if limit := ln.w.cfg.MaxConnections; limit > 0 {
		ln.limited = true
		credit = max(limit/max(ln.w.server.loops, 1)/len(ln.w.listeners), 1)
	}
	ln.socket.AcceptMany(credit).Connect(&ln.accept, ln)
	ln.accept.Start()
}

// SetNext takes a connection.
func (ln *listener) SetNext(fd int) { ln.w.accepted(ln, fd) }

// SetValue is not called: accepting has no end.
func (ln *listener) SetValue(struct{}) { ln.close() }

// SetStopped is called when the loop stops.
func (ln *listener) SetStopped() {
	ln.close()
	ln.w.drain()
}

// SetError is called when the listener has failed, or was closed.
func (ln *listener) SetError(err error) {
	if ln.state != listenerOpen {
		return
	}
	err = fmt.Errorf("server: accept: %w", err)
	ln.w.cfg.ErrorLog.Error("a listener has failed", "err", err)
	ln.close()
	ln.w.server.fail(err)
}

// Env is empty.
func (ln *listener) Env() sender.Env { return sender.EmptyEnv{} }

func (ln *listener) connClosed() {
	if ln.limited && ln.state == listenerOpen {
		ln.accept.Grant(1)
	}
}

// close stops accepting. The lock is taken because another worker may be duplicating the socket.
func (ln *listener) close() {
	if ln.state != listenerOpen {
		return
	}
	ln.w.server.mu.Lock()
	ln.state = listenerClosing
	ln.w.server.mu.Unlock()
	ln.closeSocket()
}

func (ln *listener) closeSocket() {
	ln.socket.Close().Connect(&ln.closing, (*listenerClose)(ln))
	ln.closing.Start()
}

// listenerClose is a listener as the receiver of its close.
type listenerClose listener

func (r *listenerClose) SetValue(struct{}) {
	if r.state == listenerClosing { // it was started
		r.w.open--
	}
	r.state = listenerClosed
	r.w.endIfDone()
}
func (r *listenerClose) SetError(error)  { r.SetValue(struct{}{}) }
func (r *listenerClose) SetStopped()     { r.SetValue(struct{}{}) }
func (r *listenerClose) Env() sender.Env { return sender.EmptyEnv{} }

// remove removes the path of a unix socket that the server made.
func (a *address) remove() {
	if a.unlink != "" {
		_ = os.Remove(a.unlink)
	}
}
