package proxy

import (
	"fmt"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// ListenSocket is a socket that a listener accepts from.
type ListenSocket struct {
	Key  plan.ListenerKey
	Loop int // index of the loop that accepts from it
	FD   int
}

// ListenSockets duplicates the sockets of all listeners, in the order of the plan: the first sockets of the loops, then
// the second ones, and so on, so that sockets keep their order from process to process. The caller closes the
// descriptors, which have FD_CLOEXEC. A process that is started with them as its [Config.Inherited] serves their
// queues together with this one. There are none once the proxy has stopped accepting. It may be called from any
// goroutine.
func (p *Proxy) ListenSockets() (all []ListenSocket, err error) {
	p.planning.Lock()
	defer p.planning.Unlock()
	if p.stopped {
		return nil, nil
	}
	for _, s := range p.table.Load().listeners {
		for i, given := range s.sockets() {
			fd, err := duplicate(given)
			if err != nil {
				CloseSockets(all)
				return nil, err
			}
			all = append(all, ListenSocket{Key: s.key, Loop: i % len(s.loops), FD: fd})
		}
	}
	return all, nil
}

// sockets returns the descriptors of the listener's sockets. The one with an index belongs to the loop with that index,
// modulo the number of loops.
func (s *sharedListener) sockets() (all []int) {
	for round := 0; ; round++ {
		found := false
		for _, l := range s.loops {
			if fds := l.fds(); round < len(fds) {
				all, found = append(all, fds[round]), true
			}
		}
		if !found {
			return all
		}
	}
}

func duplicate(fd int) (int, error) {
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return fd, os.NewSyscallError("fcntl", err)
}

// CloseSockets closes the descriptors.
func CloseSockets(all []ListenSocket) {
	for _, s := range all {
		_ = unix.Close(s.FD)
	}
}

// listenSocket is a socket of a listener on one loop. Usually there is one; there are more if the process was given the
// sockets of a process that had more loops. Its descriptor belongs to the loop from start on: the loop may end before.
type listenSocket struct {
	reactor.Socket
	fd       int
	listener *listener
	poll     reactor.PollManyOp
	again    reactor.Timer // polls again after that has failed, or finds that it works
	polls    bool
	fails    bool // polling has failed, and is not known to work again
	closing  reactor.CloseOp
}

func (s *listenSocket) start() {
	s.Init(s.listener.worker.loop, s.fd)
	s.again.Init(s)
	s.arm()
}

func (s *listenSocket) arm() {
	s.polls = true
	s.PollMany(unix.POLLIN).Connect(&s.poll, s)
	s.poll.Start()
}

// SetNext accepts what is queued.
func (s *listenSocket) SetNext(uint32) { s.listener.acceptQueued() }

// SetValue cannot happen: a poll that repeats does not end by itself.
func (s *listenSocket) SetValue(struct{}) {}

// SetError polls the socket again after a back-off.
func (s *listenSocket) SetError(err error) {
	l := s.listener
	s.polls = false
	if l.state != listenerServing {
		return
	}
	if !s.fails {
		s.fails = true
		l.failed(err)
	}
	l.worker.loop.SetTimer(&s.again, l.worker.loop.Now()+int64(reactor.AcceptBackoff))
}

// OnTimer polls again, and finds that it works if it has not failed a back-off later.
func (s *listenSocket) OnTimer(int64) {
	l := s.listener
	if s.polls {
		s.fails = false
		l.recovered()
		return
	}
	s.arm()
	l.worker.loop.SetTimer(&s.again, l.worker.loop.Now()+int64(reactor.AcceptBackoff))
}

// SetStopped closes the worker: the loop is stopping because another one has failed.
func (s *listenSocket) SetStopped() { s.listener.worker.close() }

// Env returns an empty environment.
func (s *listenSocket) Env() sender.Env { return sender.EmptyEnv{} }

func (s *listenSocket) close() {
	s.listener.worker.loop.StopTimer(&s.again)
	if s.fails {
		s.listener.stats.failing.Add(-1)
	}
	s.Close().Connect(&s.closing, (*listenSocketClosed)(s))
	s.closing.Start()
}

// listenSocketClosed is a listenSocket as the receiver of its closing.
type listenSocketClosed listenSocket

func (c *listenSocketClosed) SetValue(struct{}) { c.listener.socketClosed((*listenSocket)(c)) }
func (c *listenSocketClosed) SetError(error)    { c.SetValue(struct{}{}) }
func (c *listenSocketClosed) SetStopped()       { c.SetValue(struct{}{}) }
func (c *listenSocketClosed) Env() sender.Env   { return sender.EmptyEnv{} }

// inherited is the sockets that the process was given, by their listeners. Those of the service manager are kept for
// the plans to come; those of a process before this one are for the first plan only.
type inherited map[plan.ListenerKey][]int

func newInherited(sockets []ListenSocket) inherited {
	in := inherited{}
	for _, s := range sockets {
		key := inheritedKey(s.Key)
		in[key] = append(in[key], s.FD)
	}
	return in
}

// inheritedKey leaves out what the name of a service manager's socket does not tell.
func inheritedKey(key plan.ListenerKey) plan.ListenerKey {
	if key.FD != "" {
		return plan.ListenerKey{FD: key.FD}
	}
	return key
}

// take returns the sockets of a listener, which the caller closes.
func (in inherited) take(key plan.ListenerKey) (fds []int, err error) {
	key = inheritedKey(key)
	if key.FD == "" {
		fds = in[key]
		delete(in, key)
		return fds, nil
	}
	for _, fd := range in[key] {
		copied, err := duplicate(fd)
		if err != nil {
			closeAll(fds)
			return nil, err
		}
		fds = append(fds, copied)
	}
	if len(fds) == 0 {
		return nil, fmt.Errorf("the service manager has passed no socket of this name (FileDescriptorName=)")
	}
	return fds, nil
}

// drop closes the sockets that no plan can have: all, or those of a process before this one.
func (in inherited) drop(all bool) {
	for key, fds := range in {
		if all || key.FD == "" {
			closeAll(fds)
			delete(in, key)
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
