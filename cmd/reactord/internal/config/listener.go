package config

import "time"

// Listener is an address on which connections, or UDP sessions, for a backend are accepted. A listener keeps its socket
// and its connections when a reload leaves its address unchanged.
type Listener struct {
	// Name identifies the listener in logs and metrics.
	Name string
	// Address is the address to listen on: "tcp://HOST:PORT", "udp://HOST:PORT", "unix:///PATH", or "unix://@NAME" (an
	// abstract socket). Port 0 is any free port. "FIRST-LAST" is a range of up to 4096 ports: a listener for each, with
	// limits of its own, whose name is that of the range, a colon and the port. Once names are looked up, it must not
	// overlap the address of another listener or of the metrics: "0.0.0.0" overlaps every IPv4 address, "::" every
	// address. "fd://NAME" is a socket that the service manager has opened under this name, "fd+udp://NAME" one of UDP.
	Address Address
	// Socket is the options of the listener's sockets.
	Socket Socket
	// Allow are the networks whose clients may connect; others are reset, before anything is read. Empty (default): all.
	// IPv4 clients of "[::]" are in IPv4 networks. If a PROXY header tells the client's address, that one counts.
	Allow []Prefix
	// Deny are the networks whose clients may not, even if they are allowed.
	Deny []Prefix
	// ProxyProtocol accepts PROXY protocol headers, versions 1 and 2, from trusted networks.
	ProxyProtocol AcceptProxy
	// StartTLS is the protocol in which clients ask for TLS: "postgresql", "smtp", "imap" or "pop3". The listener
	// speaks it until TLS begins. "none" (default): TLS, if any, begins immediately.
	StartTLS string
	// TLS ends TLS here. Without certificates there is none.
	TLS ServerTLS
	// Routes choose other backends, in order: the first one that matches counts. Routes by SNI and ALPN read the
	// ClientHello, which is passed on untouched unless TLS ends here.
	Routes []Route
	// InspectTimeout is how long a client may take to send its PROXY header, and its ClientHello if there are routes by
	// SNI or ALPN. Default: 5 s.
	InspectTimeout time.Duration
	// MaxClientHello is the greatest length of a ClientHello, with the headers of its records. Default: 16 KiB.
	MaxClientHello Size
	// Backend is the name of the backend of connections that no route matches. Empty: they are reset.
	Backend string
	// Bandwidth limits the bytes of connections.
	Bandwidth Bandwidth
	// UDP is how sessions end, if the address is udp://.
	UDP UDP
	// AccessLog has the connections logged, if there is an access log. Default: true.
	AccessLog bool
	// MaxConnections is the maximum number of open connections, for all loops together. 0 (default): as many as the limit
	// on open files allows. A part of that is guaranteed to each listener.
	MaxConnections int
	// OnLimit is what becomes of connections beyond MaxConnections: "wait" (default), in the kernel's queue, or "reject":
	// they are reset.
	OnLimit string
	// Rate limits new connections; those beyond it wait in the kernel's queue, or are reset, as OnLimit says.
	Rate Rate
	// SourceRate limits new connections from each source prefix.
	SourceRate SourceRate
}

// Socket is the options of a listener's sockets.
type Socket struct {
	// Mode is the permissions of a unix socket's file, in octal: who may write to it may connect. Default: 0660.
	Mode FileMode
	// Owner and Group are the names or the numbers of its owner and group. Empty (default): the process's.
	Owner string
	Group string
	// Backlog is how many connections the kernel queues at most. 0 (default): as many as net.core.somaxconn allows.
	Backlog int
	// FastOpen is how many connections may be open whose client has sent bytes with its SYN: TCP_FASTOPEN. 0 (default):
	// none.
	FastOpen int
	// Interface is the network interface that is listened on: SO_BINDTODEVICE. A reload that changes it, or IPv6Only,
	// makes another listener of it. Empty (default): all.
	Interface string
	// MSS is the maximum segment size: TCP_MAXSEG. 0 (default): the kernel's.
	MSS int
	// TOS is the type of service, or the traffic class, of what is sent to clients. 0 (default): the kernel's.
	TOS int
	// IPv6Only keeps IPv4 clients from "[::]". Default: false.
	IPv6Only bool
	// FreeBind listens on an address that this machine may not have yet, such as a virtual one: IP_FREEBIND. A socket
	// that is open keeps what it was opened with. Default: false.
	FreeBind bool
	// KeepAlive is TCP keep-alive with clients.
	KeepAlive ClientKeepAlive
}

// ClientKeepAlive is TCP keep-alive with the clients of a listener.
type ClientKeepAlive struct {
	// Mode is "backend" (default: the keep_alive of the backend is for both sides), "own" (what follows), or "none".
	Mode string
	// Idle is the time without a byte after which the kernel asks whether the client is there. Default: 1 min.
	Idle time.Duration
	// Interval is the time between two questions. Default: 15 s.
	Interval time.Duration
	// Count is how many questions remain unanswered before the connection is reset. Default: 4.
	Count int
}

