//go:build linux

package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// listener accepts on one loop. It is the receiver of the connections.
type listener struct {
	w          *worker
	socket     reactor.Socket
	accept     reactor.AcceptManyOp
	closing    reactor.CloseOp
	limited    bool // it has a credit, one for each connection
	inherited  bool // its socket is the caller's too
	anyAddress bool // it has all addresses of the machine, so that its connections differ in that
	local      reactor.Address
	state      listenerState
	users      int // workers that are duplicating the socket; it is not closed meanwhile
	unused     work
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

// listen opens the worker's listeners.
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
	w.publish(w.listeners[0])
	return nil
}

// bound is the address that the first listener of a server is bound to.
type bound struct {
	reactor.Address
	by      *listener
	unlink  string // the path of a unix socket that the server made
	binding int    // workers that are binding the address
}

// remove removes the path of a unix socket that the server made.
func (b *bound) remove() {
	if b.unlink != "" {
		_ = os.Remove(b.unlink)
	}
}

// bindAttempts bounds how often a worker tries to bind while another one does.
const bindAttempts = 5000

// listenOn opens the listener of the configured address. Each loop has its own socket on the same address
// (SO_REUSEPORT); a unix socket is duplicated. Several workers may do that at a time, without a lock, since they make
// system calls: the one that binds first publishes the address, and the others share it. The first socket is bound
// without SO_REUSEPORT, so that an address that another process listens on is an error.
func (w *worker) listenOn() error {
	s := w.server
	cfg := reactor.ListenConfig{Addr: w.cfg.Addr, Backlog: w.cfg.Backlog, Options: w.setOptions}
	if !cfg.Addr.IsValid() {
		cfg.Address = w.cfg.Address
	}
	for attempt := 0; ; attempt++ {
		if by, isBound := s.use(); isBound {
			err := w.share(by, cfg)
			s.unuse(by)
			return err
		}
		ln := &listener{w: w}
		err := w.openFirst(ln, cfg)
		first := err == nil && w.publish(ln)
		s.mu.Lock()
		s.bound.binding--
		others := s.bound.binding != 0 || s.bound.by != nil
		s.mu.Unlock()
		switch {
		case first:
			w.listeners = append(w.listeners, ln)
			return nil
		case err == nil:
			ln.closeSocket() // another port
		case !others || attempt == bindAttempts || !errors.Is(err, unix.EADDRINUSE):
			return cfg.OpError(err)
		}
		if runtime.Gosched(); attempt > 100 { // it was preempted
			time.Sleep(time.Millisecond)
		}
	}
}

// openFirst opens the listener that the other workers share.
func (w *worker) openFirst(ln *listener, cfg reactor.ListenConfig) error {
	cfg.Exclusive = !w.cfg.SharePort
	if err := ln.socket.OpenListener(w.loop, cfg); err != nil {
		return err
	}
	if family, err := ln.socket.Family(); w.server.loops == 1 || family == unix.AF_UNIX || err != nil {
		return err
	}
	err := os.NewSyscallError("setsockopt", ln.socket.SetReusePort(true))
	if err != nil {
		ln.closeSocket()
	}
	return err
}

// setOptions sets the options of a listener, which its connections inherit.
func (w *worker) setOptions(s *reactor.Socket) error {
	_ = s.SetNoDelay(true) // a unix socket has no such option
	return s.KeepAlive(w.cfg.KeepAlive)
}

// use returns the first listener, which is not closed until unuse; nil if it is being closed already. If no address is
// bound yet, the caller is to bind it.
func (s *Server) use() (by *listener, isBound bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch by = s.bound.by; {
	case by == nil:
		s.bound.binding++
		return nil, false
	case by.state != listenerOpen:
		return nil, true
	}
	by.users++
	return by, true
}

func (s *Server) unuse(ln *listener) {
	if ln == nil {
		return
	}
	s.mu.Lock()
	ln.users--
	last := ln.users == 0 && ln.state == listenerClosing
	s.mu.Unlock()
	if last {
		ln.unused.init(ln.closeSocket)
		ln.w.loop.Enqueue(&ln.unused.work)
	}
}

