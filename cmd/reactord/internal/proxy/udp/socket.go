package udp

import (
	"errors"
	"net/netip"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"golang.org/x/sys/unix"
)

// socket is a socket that clients send to. Usually a listener has one; there are more if the process was given the
// sockets of a process that had more loops. Its descriptor belongs to the loop from start on.
type socket struct {
	sender.EmptyEnv
	reactor.Socket
	listener  *Listener
	fd        int
	index     int
	recv      reactor.RecvMsgManyOp
	receives  bool
	timer     reactor.Timer // receives again after that has failed, or finds that it works
	failing   bool          // receiving has failed, and is not known to work again
	stop      stop.Source
	closing   reactor.CloseOp
	wildcard  bool // it has several addresses: control data says which one a datagram came to
	coalesces bool // the kernel makes one of several datagrams, and several of one
}

// socketCredit bounds the datagrams of a socket that wait to be sent.
const socketCredit = 256

// controlRoom is room for an IPV6_PKTINFO and a UDP_GRO.
var controlRoom = unix.CmsgSpace(unix.SizeofInet6Pktinfo) + unix.CmsgSpace(4)

// Add gives the listener a socket, which is bound. The index tells it from other sockets with the address, also in a
// process to come.
func (l *Listener) Add(fd, index int) {
	l.sockets = append(l.sockets, &socket{listener: l, fd: fd, index: index})
}

// FDs returns the descriptors of the listener's sockets.
func (l *Listener) FDs() (fds []int) {
	for _, s := range l.sockets {
		fds = append(fds, s.fd)
	}
	return fds
}

// SetIncomingCPU makes the sockets of a listener that was started prefer what a CPU receives: see
// [reactor.Socket.SetIncomingCPU].
func (l *Listener) SetIncomingCPU(cpu int) (err error) {
	for _, s := range l.sockets {
		err = errors.Join(err, s.Socket.SetIncomingCPU(cpu))
	}
	return err
}

// Discard closes the sockets of a listener that was not started.
func (l *Listener) Discard() {
	for _, s := range l.sockets {
		s.Init(l.Loop, s.fd)
		s.Socket.Discard()
	}
	l.sockets = nil
}

func (s *socket) start() {
	l := s.listener
	s.Init(l.Loop, s.fd)
	s.timer.Init(s)
	if a := l.Address.Addr(); !a.IsValid() || a.IsUnspecified() {
		s.wildcard = s.SetPacketInfo(true) == nil
	}
	s.coalesces = coalesce(&s.Socket)
}

// coalesce lets the kernel make one of several datagrams, if it can also make several of one.
func coalesce(s *reactor.Socket) bool {
	return s.SetSegmentSize(0) == nil && s.SetCoalescing(true) == nil
}

func (s *socket) receive() {
	s.receives = true
	s.RecvMsgMany(socketCredit, controlRoom).Whole().Connect(&s.recv, s)
	s.recv.Start()
}

// SetNext passes a datagram to the session of its client.
func (s *socket) SetNext(d reactor.Datagram) {
	l := s.listener
	in := l.take(d, s)
	k := key{client: d.From.AddrPort()}
	local := l.Address
	var pktinfo []byte
	if s.wildcard {
		a, info, several := in.destination()
		if several && !l.Broadcasts {
			in.release() // the socket of another loop has it, too
			return
		}
		if a.IsValid() {
			k.local, pktinfo = a, info
			local = netip.AddrPortFrom(a, local.Port())
		}
	}
	x := l.sessions[k]
	for b := d.Bytes(); ; {
		if x != nil && x.state != resting && x.lifetimeOver() {
			x.End(WhyLifetime)
			x = nil
		}
		if x == nil {
			if x = l.begin(k, d.From, s, local, pktinfo); x == nil {
				break
			}
		}
		n := x.allows(b, in.segment)
		x.request(in, b[:n])
		if b = b[n:]; len(b) == 0 {
			break
		}
		x = l.sessions[k]
	}
	in.release()
}

// grantCredit gives credit for a datagram that was sent.
func (s *socket) grantCredit() {
	if s.receives {
		s.recv.Grant(1)
	}
}

// SetValue cannot happen: datagrams have no end.
func (s *socket) SetValue(struct{}) { s.receives = false }

// SetError receives again after a back-off.
func (s *socket) SetError(err error) {
	l := s.listener
	s.receives = false
	if !l.receives {
		return
	}
	if !s.failing {
		s.failing = true
		l.Owner.Failed(err)
	}
	l.Loop.SetTimer(&s.timer, l.Loop.Now()+int64(reactor.AcceptBackoff))
}

// OnTimer receives again, and finds that it works if it has not failed a back-off later.
func (s *socket) OnTimer(int64) {
	if s.receives {
		s.recovered()
		return
	}
	s.receive()
	s.listener.Loop.SetTimer(&s.timer, s.listener.Loop.Now()+int64(reactor.AcceptBackoff))
}

func (s *socket) recovered() {
	if s.failing {
		s.failing = false
		s.listener.Owner.Recovered()
	}
}

// stopReceiving ends receiving, now or when it is tried again.
func (s *socket) stopReceiving() {
	s.listener.Loop.StopTimer(&s.timer)
	s.recovered()
	s.stop.RequestStop()
}

// SetStopped closes the listener if it is done, or if the loop is stopping.
func (s *socket) SetStopped() {
	s.receives = false
	if s.listener.receives {
		s.listener.receives = false
		s.listener.Close()
		return
	}
	s.listener.closeIfDone()
}

// StopToken returns what ends the receiving.
func (s *socket) StopToken() stop.Token { return s.stop.Token() }

// Env returns the socket, which has the stop token.
func (s *socket) Env() sender.Env { return s }

func (s *socket) close() {
	s.listener.Loop.StopTimer(&s.timer)
	s.recovered()
	s.Close().Connect(&s.closing, (*socketClosed)(s))
	s.closing.Start()
}

// socketClosed is a socket as the receiver of its closing.
type socketClosed socket

func (c *socketClosed) SetValue(struct{}) { c.listener.socketClosed((*socket)(c)) }
func (c *socketClosed) SetError(error)    { c.SetValue(struct{}{}) }
func (c *socketClosed) SetStopped()       { c.SetValue(struct{}{}) }
func (c *socketClosed) Env() sender.Env   { return sender.EmptyEnv{} }
