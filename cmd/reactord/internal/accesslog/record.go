package accesslog

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/tlscause"
)

// Record is what is known of a connection, or of a UDP session. Its texts are not changed after Log.
type Record struct {
	ID      uint64 // unique in the process
	Interim bool   // the connection is still open: the counters are those so far

	Network  string // "tcp", "udp" or "unix"
	Listener string
	Route    string // "": none matched, or the listener has none
	Backend  string // "": none was chosen
	Server   string // "": likewise

	ServerAddress serveraddr.Addr
	Client        netip.AddrPort // as a trusted PROXY header says, if there is one
	Peer          netip.AddrPort // of the socket
	Local         netip.AddrPort // that the client has connected to

	SNI      string // of the ClientHello; "": none was seen
	ALPN     string // that was agreed on
	ClientCN string // the common name of the client's certificate
	TLS      TLS    // with the client

	TLSCause tlscause.Cause // why TLS has failed, with the client or with the server

	Accepted, Ended time.Time // Ended is the time of the line

	Phases [PhaseCount]time.Duration // how long each took, or NotReached
	Total  time.Duration             // since the connection was accepted

	Bytes     [2]uint64 // from the client, from the server
	Datagrams [2]uint64 // likewise; of UDP only

	Attempts  int // to connect
	Retries   int // attempts with another server, or another local address
	QueuedPos int // connections that waited in the backend's queue before this one; 0: it did not wait

	// Connections that were open at the end, this one included.
	Connections, ListenerConnections, BackendConnections, ServerConnections int

	End End
	Err error // of the system, behind the end; nil: none. Its text does not change
}

// Phase is a part of a connection's life before bytes flow.
type Phase uint8

// The phases, in order.
const (
	Opening   Phase = iota // until the PROXY header and the ClientHello have come
	ClientTLS              // the handshake with the client
	Queue                  // in the queue of the backend
	Connect                // all attempts to connect
	ServerTLS              // the handshake with the server
	PhaseCount
)

// NotReached is the duration of a phase that the connection has not had, or has not ended.
const NotReached time.Duration = -1

// TLS is what was agreed on in a handshake. The zero TLS: there was none.
type TLS struct {
	Version, Cipher uint16 // as crypto/tls has them
	Resumed         bool
}

// End is how a connection ended.
type End struct {
	By    string // what ended it
	Phase string // in which phase
	Code  string // what HAProxy writes for it: two characters
	Why   string // a sentence
}
