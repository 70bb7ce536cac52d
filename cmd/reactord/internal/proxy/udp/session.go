package udp

import (
	"errors"
	"net/netip"
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// sessionState is the state of a session:
//
//	connecting → flowing  connected: datagrams are sent to the server
//	flowing    → resting  Rest; a session that has arrived begins there
//	resting    → flowing  Resume
//	any        → ending   End: its socket is closed
//	ending     → ended    the socket is closed, or there was none
type sessionState uint8

const (
	connecting sessionState = iota // datagrams wait in waiting
	resting                        // the same
	flowing
	ending
	ended
)

// Session is the datagrams of a client and of the server that was chosen for it. It is initialized by [Session.Init].
type Session struct {
	account  Account
	settings *Settings
	to       netip.AddrPort // the server
	header   []byte         // in front of each datagram of the client, if not nil
	ends     int64          // when the lifetime has passed; 0: never

	listener *Listener
	key      key
	client   reactor.Address
	via      *socket // that replies are sent by
	pktinfo  []byte  // the address that replies leave from; none: the kernel knows
	links    intrusive.Links
	queue    *idleQueue // that links are on, if any
	active   int64      // time of the last datagram

	socket    reactor.Socket // connected to the server
	recv      reactor.RecvMsgManyOp
	closing   reactor.CloseOp
	dial      *dial
	waiting   []*packet // until the session flows
	pending   [2]int    // datagrams of each side that are being sent
	requests  int
	responses int
	datagrams [2]uint64
	bytes     [2]uint64
	state     sessionState
	why       Why
	confirmed bool // the client has sent a datagram after an answer
	bound     bool // it is in the table of the listener
	receives  bool
	arrived   bool // from another process
	oneByOne  bool // the kernel, or the way to the server, does not take several datagrams as one
	segments  bool // the server's socket can
}

// sessionCredit bounds the datagrams of a server that wait to be sent to the client.
const sessionCredit = 64

// maxPending bounds the datagrams of a session that wait to be sent in each direction.
const maxPending = 64

// Init initializes a session to a server. header is what comes in front of each datagram of the client, or nil; it is
// not changed. ends is when the session ends in any case, as Loop.Now; 0: never.
func (s *Session) Init(a Account, settings *Settings, to netip.AddrPort, header []byte, ends int64) {
	s.account, s.settings, s.to, s.header, s.ends = a, settings, to, header, ends
}

// Client returns the client's address.
func (s *Session) Client() netip.AddrPort { return s.key.client }

// Moved returns how many datagrams and bytes have been taken from the client and from the server.
func (s *Session) Moved() (datagrams, bytes [2]uint64) { return s.datagrams, s.bytes }

// IdleSince returns the time of the last datagram, on the clock of the loop less its [reactor.Loop.Stalled].
func (s *Session) IdleSince() int64 { return s.active }

// Over reports whether the session has ended, or is ending.
func (s *Session) Over() bool { return s.state >= ending }

// dial is the state of a session until its socket is connected.
type dial struct {
	sender.EmptyEnv
	session *Session
	op      reactor.DialOp
}

// start opens the socket for the server.
func (s *Session) start() {
	l := s.listener
	family := unix.AF_INET6
	if s.to.Addr().Is4() {
		family = unix.AF_INET
	}
	if err := s.socket.Open(l.Loop, family, unix.SOCK_DGRAM, 0); err != nil {
		s.account.Refused(err)
		s.leave(WhyLocal)
		s.finish()
		return
	}
	_ = s.socket.SetReceiveErrors(true)
	if err := s.account.Bind(&s.socket); err != nil {
		s.fail(err)
		return
	}
	s.dial = l.dials.Get()
	s.dial.session = s
	s.socket.Dial(s.to).Connect(&s.dial.op, s.dial)
	s.dial.op.Start()
}

// SetValue begins to carry datagrams: the socket is connected.
func (d *dial) SetValue(struct{}) {
	if s := d.done(); s.state == connecting {
		s.connected()
	}
}

// SetError ends the session: there is no way to the server.
func (d *dial) SetError(err error) {
	if s := d.done(); s.state == connecting {
		s.fail(err)
	}
}

// SetStopped ends the session: it is closed, or the loop is stopping.
func (d *dial) SetStopped() { d.done().End(WhyOwner) }

// Env returns an empty environment.
func (d *dial) Env() sender.Env { return d }

func (d *dial) done() *Session {
	s := d.session
	s.dial, d.session = nil, nil
	s.listener.dials.Keep(d)
	return s
}

// forgetErrors empties the queue of errors of the server's socket, where Linux also puts that a datagram is too long:
// what is left there takes the room of datagrams that arrive.
func (s *Session) forgetErrors() {
	if !s.Over() {
		_ = s.socket.SetReceiveErrors(false)
		_ = s.socket.SetReceiveErrors(true)
	}
}

// connected begins to carry datagrams.
func (s *Session) connected() {
	s.state = flowing
	s.segments = coalesce(&s.socket)
	s.receive()
	waiting := s.waiting
	s.waiting = nil
	for _, p := range waiting {
		p.send()
	}
}

func (s *Session) receive() {
	s.receives = true
	s.socket.RecvMsgMany(sessionCredit, unix.CmsgSpace(4)).Whole().Connect(&s.recv, (*replies)(s))
	s.recv.Start()
}

// lifetimeOver reports whether the session has been there for as long as it may.
func (s *Session) lifetimeOver() bool { return s.ends != 0 && s.listener.Loop.Now() >= s.ends }

// allows returns how many bytes of b, which are datagrams of the client, are the session's: all, unless it has a limit.
func (s *Session) allows(b []byte, segment int) int {
	if s.settings.Requests == 0 {
		return len(b)
	}
	return min(len(b), (s.settings.Requests-s.requests)*segment)
}

// request passes on datagrams of the client.
func (s *Session) request(in *received, b []byte) {
	s.touch()
	if s.responses != 0 && !s.confirmed {
		s.confirm()
	}
	s.requests += datagrams(b, in.segment)
	s.note(client, b, in.segment)
	s.send(client, in, b)
	if n := s.settings.Requests; n != 0 && s.requests >= n {
		s.listener.unbind(s)
	}
}

func (s *Session) note(from int, b []byte, segment int) {
	s.datagrams[from] += uint64(datagrams(b, segment))
	s.bytes[from] += uint64(len(b))
}

// answered reports whether the session has its requests, and the responses to all of them.
func (s *Session) answered() bool {
	c := s.settings
	return c.Responses != 0 && s.requests >= c.Requests && s.responses >= c.Responses*s.requests
}

// replies is a Session as the receiver of the server's datagrams.
type replies Session

// SetNext passes a datagram of the server to the client.
func (r *replies) SetNext(d reactor.Datagram) {
	s := (*Session)(r)
	in := s.listener.take(d, s)
	if s.state == flowing || s.state == resting {
		s.touch()
		if s.responses == 0 {
			s.account.Answered()
		}
		b := d.Bytes()
		s.responses += datagrams(b, in.segment)
		s.note(server, b, in.segment)
		s.send(server, in, b)
		switch {
		case s.answered():
			s.End(WhyAnswered)
		case s.lifetimeOver():
			s.End(WhyLifetime)
		}
	}
	in.release()
}

// grantCredit gives credit for a datagram of the server that was sent.
func (s *Session) grantCredit() {
	if s.receives {
		s.recv.Grant(1)
	}
}

// SetValue cannot happen: datagrams have no end.
func (r *replies) SetValue(struct{}) { r.receives = false }

// SetError ends the session: the server refuses datagrams.
func (r *replies) SetError(err error) {
	r.receives = false
	(*Session)(r).fail(err)
}

// SetStopped ends the session, unless it comes to rest: the loop is stopping.
func (r *replies) SetStopped() {
	r.receives = false
	if r.state != resting {
		(*Session)(r).End(WhyOwner)
	}
}

// Env returns an empty environment.
func (r *replies) Env() sender.Env { return sender.EmptyEnv{} }

// fail ends the session because of an error of the server's socket.
func (s *Session) fail(err error) {
	if s.Over() {
		return
	}
	s.account.Refused(err)
	why := WhyRefused
	switch {
	case isLocalShortage(err):
		why = WhyLocal
	case s.responses != 0:
		why = WhyReset
	}
	s.End(why)
}

// isLocalShortage reports whether err is the lack of something on this machine.
func isLocalShortage(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.EADDRNOTAVAIL, syscall.EADDRINUSE} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// End ends the session. Its account learns of it when its socket is closed.
func (s *Session) End(why Why) {
	if s.Over() {
		return
	}
	s.flush()
	s.leave(why)
	for _, p := range s.waiting {
		p.drop(DropEnded)
	}
	s.waiting = nil
	s.socket.Close().Connect(&s.closing, (*sessionClosed)(s))
	s.closing.Start()
}

// flush sends the packet of the session to which more datagrams could be added.
func (s *Session) flush() {
	if p := s.listener.open; p != nil && p.session == s {
		s.listener.flush()
	}
}

// leave takes the session out of the listener's lists.
func (s *Session) leave(why Why) {
	s.state, s.why = ending, why
	s.listener.unbind(s)
	s.listener.idle.remove(s)
}

// finish reports the end to the account. Nothing happens to the session after it.
func (s *Session) finish() {
	s.state = ended
	s.account.Ended(s.why)
	s.listener.forget()
}

// sessionClosed is a Session as the receiver of the closing of its socket.
type sessionClosed Session

func (c *sessionClosed) SetValue(struct{}) { (*Session)(c).finish() }
func (c *sessionClosed) SetError(error)    { c.SetValue(struct{}{}) }
func (c *sessionClosed) SetStopped()       { c.SetValue(struct{}{}) }
func (c *sessionClosed) Env() sender.Env   { return sender.EmptyEnv{} }

// SizeofSession is the size of a session, for those who estimate memory.
const SizeofSession = unsafe.Sizeof(Session{})
