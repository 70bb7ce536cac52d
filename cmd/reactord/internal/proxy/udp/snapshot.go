package udp

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/reactord/reactord/reactor"
)

// Snapshot is what a session is on its way to another process, apart from the socket for the server: see
// [Session.Rest].
type Snapshot struct {
	Client     netip.AddrPort
	Local      netip.Addr // that the client has asked, if the listener has several
	PacketInfo []byte     // control data, for replies to leave from there
	Socket     int        // see [Listener.Add]
	Datagrams  [2]uint64
	Bytes      [2]uint64
	Requests   int
	Responses  int
	Confirmed  bool // the client has sent a datagram after an answer
	Bound      bool // its next datagram belongs to the session
}

// Rest brings the session to rest: the sender joins what is in flight on the socket for the server. Until
// [Session.Resume] the session does not become idle, datagrams of the client wait, and those of the server stay in the
// socket. The session ends nevertheless when its owner says so, or if the last datagrams tell that it is over.
func (s *Session) Rest() reactor.QuiesceSender {
	s.flush()
	s.state = resting
	s.listener.idle.remove(s)
	return s.socket.Quiesce()
}

// CanRest reports whether Rest may be called: the session has a socket that is connected, and clients' datagrams are
// received no longer.
func (s *Session) CanRest() bool { return s.state == flowing && !s.listener.Receiving() }

// Settings returns the settings of the session. They are not changed.
func (s *Session) Settings() *Settings { return s.settings }

// Header returns what comes in front of each datagram of the client, or nil. It is not changed.
func (s *Session) Header() []byte { return s.header }

// Ends returns when the session ends in any case, as Loop.Now; 0: never.
func (s *Session) Ends() int64 { return s.ends }

// Snapshot returns what the session is.
func (s *Session) Snapshot() Snapshot {
	return Snapshot{
		Client: s.key.client, Local: s.key.local, PacketInfo: s.pktinfo, Socket: s.via.index,
		Datagrams: s.datagrams, Bytes: s.bytes,
		Requests: s.requests, Responses: s.responses, Confirmed: s.confirmed, Bound: s.bound,
	}
}

// Socket returns the index of the socket that the client sends to.
func (s *Session) Socket() int { return s.via.index }

// FD returns the descriptor of the socket for the server.
func (s *Session) FD() int { return s.socket.Fd() }

// Arrive adds a session of another process, which rests until [Session.Resume]. Its owner has initialized it. active is
// the time of its last datagram, on the clock of [Session.IdleSince]. The listener was started. An error says that it
// does not have the socket of the session.
//
// If the client has a session here already, that only passes on replies from now on: the server knows the one that
// arrives for longer. Of two that arrive, the first one has the client.
func (l *Listener) Arrive(s *Session, from *Snapshot, fd int, active int64) error {
	client, err := reactor.IPAddress(from.Client)
	if err != nil {
		return err
	}
	via := slices.IndexFunc(l.sockets, func(s *socket) bool { return s.index == from.Socket })
	if via < 0 {
		return errNoSocket
	}
	s.listener, s.via, s.client, s.pktinfo = l, l.sockets[via], client, from.PacketInfo
	s.key = key{client: from.Client, local: from.Local}
	s.datagrams, s.bytes, s.requests, s.responses = from.Datagrams, from.Bytes, from.Requests, from.Responses
	s.confirmed, s.state, s.active = from.Confirmed, resting, active
	s.socket.Init(l.Loop, fd)
	l.count++
	s.arrived = true
	if other := l.sessions[s.key]; from.Bound && (other == nil || !other.arrived) {
		if other != nil {
			l.unbind(other)
		}
		l.bind(s)
	}
	return nil
}

var errNoSocket = errors.New("the listener does not have the socket")

// Resume continues a session that rests; or ends it, if its listener was closed meanwhile.
func (s *Session) Resume() {
	switch {
	case s.state != resting:
	case s.listener.ends:
		s.End(WhyOwner)
	default:
		s.listener.idle.insert(s)
		s.connected()
	}
}

// Accepts reports whether sessions may arrive.
func (l *Listener) Accepts() bool { return l.state == serving }