// AcceptProxy accepts PROXY protocol headers. They tell the addresses of a connection that another proxy has accepted.
type AcceptProxy struct {
	// Trusted are the networks whose connections begin with a header. Connections from elsewhere, or without a header,
	// are reset. All clients of a unix socket are trusted. Empty (default): no connection has a header.
	Trusted []Prefix
	// Optional takes connections of trusted networks without a header, too: if the first bytes are not the signature of
	// one, they are the client's. So a client has to send something first, within inspect_timeout. Default: false.
	Optional bool
}

// Route chooses a backend. All conditions that are set must match. The last route may have none: it takes every
// connection that is left.
type Route struct {
	// Name identifies the route in the access log. Default: the name of the backend, the first one if there are several.
	Name string
	// SNI are the server names in a ClientHello: "example.org", or "*.example.org" for every name below it.
	SNI []string
	// ALPN are protocols, one of which the ClientHello offers.
	ALPN []string
	// Transport is what the client begins: "tls", "raw" (anything else), or "any". "auto" (default): TLS, if the listener
	// has to read the ClientHello for some route or ends TLS itself, and otherwise anything.
	Transport string
	// Sources are the networks of clients, as a PROXY header tells if there is one.
	Sources []Prefix
	// Destinations are the networks of the addresses that clients have connected to.
	Destinations []Prefix
	// DestinationPorts are the ports of these addresses.
	DestinationPorts []int
	// Allow are the networks whose clients may take the route; others are reset, as those of Deny. Empty (default): all.
	Allow []Prefix
	// Deny are the networks whose clients may not, even if they are allowed.
	Deny []Prefix
	// TLS ends TLS for this route, with certificates and settings of its own: the ClientHello is read first. Without
	// certificates (default), it is the listener's.
	TLS ServerTLS
	// Passthrough leaves TLS to the servers, although the listener ends it. Default: false.
	Passthrough bool
	// Backend is the name of the backend.
	Backend string
	// Backends are backends instead of one: one of them is chosen for each connection, at random by weight. It is chosen
	// before a server is, so that balance.policy keeps a client to a server of each backend, and not to a backend.
	Backends []WeightedBackend
	// IdleTimeout is that of the backend for connections of this route. 0 (default): the backend's.
	IdleTimeout time.Duration
	// Lifetime is likewise.
	Lifetime time.Duration
}

// Targets are the backends of the route with their weights, whether it has one or several.
func (r *Route) Targets() []WeightedBackend {
	if r.Backend != "" {
		return []WeightedBackend{{Backend: r.Backend, Weight: 1}}
	}
	return r.Backends
}

// Unconditional reports whether the route takes every connection that comes so far.
func (r *Route) Unconditional() bool {
	return len(r.SNI)+len(r.ALPN)+len(r.Sources)+len(r.Destinations)+len(r.DestinationPorts) == 0 &&
		r.Transport != "tls" && r.Transport != "raw"
}

// WeightedBackend is one of the backends of a route.
type WeightedBackend struct {
	// Backend is the name of the backend.
	Backend string
	// Weight is its share of connections, in relation to the others: 0 (none) to 1000000. If all are 0, connections are
	// reset. Default: 1.
	Weight int
}

// Bandwidth limits bytes. What is beyond a limit waits at its sender.
type Bandwidth struct {
	// Connection is the limit of each connection.
	Connection ByteRate
	// Listener is the limit of all connections together.
	Listener ByteRate
	// Source is the limit of all connections of a client's address. (Of an IPv6 address, the first 64 bits count.)
	Source ByteRate
}

// ByteRate is a limit on bytes in each direction: a token bucket.
type ByteRate struct {
	// FromClient is how many bytes are taken from clients per second. 0 (default): without limit.
	FromClient Size
	// FromServer is the same for servers.
	FromServer Size
	// Burst is how many bytes may come together, in each direction. 0 (default): those of a quarter of a second.
	Burst Size
}

// UDP is how the sessions of a UDP listener end. A session is the datagrams of one client address.
type UDP struct {
	// IdleTimeout is how long a session may be without a datagram. Default: 30 s.
	IdleTimeout time.Duration
	// Requests is how many datagrams of the client a session has; the next one begins another session. 0 (default):
	// without limit. 1 spreads datagrams over servers one by one.
	Requests int
	// Responses is how many datagrams of the server answer one of the client: a session that has all its Requests ends
	// with the last one. 0 (default): it is not known, and the session ends when it is idle.
	Responses int
}

// NewListener is a listener with every default, without a name, an address and a backend.
func NewListener() Listener {
	return Listener{
		Socket:         newSocket(),
		TLS:            newServerTLS(),
		StartTLS:       "none",
		InspectTimeout: 5 * time.Second,
		MaxClientHello: 16 * KiB,
		OnLimit:        "wait",
		SourceRate:     newSourceRate(),
		UDP:            UDP{IdleTimeout: 30 * time.Second},
		AccessLog:      true,
	}
}

// NewRoute is a route with every default, without a condition and a backend.
func NewRoute() Route { return Route{Transport: "auto", TLS: newServerTLS()} }

// NewWeightedBackend is a backend of a route with every default, without a name.
func NewWeightedBackend() WeightedBackend { return WeightedBackend{Weight: 1} }

func newSocket() Socket {
	return Socket{
		Mode:      0o660,
		KeepAlive: ClientKeepAlive{Mode: "backend", Idle: time.Minute, Interval: 15 * time.Second, Count: 4},
	}
}
