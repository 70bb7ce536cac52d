package udp

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/reactor"
)

// Owner decides about the sessions of a [Listener]. Its methods are called on the loop's thread.
type Owner interface {
	// Admit makes a session for a client whose datagram has come to an address, and initializes it by [Session.Init].
	// If it returns nil, the datagram is dropped.
	Admit(client, local netip.AddrPort) *Session
	// Count adds up what has moved. It is called at most once in a turn of the loop.
	Count(Tally)
	// Failed says that a socket of the listener cannot receive. It is tried again after [reactor.AcceptBackoff].
	Failed(error)
	// Recovered says that it can again, or that it is closed.
	Recovered()
	// Closed is the last call: the listener has neither sessions nor sockets.
	Closed()
}

// Account is the owner's side of a session. Its methods are called on the loop's thread.
type Account interface {
	// Bind gives the socket for the server its options and its local address, before it is connected.
	Bind(*reactor.Socket) error
	// Answered says that the first datagram of the server has come.
	Answered()
	// Refused says that the server, or the way to it, has refused datagrams, or that its socket could not be made. The
	// session ends.
	Refused(error)
	// Ended is the last call. The session's socket is closed.
	Ended(Why)
}

// Settings are how sessions end. They do not change.
type Settings struct {
	Idle      time.Duration // how long a session may be without a datagram; 0: without limit
	Requests  int           // datagrams of the client that a session has; 0: without limit
	Responses int           // datagrams of the server that answer one of the client; 0: it is not known
}

// Why is why a session ended.
type Why uint8

// The reasons for which a session ends.
const (
	WhyAnswered Why = iota // it had its requests, and their responses
	WhyIdle
	WhyLifetime
	WhyRefused // the server did not take datagrams, and had sent none
	WhyReset   // the server takes datagrams no longer
	WhyLocal   // this machine lacks a descriptor, memory or a port
	WhyOwner   // the owner has ended it
)

// Drop is why a datagram was dropped.
type Drop uint8

// The reasons for which a datagram is dropped.
const (
	DropRefused  Drop = iota // there is no session for it: see Owner.Admit
	DropDraining             // there is none, and the listener admits no new ones
	DropFull                 // too many of its session wait to be sent
	DropError                // it could not be sent
	DropEnded                // its session has ended
	DropCount
)

// Drops are the names of the reasons, for metrics.
var Drops = [DropCount]string{"refused", "draining", "full", "error", "ended"}

// Tally counts forwarded and dropped datagrams. The index of a direction is that of the side that datagrams come from.
type Tally struct {
	Datagrams, Bytes [2]uint64 // forwarded
	Dropped          [DropCount]uint64
}

// The sides of a session.
const (
	client = 0
	server = 1
)
