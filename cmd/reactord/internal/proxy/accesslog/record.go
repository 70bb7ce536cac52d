package accesslog

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Record describes a connection or a UDP session. Its texts must not change after Log.
type Record struct {
	ID      uint64 // unique in the process
	Interim bool   // the connection is still open, and the counters continue

	Network  config.Network
	Listener string
	Route    string // "" if none matched
	Backend  string // "" if none was chosen
	Server   string // "" if none was chosen

	ServerAddress serveraddr.Addr
	Client        netip.AddrPort // of a trusted PROXY header, or else of the socket
	Peer          netip.AddrPort // of the socket
	Local         netip.AddrPort // that the client has connected to

	SNI      string // of the ClientHello, or ""
	ALPN     string // the negotiated protocol
	ClientCN string // the common name of the client's certificate
	TLS      TLS    // with the client

	TLSCause tlscause.Cause // why TLS has failed, with the client or with the server

	Accepted, Ended time.Time // Ended is the time of the line

	Phases [PhaseCount]time.Duration // how long each took, or NotReached
	Total  time.Duration             // since the connection was accepted

	Bytes     [2]uint64 // from the client, from the server
	Datagrams [2]uint64 // likewise, for UDP only

	TCP [2]TCP // with the client, with the server

	Attempts  int // to connect
	Retries   int // attempts with another server, or another local address
	QueuedPos int // connections ahead of it in the backend's queue; 0 if it did not wait

	// Open connections at the end, including this one.
	Connections, ListenerConnections, BackendConnections, ServerConnections int

	End End
	Err error // the system error behind the end, or nil; its text must not change
}

// Phase is a part of a connection's life before bytes flow.
type Phase uint8

// Phases, in order.
const (
	Opening   Phase = iota // until the PROXY header and the ClientHello have arrived
	ClientTLS              // the handshake with the client
	Queue                  // in the queue of the backend
	Connect                // all attempts to connect
	ServerTLS              // the handshake with the server
	PhaseCount
)

// NotReached is the duration of a phase that the connection has not reached or not completed.
const NotReached time.Duration = -1

// TLS is the result of a handshake. It is zero without one.
type TLS struct {
	Version, Cipher uint16 // as in crypto/tls
	Resumed         bool
}

// End describes the end of a connection.
type End struct {
	By    string // what ended it
	Phase string // in which phase
	Code  string // HAProxy's termination state: two characters
	Why   string // a sentence
}
