package handover

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Record describes a connection at rest: no operation is in flight on its sockets. It refers to the plan by keys,
// because the other process may have another plan. Durations are those at the time Rested.
type Record struct {
	// Needs names what a process has to know to continue the connection, apart from what is in version 1.
	Needs []string `json:"needs,omitempty"`

	ID           uint64           `json:"id"`
	Listener     plan.ListenerKey `json:"listener"`
	ListenerName string           `json:"listener_name"`
	Backend      string           `json:"backend"`
	Server       serveraddr.Addr  `json:"server"`
	ServerName   string           `json:"server_name"`
	Settings     Settings         `json:"settings"`
	Identity     *Identity        `json:"identity,omitempty"`
	Log          *Log             `json:"log,omitempty"` // if the access log has the connection

	Rested    int64         `json:"rested"` // in ns since 1970: the clocks of loops differ between processes
	Age       time.Duration `json:"age"`
	Idle      time.Duration `json:"idle"`                 // since the last byte
	Checked   time.Duration `json:"checked,omitempty"`    // since the last check for idleness; 0: there was none
	Acked     uint32        `json:"acked,omitempty"`      // bytes acknowledged by then, modulo 2^32
	KeepAlive bool          `json:"keep_alive,omitempty"` // it is on
	LastFrom  Which         `json:"last_from"`            // the side of the last byte
	Reset     *Which        `json:"reset,omitempty"`      // the side that was reset; the other one still gets its bytes
	Sides     [2]Side       `json:"sides"`                // by Which

	Session *Session `json:"session,omitempty"` // of UDP; then there are no sides
}

// Which names a side of a connection.
type Which uint8

// The sides.
const (
	Client Which = iota
	Server
)

// Side describes a socket, and the direction of the bytes that come from it.
type Side struct {
	TCP      bool      `json:"tcp,omitempty"` // the socket is of TCP, not a unix socket
	State    SideState `json:"state,omitempty"`
	Flow     Flow      `json:"flow,omitempty"`
	Bytes    uint64    `json:"bytes"`             // that have come from it
	Skipped  uint32    `json:"skipped,omitempty"` // that had come before, for the proxy itself
	Unsent   int       `json:"unsent,omitempty"`  // bytes that the frame has, which the other side is to get first
	Piped    int       `json:"piped,omitempty"`   // bytes in a kernel pipe, which is passed if there are any
	Throttle *Throttle `json:"throttle,omitempty"`

	Received uint64   `json:"received,omitempty"` // bytes of the socket, if there is TLS on a side
	TLS      TLSState `json:"tls,omitempty"`      // none: there is no TLS
}

// TLSState is a state of package tlsrecord in JSON, with its secrets, which are not printed.
type TLSState json.RawMessage

// MarshalJSON returns the state.
func (s TLSState) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// UnmarshalJSON sets the state to a copy of b.
func (s *TLSState) UnmarshalJSON(b []byte) error { return (*json.RawMessage)(s).UnmarshalJSON(b) }

// Format prints no secrets.
func (s TLSState) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d bytes", len(s)) }

// NeedsTLS is in Needs of the record of a connection with TLS on a side.
const NeedsTLS = "tls"

// SideState says whether a side was reset.
type SideState uint8

// The states of a side.
const (
	Present   SideState = iota
	ResetSeen           // a send was told of its reset; the bytes before it are still to be received
	Gone                // it was reset
	Closed              // it was reset, and its socket needs no reset
)

// Flow says how far a direction has come.
type Flow uint8

// The states of a direction.
const (
	Open       Flow = iota
	EOF             // the side has sent EOF, which is to be passed on behind the unsent bytes
	HalfClosed      // EOF was passed on
	Broken          // the other side takes no more
)

// Throttle describes a direction whose bytes are limited for each connection.
type Throttle struct {
	Refill time.Duration `json:"refill,omitempty"` // until the bucket is full again
	Wait   time.Duration `json:"wait,omitempty"`   // until bytes may come
}

// Settings has the settings of the backend that an open connection keeps.
type Settings struct {
	Buffer           int64            `json:"buffer"` // bytes
	IdleTimeout      time.Duration    `json:"idle_timeout,omitempty"`
	HalfCloseTimeout time.Duration    `json:"half_close_timeout,omitempty"`
	FirstByteTimeout time.Duration    `json:"first_byte_timeout,omitempty"`
	Lifetime         time.Duration    `json:"lifetime,omitempty"`
	LifetimeJitter   int              `json:"lifetime_jitter,omitempty"`
	KeepAlive        config.KeepAlive `json:"keep_alive,omitzero"`
}

// SettingsOf returns the settings that an open connection keeps.
func SettingsOf(b *config.Backend) Settings {
	return Settings{
		Buffer: int64(b.Buffer), IdleTimeout: b.IdleTimeout, HalfCloseTimeout: b.HalfCloseTimeout,
		FirstByteTimeout: b.FirstByteTimeout, Lifetime: b.Lifetime, LifetimeJitter: b.LifetimeJitter,
		KeepAlive: b.KeepAlive,
	}
}

// Apply returns b with these settings.
func (s *Settings) Apply(b config.Backend) *config.Backend {
	b.Buffer, b.IdleTimeout, b.HalfCloseTimeout = config.Size(s.Buffer), s.IdleTimeout, s.HalfCloseTimeout
	b.FirstByteTimeout, b.Lifetime, b.LifetimeJitter = s.FirstByteTimeout, s.Lifetime, s.LifetimeJitter
	b.KeepAlive = s.KeepAlive
	return &b
}

// Identity has what is known of the client beside its socket.
type Identity struct {
	Client      netip.AddrPort `json:"client,omitzero"`      // of its PROXY header
	Destination netip.AddrPort `json:"destination,omitzero"` // of its PROXY header
	SNI         string         `json:"sni,omitempty"`
	ALPN        string         `json:"alpn,omitempty"`
	Route       string         `json:"route,omitempty"`
	TLS         *TLS           `json:"tls,omitempty"` // if TLS with the client ends in the proxy
}

// TLS has what is known of a handshake with a client.
type TLS struct {
	Version     uint16 `json:"version"`
	Cipher      uint16 `json:"cipher"`
	Resumed     bool   `json:"resumed,omitempty"`
	Certificate bool   `json:"certificate,omitempty"` // the client has shown one, which was verified
	Name        string `json:"name,omitempty"`        // its common name
}

// Log has what the access log says of a connection at its end, and the connection itself does not know.
type Log struct {
	Peer     netip.AddrPort  `json:"peer"`
	Phases   []time.Duration `json:"phases"` // in the order of accesslog.Phase
	Attempts int32           `json:"attempts"`
	Retries  int32           `json:"retries,omitempty"`
	Position int32           `json:"position,omitempty"` // in the queue
	Interim  time.Duration   `json:"interim,omitempty"`  // until the next interim line; 0: there is none
}

// sockets is the number of sockets that a record comes with.
const sockets = 2

// FDs returns the number of descriptors that come with a record.
func (r *Record) FDs() int {
	if r.Session != nil {
		return 1
	}
	n := sockets
	for i := range r.Sides {
		if r.Sides[i].Piped != 0 {
			n += 2
		}
	}
	return n
}

// Wipe overwrites the secrets of the record.
func (r *Record) Wipe() {
	for i := range r.Sides {
		clear(r.Sides[i].TLS)
	}
}

// Unsent returns the number of bytes that a frame has for a record.
func (r *Record) Unsent() int { return r.Sides[Client].Unsent + r.Sides[Server].Unsent }
