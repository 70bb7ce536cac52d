package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// ListenSocket is a socket that a listener accepts from.
type ListenSocket struct {
	Key  plan.ListenerKey
	Loop int // index of the loop that accepts from it
	FD   int
}

// ListenSockets duplicates the sockets of all listeners, in the order of the plan and of the loops. The caller closes
// the descriptors, which have FD_CLOEXEC. A process that is started with them as its [Config.Inherited] serves their
// queues together with this one. There are none once the proxy has stopped accepting. It may be called from any
// goroutine.
func (p *Proxy) ListenSockets() (all []ListenSocket, err error) {
	p.planning.Lock()
	defer p.planning.Unlock()
	if p.stopped {
		return nil, nil
	}
	for _, s := range p.table.Load().listeners {
		for _, l := range s.loops {
			for _, given := range l.fds() {
				fd, err := duplicate(given)
				if err != nil {
					CloseSockets(all)
					return nil, err
				}
				all = append(all, ListenSocket{Key: s.key, Loop: l.worker.index, FD: fd})
			}
		}
	}
	return all, nil
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
	closing  reactor.CloseOp
}

func (s *listenSocket) start() {
	s.Init(s.listener.worker.loop, s.fd)
	s.PollMany(unix.POLLIN).Connect(&s.poll, s)
	s.poll.Start()
}

// SetNext is called when connections are queued.
func (s *listenSocket) SetNext(uint32) { s.listener.queued() }

// SetValue cannot happen: a poll that repeats does not end by itself.
func (s *listenSocket) SetValue(struct{}) {}

// SetError is called when the socket cannot be polled any more.
func (s *listenSocket) SetError(err error) {
	l := s.listener
	if l.state != listenerServing {
		return
	}
	l.worker.proxy.log.Error("listener failed", zap.String("listener", l.name()), zap.Error(err))
	l.worker.drain()
}

// SetStopped is called when the loop is stopping because another one has failed.
func (s *listenSocket) SetStopped() { s.listener.worker.close() }

// Env is empty.
func (s *listenSocket) Env() sender.Env { return sender.EmptyEnv{} }

func (s *listenSocket) close() {
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

// drop closes the sockets that no plan can have any more: all, or those of a process before this one.
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

// open opens a listener on all loops: each loop accepts from the sockets that were given for it, or from one that is
// opened for it.
func (c *change) open(l *plan.Listener) (*sharedListener, error) {
	p := c.proxy
	s := &sharedListener{key: l.Key(), address: l.Bind}
	s.admission.budget = p.budget
	for _, w := range p.workers {
		s.loops = append(s.loops, newListener(w, s))
	}
	given, err := p.inherited.take(s.key)
	if err != nil {
		return nil, err
	}
	for i, fd := range given {
		s.loops[i%len(s.loops)].add(fd)
	}
	if len(given) == 0 && s.address.Port() != 0 && !c.occupied(s) {
		err = s.loops[0].probe(s.address)
	}
	for _, l := range s.loops {
		if err == nil {
			err = s.complete(l)
		}
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// fds are the descriptors of the listener's sockets.
func (l *listener) fds() (fds []int) {
	if l.udp != nil {
		return l.udp.FDs()
	}
	for _, s := range l.sockets {
		fds = append(fds, s.fd)
	}
	return fds
}

// complete sees to it that the listener has a socket on a loop, and knows its address.
func (s *sharedListener) complete(l *listener) (err error) {
	switch {
	case l.udp != nil:
		return s.completeUDP(l)
	case len(l.sockets) != 0:
		err = l.check()
	case s.key.FD != "": // it may not share its address: the loops share the socket
		var fd int
		if fd, err = duplicate(s.loops[0].sockets[0].fd); err == nil {
			l.add(fd)
		}
	default:
		return l.listen(s)
	}
	if err == nil && s.address.Port() == 0 {
		s.address, err = l.sockets[0].address(l.worker.loop)
	}
	return err
}

// address is the address of a socket that was given.
func (s *listenSocket) address(loop *reactor.Loop) (netip.AddrPort, error) {
	var socket reactor.Socket
	socket.Init(loop, s.fd)
	defer socket.Release()
	return socket.LocalAddr()
}

// check reports whether the sockets that were given can be accepted from.
func (l *listener) check() error {
	for _, s := range l.sockets {
		fd := s.fd
		unix.CloseOnExec(fd)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if err := unix.SetNonblock(fd, true); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		if err != nil || on == 0 {
			return errors.New("the socket that was passed does not listen (Accept=no, ListenStream=)")
		}
	}
	return nil
}

// occupied reports whether a listener of this process has the address, or one that overlaps it, now or with this
// change.
func (c *change) occupied(by *sharedListener) bool {
	a := by.address
	for _, all := range [][]*sharedListener{c.proxy.table.Load().listeners, c.opened} {
		for _, s := range all {
			b := s.address
			if s.isUDP() == by.isUDP() && b.Port() == a.Port() && (b.Addr() == a.Addr() || b.Addr().IsUnspecified() || a.Addr().IsUnspecified()) {
				return true
			}
		}
	}
	return false
}

// probe fails if another process listens on an address. The loops share addresses by SO_REUSEPORT: without the probe
// they would share them with another reactord, too. It is not used for addresses that this process listens on.
func (l *listener) probe(addr netip.AddrPort) error {
	a, err := reactor.IPAddress(addr)
	if err != nil {
		return err
	}
	var s reactor.Socket
	kind := unix.SOCK_STREAM
	if l.udp != nil {
		kind = unix.SOCK_DGRAM
	}
	if err := s.Open(l.worker.loop, a.Family(), kind, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer s.Discard()
	if l.udp == nil { // sockets for datagrams would share the address
		if err := s.SetReuseAddr(true); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if err := dualStack(&s, addr); err != nil {
		return err
	}
	return os.NewSyscallError("bind", s.Bind(a))
}

// listen opens a socket for a loop. If the port is any free one, the other loops take the one that the first was given.
func (l *listener) listen(shared *sharedListener) error {
	a, err := reactor.IPAddress(shared.address)
	if err != nil {
		return err
	}
	var s reactor.Socket
	err = s.OpenListener(l.worker.loop, reactor.ListenConfig{
		Address: a, Options: func(s *reactor.Socket) error {
			_ = s.SetNoDelay(true) // before the first connection: see listenSocket.start
			return dualStack(s, shared.address)
		},
	})
	if err != nil {
		return err
	}
	if shared.address.Port() == 0 {
		shared.address, err = s.LocalAddr()
	}
	l.add(s.Release())
	return err
}

// add takes over a socket.
func (l *listener) add(fd int) {
	if l.udp != nil {
		l.udp.Add(fd)
		return
	}
	l.sockets = append(l.sockets, &listenSocket{listener: l, fd: fd})
}

// dualStack makes [::] every address, whatever net.ipv6.bindv6only is.
func dualStack(s *reactor.Socket, addr netip.AddrPort) error {
	if ip := addr.Addr(); !ip.Is6() || !ip.IsUnspecified() {
		return nil
	}
	return os.NewSyscallError("setsockopt", s.SetIPv6Only(false))
}

// discard closes a listener that has not been started.
func (s *sharedListener) discard() {
	for _, l := range s.loops {
		l.discard()
	}
}

func (l *listener) discard() {
	if l.udp != nil {
		l.udp.Discard()
	}
	for _, s := range l.sockets {
		var socket reactor.Socket
		socket.Init(l.worker.loop, s.fd)
		socket.Discard()
	}
	l.sockets = nil
}
