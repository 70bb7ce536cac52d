//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
	"golang.org/x/sys/unix"
)

// Server is a server on one or more loops.
type Server struct {
	cfg        Config
	newHandler func(*reactor.Loop) Handler
	task       taskFunc // instead
	loops      int      // how many loops there will be; 0 if unknown

	mu      sync.Mutex // held for a moment, and never during a system call
	state   serverState
	workers []*worker
	ended   int                 // how many of workers have ended
	cut     int                 // how many connections the end of the grace has closed
	left    task.AbandonedError // the tasks that did not end even then
	bound   bound               // where the first listener is bound
	failed  error               // the first listener that has failed
	done    chan struct{}
	onDone  func() // called when done is closed
}

// serverState is the state of a server.
//
//	serving  → draining   Shutdown, or a listener has failed
//	draining → ended      all workers have ended
type serverState uint8

const (
	serving serverState = iota
	draining
	ended
)

// Serve makes loops and serves with handlers on them until ctx is done. newHandler is called on each loop's thread.
// Then it shuts down, as [Server.Shutdown] does.
//
// It returns nil when ctx is done and the connections have ended by themselves, an error that matches
// os.ErrDeadlineExceeded if some were closed at the end of the grace, and otherwise the error of a listener or a loop.
// An error that matches [task.ErrAbandoned] names the tasks that did not even end then.
func Serve(ctx context.Context, cfg Config, newHandler func(*reactor.Loop) Handler) error {
	s, err := New(cfg, newHandler)
	if err != nil {
		return err
	}
	return s.serve(ctx)
}

// New makes a server for loops that the program has. It does nothing before [Server.On].
func New(cfg Config, newHandler func(*reactor.Loop) Handler) (*Server, error) {
	if newHandler == nil {
		return nil, errors.New("server: New needs a function that makes handlers")
	}
	return newServer(cfg, newHandler)
}

func newServer(cfg Config, newHandler func(*reactor.Loop) Handler) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg, newHandler: newHandler, loops: max(cfg.Reactor.Loops, 0), done: make(chan struct{})}, nil
}

func (s *Server) serve(ctx context.Context) error {
	r, err := reactor.New(s.cfg.Reactor)
	if err != nil {
		return err
	}
	s.loops = len(r.Loops())
	s.onDone = r.Stop
	defer context.AfterFunc(ctx, s.Shutdown)()
	var up atomic.Int32
	var refused atomic.Bool
	err = r.Run(func(l *reactor.Loop) error {
		switch err := s.On(l); {
		case errors.Is(err, net.ErrClosed): // ctx is done already
			return nil
		case err != nil && refused.Swap(true): // another loop reports it
			return nil
		case err != nil:
			return err
		}
		if int(up.Add(1)) == s.loops && s.cfg.Ready != nil {
			s.cfg.Ready(s.Addr())
		}
		return nil
	})
	return errors.Join(s.Err(), err)
}

// On serves on a loop. It is called on the loop's thread, such as in the setup of [reactor.Reactor.Run], once for each
// loop. When the server shuts down, or the loop stops, the connections of the loop are ended; the loop continues.
//
// The error is that of listening. It matches net.ErrClosed if the server is shutting down.
func (s *Server) On(l *reactor.Loop) error {
	if s.isOn(l) {
		return fmt.Errorf("server: On of loop %s, on which the server is already: call it once for each loop", l.Name())
	}
	w := newWorker(s, l)
	err := w.listen()
	s.mu.Lock()
	if err == nil && s.state != serving {
		err = fmt.Errorf("server: On of a server that was shut down: %w", net.ErrClosed)
	}
	if err == nil {
		s.workers = append(s.workers, w)
	}
	s.mu.Unlock()
	if err != nil {
		w.discardListeners()
		return err
	}
	w.start()
	return nil
}

// isOn reports whether the server is on a loop.
func (s *Server) isOn(l *reactor.Loop) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.workers, func(w *worker) bool { return w.loop == l })
}

// Addr returns the address that the first listener is bound to; nil before [Server.On]. From any thread.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound.NetAddr(unix.SOCK_STREAM)
}

// Done returns a channel that is closed when the server has shut down and its last connection has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the server has ended: nil, the error of a listener, or an error that matches os.ErrDeadlineExceeded
// if connections were closed at the end of the grace, and [task.ErrAbandoned] if tasks did not end even then. From any
// thread.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.failed
	if err == nil && s.cut > 0 {
		err = fmt.Errorf("%d connections did not end: %w", s.cut, &TimeoutError{GraceDeadline, max(s.cfg.Grace, 0)})
	}
	if s.left.Tasks > 0 {
		err = errors.Join(err, fmt.Errorf("server: %w", &s.left))
	}
	return err
}

// Shutdown ends the server gracefully. From any thread, more than once. It does not wait: see [Server.Done].
//
// What waits in the backlog is accepted and ended, rather than reset; nothing more is accepted. Connections are no
// longer read from: what their handlers have produced is sent, then EOF. A connection that its handler has paused,
// because it has yet to answer, is ended when it is resumed. A handler that is a [DrainHandler] is called. What is left
// after Config.Grace is closed. A task that has not ended a second later, because it ignores that, is abandoned: see
// [NewTask].
func (s *Server) Shutdown() {
	s.mu.Lock()
	first := s.state == serving
	if first {
		s.state = draining
	}
	workers := s.workers
	s.mu.Unlock()
	if !first {
		return
	}
	for _, w := range workers {
		w.loop.Enqueue(&w.shutdown.work)
	}
	s.endIfDone()
}

// fail shuts the server down because a listener has failed.
func (s *Server) fail(err error) {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = err
	}
	s.mu.Unlock()
	s.Shutdown()
}

// workerEnded takes in the end of a worker, which has no listener and no connection left. On its loop's thread.
func (s *Server) workerEnded(cut int, left *task.AbandonedError) {
	s.mu.Lock()
	s.ended++
	s.cut += cut
	s.left.Merge(left)
	s.mu.Unlock()
	s.endIfDone()
}

func (s *Server) endIfDone() {
	s.mu.Lock()
	done := s.state == draining && s.ended == len(s.workers)
	if done {
		s.state = ended
		s.bound.remove()
	}
	s.mu.Unlock()
	if !done {
		return
	}
	close(s.done)
	if s.onDone != nil {
		s.onDone()
	}
}