// publish makes ln the listener whose address the other workers share, unless one exists.
func (w *worker) publish(ln *listener) (first bool) {
	a, _ := ln.socket.LocalAddress()
	s := w.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound.by != nil {
		return false
	}
	s.bound.Address, s.bound.by = a, ln
	if name := a.Name(); !w.cfg.Address.IsZero() && name != "" && name[0] != '@' {
		s.bound.unlink = name
	}
	return true
}

// unpublish takes back what publish did, because the worker does not serve after all.
func (w *worker) unpublish() {
	s := w.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound.by != nil && s.bound.by.w == w {
		s.bound.remove()
		s.bound.by, s.bound.Address, s.bound.unlink = nil, reactor.Address{}, ""
	}
}

// share opens a listener with the address of another worker's, which is nil if that is being closed.
func (w *worker) share(other *listener, cfg reactor.ListenConfig) error {
	ln := &listener{w: w}
	switch {
	case w.server.bound.Family() != unix.AF_UNIX:
		cfg.Address = w.server.bound.Address
		if err := ln.socket.OpenListener(w.loop, cfg); err != nil {
			return cfg.OpError(err)
		}
	case other == nil:
		return cfg.OpError(net.ErrClosed)
	default:
		fd, err := other.socket.Dup()
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		ln.socket.Init(w.loop, fd)
	}
	w.listeners = append(w.listeners, ln)
	return nil
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
	ln := &listener{w: w, inherited: true}
	ln.socket.Init(w.loop, fd)
	if on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE); err == nil && on == 0 {
		_ = ln.socket.KeepAlive(w.cfg.KeepAlive)
	}
	w.listeners = append(w.listeners, ln)
	return nil
}

// discardListeners closes listeners that were not started.
func (w *worker) discardListeners() {
	w.unpublish()
	w.open = len(w.listeners)
	for _, ln := range w.listeners {
		ln.close()
	}
}

func (ln *listener) start() {
	ln.local, _ = ln.socket.LocalAddress()
	ln.anyAddress = ln.local.AddrPort().Addr().IsUnspecified()
	credit := reactor.Unlimited
	if limit := ln.w.cfg.MaxConnections; limit > 0 {
		ln.limited = true
		credit = max(limit/max(ln.w.server.loops, 1)/len(ln.w.listeners), 1)
	}
	ln.socket.AcceptMany(credit).Connect(&ln.accept, ln)
	ln.accept.Start()
}

// SetNext takes a connection.
func (ln *listener) SetNext(fd int) {
	if f := ln.w.server.task; f != nil {
		ln.w.spawn(ln, fd, f)
		return
	}
	ln.w.accepted(ln, fd)
}

// SetValue never happens: accepting has no end.
func (ln *listener) SetValue(struct{}) { ln.close() }

// SetStopped closes the listener and drains the worker, because the loop stops.
func (ln *listener) SetStopped() {
	ln.close()
	ln.w.drain()
}

// SetError shuts the server down if the listener has failed; of one that was closed it does nothing.
func (ln *listener) SetError(err error) {
	if ln.state != listenerOpen {
		return
	}
	err = fmt.Errorf("server: accept: %w", err)
	ln.w.cfg.ErrorLog.Error("a listener has failed", "err", err)
	ln.close()
	ln.w.server.fail(err)
}

// Env returns an empty environment.
func (ln *listener) Env() sender.Env { return sender.EmptyEnv{} }

func (ln *listener) connClosed() {
	if ln.limited && ln.state == listenerOpen {
		ln.accept.Grant(1)
	}
}

// acceptRest accepts what waits in the backlog when the server shuts down: closing the listener would reset that.
// Another process may accept from a listener that was inherited, and a limit of connections holds to the end.
func (ln *listener) acceptRest() {
	if ln.state != listenerOpen || ln.inherited || ln.limited {
		return
	}
	for range ln.w.backlog() {
		fd, err := ln.socket.TryAccept()
		if err != nil {
			return
		}
		ln.SetNext(fd)
	}
}

// backlog returns how many connections may wait to be accepted.
func (w *worker) backlog() int {
	if n := w.cfg.Backlog; n > 0 {
		return n
	}
	return reactor.Backlog
}

// close stops accepting.
func (ln *listener) close() {
	s := ln.w.server
	s.mu.Lock()
	first, used := ln.state == listenerOpen, ln.users != 0
	if first {
		ln.state = listenerClosing
	}
	s.mu.Unlock()
	if first && !used { // else unuse closes it
		ln.closeSocket()
	}
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
