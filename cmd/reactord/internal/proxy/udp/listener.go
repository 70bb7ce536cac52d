package udp

import (
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/pool"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// state is the state of a listener. It only advances:
//
//	opened              → serving    Start; it receives after Receive
//	serving             → handedOver HandOver
//	serving             → draining   Drain
//	handedOver          → draining   Drain: nothing changes for its sessions
//	any but closed      → closing    the last session has ended, or Close
//	closing             → closed     the sockets are closed
type state uint8

const (
	opened     state = iota
	serving          // sessions begin
	handedOver       // another process receives; sessions live on
	draining         // no session begins; sessions live on
	closing
	closed
)

// Config configures a listener.
type Config struct {
	Loop  *reactor.Loop
	Owner Owner
	// Address is the address of the sockets.
	Address netip.AddrPort
	// Broadcasts says that datagrams to addresses of broadcast and multicast are served. Each socket gets them: so one
	// of several listeners with the same address has it.
	Broadcasts bool
	// Patience shortens idle timeouts, if not nil.
	Patience func(time.Duration) time.Duration
}

// Listener is the sessions of a UDP listener on one loop.
type Listener struct {
	Config
	state    state
	receives bool // from its sockets
	ends     bool // sessions are ended
	sockets  []*socket
	sessions map[key]*Session // those that the client's next datagram belongs to
	count    int              // all sessions
	most     int              // of sessions in the table since it was empty
	idle     idleQueues
	tally    Tally
	open     *packet // the last one; more datagrams may be added to it
	turn     turnEnd
	packets  pool.Of[packet]
	received pool.Of[received]
	dials    pool.Of[dial]
}

// key tells sessions apart. The local address is invalid if the listener has only one.
type key struct {
	client netip.AddrPort
	local  netip.Addr
}

// maxFree bounds the packets, receives and connects that are kept for later use.
const maxFree = 1024

// New makes a listener without sockets.
func New(cfg Config) *Listener {
	l := &Listener{Config: cfg, sessions: map[key]*Session{}}
	l.packets.Limit, l.received.Limit, l.dials.Limit = maxFree, maxFree, maxFree
	l.idle.init(l)
	l.turn.listener = l
	l.turn.Runner = &l.turn
	return l
}

// Start lets sessions arrive, and pass on replies. On the loop's thread.
func (l *Listener) Start() {
	l.state = serving
	for _, s := range l.sockets {
		s.start()
	}
}

// Receive begins to receive the datagrams of clients, after [Listener.Start].
func (l *Listener) Receive() {
	if l.state != serving || l.receives {
		return
	}
	l.receives = true
	for _, s := range l.sockets {
		s.receive()
	}
}

// HandOver stops receiving, because another process receives from the same sockets. Sessions pass on replies until
// they end.
func (l *Listener) HandOver() {
	if l.state != serving {
		return
	}
	l.state, l.receives = handedOver, false
	for _, s := range l.sockets {
		s.stopReceiving()
	}
	l.closeIfDone()
}

// Drain begins no further session. The listener closes when the last one has ended.
func (l *Listener) Drain() {
	if l.state == serving || l.state == handedOver {
		l.state = draining
		l.closeIfDone()
	}
}

// Close ends all sessions, and then closes the sockets. Those that rest end by [Session.Resume].
func (l *Listener) Close() {
	if l.state >= closing {
		return
	}
	l.state, l.ends = max(l.state, draining), true
	l.idle.each(func(s *Session) { s.End(WhyOwner) })
	l.closeIfDone()
}

// Sessions returns how many sessions there are.
func (l *Listener) Sessions() int { return l.count }

// closeIfDone closes the sockets of a listener that begins no session and has none.
func (l *Listener) closeIfDone() {
	if l.state < handedOver || l.state >= closing || l.count != 0 || l.state == handedOver && l.Receiving() {
		return
	}
	l.state, l.receives = closing, false
	l.flush()
	for _, s := range l.sockets {
		s.close()
	}
}

// Receiving reports whether a socket still receives: after [Listener.HandOver] it takes a turn of the loop to end that.
func (l *Listener) Receiving() bool {
	return slices.ContainsFunc(l.sockets, func(s *socket) bool { return s.receives })
}

// socketClosed forgets a socket of a listener that closes.
func (l *Listener) socketClosed(s *socket) {
	l.sockets = slices.DeleteFunc(l.sockets, func(other *socket) bool { return other == s })
	if len(l.sockets) != 0 {
		return
	}
	l.state = closed
	l.idle.stop()
	l.flush()
	l.settle()
	l.Owner.Closed()
}

// begin begins a session of a client, or returns nil if the owner does not admit it.
func (l *Listener) begin(k key, from reactor.Address, via *socket, local netip.AddrPort, pktinfo []byte) *Session {
	if l.state != serving && l.state != handedOver { // these were received before another process did
		l.drop(DropDraining)
		return nil
	}
	s := l.Owner.Admit(k.client, local)
	if s == nil {
		l.drop(DropRefused)
		return nil
	}
	s.key, s.listener, s.via, s.client = k, l, via, from
	s.pktinfo = append(s.pktinfo[:0], pktinfo...)
	l.count++
	l.bind(s)
	l.idle.add(s)
	s.start()
	if s.Over() {
		l.drop(DropError)
		return nil
	}
	return s
}

// bind makes s the session that the client's next datagrams belong to.
func (l *Listener) bind(s *Session) {
	s.bound = true
	l.sessions[s.key] = s
	l.most = max(l.most, len(l.sessions))
}

// unbind lets the client's next datagram begin another session.
func (l *Listener) unbind(s *Session) {
	if !s.bound {
		return
	}
	s.bound = false
	delete(l.sessions, s.key)
	if len(l.sessions) == 0 && l.most > manySessions {
		l.sessions, l.most = map[key]*Session{}, 0 // a map does not shrink
	}
}

// manySessions is the size of a table whose memory is worth giving back.
const manySessions = 1024

// forget forgets a session that has ended.
func (l *Listener) forget() {
	l.count--
	l.closeIfDone()
}

func (l *Listener) drop(why Drop) {
	l.tally.Dropped[why]++
	l.turn.await()
}

// time returns the loop's time, less the time in which the process did not run.
func (l *Listener) time() int64 { return l.Loop.Now() - l.Loop.Stalled() }

// turnEnd runs at the end of a turn of the loop in which datagrams came.
type turnEnd struct {
	sender.Work
	listener *Listener
	awaited  bool
}

func (t *turnEnd) await() {
	if !t.awaited {
		t.awaited = true
		t.listener.Loop.Enqueue(&t.Work)
	}
}

// Run sends what waits for more datagrams, and counts.
func (t *turnEnd) Run() {
	t.awaited = false
	t.listener.flush()
	t.listener.settle()
}

// Abandon does nothing: the loop has ended.
func (t *turnEnd) Abandon(error) {}

// settle tells the owner what has moved.
func (l *Listener) settle() {
	if l.tally != (Tally{}) {
		l.Owner.Count(l.tally)
		l.tally = Tally{}
	}
}
