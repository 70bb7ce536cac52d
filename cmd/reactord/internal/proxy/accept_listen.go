package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/unixsocket"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// open opens a listener on all loops: each loop accepts from the sockets that were given for it, or from one that is
// opened for it. The loops share the socket if there can be one only. Of UDP, only as many loops receive as sockets
// were given, if some were: another one would get datagrams of clients whose sessions other loops have.
func (c *change) open(l *plan.Listener) (*sharedListener, error) {
	p := c.proxy
	s := p.newSharedListener(l.Key(), l.Bind, l.Path)
	for _, w := range p.workers {
		one := newListener(w, s)
		one.options = l.Socket
		s.loops = append(s.loops, one)
	}
	given, err := p.inherited.take(s.key)
	if err != nil {
		return nil, err
	}
	s.given = len(given)
	for i, fd := range given {
		s.loops[i%len(s.loops)].add(fd)
	}
	switch {
	case s.path != "":
		err = s.openUnix(l)
	case len(given) == 0 && s.address.Port() != 0 && !c.occupied(s):
		err = s.probe(s.loops[0])
	}
	loops := s.loops
	if s.isUDP() && len(given) != 0 {
		loops = loops[:min(len(given), len(loops))]
	}
	for _, one := range loops {
		if err == nil {
			err = s.complete(one)
		}
	}
	if err == nil && len(loops) < len(s.loops) {
		p.log.Info("a UDP listener has the sockets that the process was given: the other loops receive nothing from it",
			zap.String("listener", l.Name), zap.Int("sockets", len(given)), zap.Int("loops", len(s.loops)))
	}
	if err == nil && s.path != "" && len(l.Allow)+len(l.Deny) > 0 && len(l.ProxyProtocol.Trusted) == 0 {
		err = errors.New("the socket that was passed is a unix socket, whose clients have no address: " +
			"remove allow and deny")
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// complete sees to it that the listener has a socket on a loop, and knows its address.
func (s *sharedListener) complete(l *listener) (err error) {
	switch {
	case len(l.fds()) != 0:
		err = l.check()
	case s.key.FD != "" || s.path != "":
		var fd int
		if fd, err = duplicate(s.loops[0].fds()[0]); err == nil {
			l.add(fd)
		}
	default:
		return l.listen()
	}
	if err == nil && s.address.Port() == 0 && s.path == "" {
		s.address, s.path, err = boundTo(l.worker.loop, l.fds()[0])
	}
	return err
}

// boundTo returns the address, or the path, of a socket that was given.
func boundTo(loop *reactor.Loop, fd int) (netip.AddrPort, string, error) {
	var socket reactor.Socket
	socket.Init(loop, fd)
	defer socket.Release()
	a, err := socket.LocalAddress()
	return a.AddrPort(), a.Name(), err
}

// check reports whether the sockets that were given are of the kind that the listener needs, and prepares them.
func (l *listener) check() error {
	for _, fd := range l.fds() {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		if err := suits(fd, l.shared.key); err != nil {
			return err
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if err := setOptions(fd, l.shared.key, l.options, config.Socket{}); err != nil {
			return err
		}
	}
	return nil
}

// suits returns an error unless a socket is of the kind that a listener needs.
func suits(fd int, key plan.ListenerKey) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	if key.IsUDP() {
		family, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
		if kind != unix.SOCK_DGRAM || family == unix.AF_UNIX {
			return errors.New("the socket that was passed is not one of UDP (ListenDatagram=HOST:PORT)")
		}
		return nil
	}
	on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	switch {
	case kind == unix.SOCK_DGRAM && key.FD != "":
		return fmt.Errorf("the socket that was passed is for datagrams: write fd+udp://%s", key.FD)
	case kind != unix.SOCK_STREAM, err != nil, on == 0:
		return errors.New("the socket that was passed does not listen (Accept=no, ListenStream=)")
	}
	return nil
}

// occupied reports whether a listener of this process has the address, or one that overlaps it, now or with this
// change.
func (c *change) occupied(l *sharedListener) bool {
	a := l.address
	for _, all := range [][]*sharedListener{c.proxy.table.Load().listeners, c.opened} {
		for _, s := range all {
			b := s.address
			if s.isUDP() == l.isUDP() && b.Port() == a.Port() &&
				(b.Addr() == a.Addr() || b.Addr().IsUnspecified() || a.Addr().IsUnspecified()) {
				return true
			}
		}
	}
	return false
}

// probe fails if another process listens on the address. The loops share addresses by SO_REUSEPORT: without the probe
// they would share them with another reactord, too. It is not used for addresses that this process listens on.
func (s *sharedListener) probe(l *listener) error {
	a, err := reactor.IPAddress(s.address)
	if err != nil {
		return err
	}
	var socket reactor.Socket
	kind := unix.SOCK_STREAM
	if s.isUDP() {
		kind = unix.SOCK_DGRAM
	}
	if err := socket.Open(l.worker.loop, a.Family(), kind, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer socket.Discard()
	if !s.isUDP() { // with it several sockets for datagrams could have the address
		if err := socket.SetReuseAddr(true); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if err := bindOptions(&socket, s.key, &l.options); err != nil {
		return err
	}
	return os.NewSyscallError("bind", socket.Bind(a))
}

// listen opens a socket for a loop. If the port is any free one, the other loops take the one that the first was given.
func (l *listener) listen() error {
	shared := l.shared
	a, err := reactor.IPAddress(shared.address)
	if err != nil {
		return err
	}
	cfg := reactor.ListenConfig{
		Address: a, Backlog: backlog(&l.options), Options: func(s *reactor.Socket) error {
			if err := bindOptions(s, shared.key, &l.options); err != nil {
				return err
			}
			if l.udp != nil {
				_ = s.SetRecvBuffer(udpReceiveBuffer) // as far as net.core.rmem_max allows
			} else {
				_ = s.SetNoDelay(true) // before the first connection, which inherits it
			}
			o := l.options
			o.Backlog = 0 // comes last
			return setOptions(s.Fd(), shared.key, o, config.Socket{})
		},
	}
	var s reactor.Socket
	if l.udp != nil {
		err = s.ListenPacket(l.worker.loop, cfg)
	} else {
		err = s.OpenListener(l.worker.loop, cfg)
	}
	if err != nil {
		return err
	}
	if shared.address.Port() == 0 {
		shared.address, err = s.LocalAddr()
	}
	l.add(s.Release())
	return err
}

// backlog returns the limit of connections that wait to be accepted; by default net.core.somaxconn bounds it.
func backlog(o *config.Socket) int { return cmp.Or(o.Backlog, math.MaxInt32) }

// openUnix opens a unix socket, or finds the file of the one that was given.
func (s *sharedListener) openUnix(l *plan.Listener) (err error) {
	first := s.loops[0]
	if s.access, err = unixAccess(l); err != nil {
		return err
	}
	if len(first.sockets) != 0 && !strings.HasPrefix(s.path, "@") {
		s.file, err = unixsocket.Adopt(s.path)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.discard() // no client can connect to the one that was given
	}
	if len(first.sockets) == 0 {
		var fd int
		if fd, s.file, err = unixsocket.Listen(s.path, s.access, backlog(&l.Socket)); err != nil {
			return err
		}
		first.add(fd)
		s.made = true
	}
	return nil
}

// unixAccess returns who may connect to the unix socket of a listener.
func unixAccess(l *plan.Listener) (unixsocket.Access, error) {
	return unixsocket.NewAccess(fs.FileMode(l.Socket.Mode), l.Socket.Owner, l.Socket.Group)
}

// add takes over a socket. See [sharedListener.sockets] for the index of one of UDP.
func (l *listener) add(fd int) {
	if l.udp != nil {
		l.udp.Add(fd, l.worker.index+len(l.udp.FDs())*len(l.shared.loops))
		return
	}
	l.sockets = append(l.sockets, &listenSocket{listener: l, fd: fd})
}

// fds returns the descriptors of the listener's sockets.
func (l *listener) fds() (fds []int) {
	if l.udp != nil {
		return l.udp.FDs()
	}
	for _, s := range l.sockets {
		fds = append(fds, s.fd)
	}
	return fds
}

// place returns where the listener listens, as [plan.Listener.Place] does, with the port or the path of its sockets.
func (s *sharedListener) place() string {
	k := s.key
	if k.Bind = s.address; k.FD != "" && (s.address.IsValid() || s.path != "") {
		k.FD, k.Path = "", s.path
	}
	return k.Place()
}

// discard closes a listener that has not been started.
func (s *sharedListener) discard() {
	for _, l := range s.loops {
		l.discard()
	}
	if s.made {
		_ = s.file.Remove()
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
