package simulation

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Scenario describes what happens to a proxy.
type Scenario struct {
	File     *plan.File            // that the proxy begins with
	Found    map[plan.Source]Found // by the sources of the file, at first
	TTL      time.Duration         // of records in DNS
	Plan     *plan.Plan            // when they have found it
	Loops    int
	Duration time.Duration // for which clients come
	Clients  []Clients
	Servers  map[serveraddr.Addr]Server // those that differ from Default
	Default  Server
	Zones    map[string]Zone // by locality of servers
	Events   []Event         // in the order of their times
}

// Clients describes clients that come at random times, each with one connection.
type Clients struct {
	Name     string
	Listener string         // that they connect to, by name
	To       netip.AddrPort // address and port that they connect to; what is zero is that of the listener
	Network  netip.Prefix   // of their addresses
	Avoid    []netip.Prefix // networks that none of them is of
	Via      netip.Addr     // of a proxy in front that sends a PROXY header; zero: none
	Latency  time.Duration  // of a packet to the proxy

	Rate   float64 // that come in a second, on average
	Burst  int     // that come at once, too,
	Every  time.Duration
	From   time.Duration // when they begin to come
	TLS    bool          // they begin with a ClientHello
	SNI    string
	ALPN   []string
	Crypto time.Duration // that a TLS handshake takes, beside its round trips

	Exchanges int           // requests on a connection
	Pause     time.Duration // between an answer and the next request, on average
	Request   int           // bytes
	Response  int           // bytes
	Patience  time.Duration // that they have for an answer
	ReadRate  int           // bytes a second that they read; 0: all there are
	End       Ending
}

// seen returns an address that the proxy sees: of a client, or of the proxy in front of it.
func (c *Clients) seen() netip.Addr {
	if c.Via.IsValid() {
		return c.Via
	}
	return c.Network.Addr()
}

// Fits reports whether the proxy can be reached at an address from where the clients seem to come: both are IPv4, or
// IPv6.
func (c *Clients) Fits(bind netip.Addr) bool {
	return bind.Is6() && bind.IsUnspecified() || bind.Is6() == c.seen().Is6()
}

// Ending is how a client ends its connection.
type Ending string

// The values of [Ending].
const (
	EndHalfClose Ending = "half_close" // it sends the end of its stream, and waits for that of the server
	EndClose     Ending = "close"
	EndReset     Ending = "reset"
)

// Server describes how a server behaves.
type Server struct {
	Latency     time.Duration // that a request takes, on average
	Workers     int           // requests at a time; others wait. 0: all at once
	Connections int           // that it accepts; others are reset. 0: all
}

// Zone describes the network to the servers of a locality.
type Zone struct {
	Latency   time.Duration // of a packet
	Jitter    time.Duration
	Loss      float64 // probability that a packet is lost
	Bandwidth int64   // bytes a second, in each direction; 0: any
}

// Mode is what a server does.
type Mode string

// The values of [Mode].
const (
	Works   Mode = "work"
	Refuses Mode = "refuse" // its process has died: connections are reset, and refused
	Hangs   Mode = "hang"   // packets to it are dropped
	Resets  Mode = "reset"  // it resets each connection once it is accepted
	Crawls  Mode = "crawl"  // a request takes fifty times as long
)

// Event is something that happens at a time.
type Event struct {
	ID      int // of what is one event for people: such as an end that it has
	At      time.Duration
	Text    string            // for people
	Servers []serveraddr.Addr // that do something else from now on:
	Mode    Mode
	Zones   []string // that are cut off from now on, or heal:
	Cut     bool
	Clients []string // of the groups with these names so many come in a second from now on:
	Rate    float64
	File    *plan.File // that is put in force
	// Overrides replace those of their servers; others stay.
	Overrides map[plan.ServerKey]plan.Override
	Found     map[plan.Source]Found // by these sources from now on
	Plan      *plan.Plan            // when all this is in force: its servers exist; nil: as before
	Stop      bool                  // the proxy drains: it accepts no more
	Trouble   bool                  // the time until no client fails any more is measured from here
}

// Found holds what a source of discovery finds when it looks.
type Found struct {
	Servers []plan.Server // see [discovery.Scripted.Set]
	Err     error         // if it gets no answer
}
