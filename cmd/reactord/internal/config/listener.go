package config

import "time"

// Listener accepts connections or UDP sessions for a backend. Across reloads, a listener with the same address keeps
// its socket and its connections.
type Listener struct {
	// Name identifies the listener in logs and metrics.
	Name string
	// From is the name of the set of [Config.Defaults] to inherit. Empty (default): the set without a name, if any.
	From string
	// Address is the address to listen on: "tcp://HOST:PORT", "udp://HOST:PORT", "unix:///PATH", or "unix://@NAME"
	// (an abstract socket). Port 0 picks a free port. "FIRST-LAST" is a range of up to 4096 ports, each of which is a
	// listener with separate limits, named after the range with a colon and the port. Once names are resolved, it
	// must not overlap the address of another listener or of the metrics: "0.0.0.0" overlaps every IPv4 address, "::"
	// every address. "fd://NAME" is a socket passed by the service manager under this name, "fd+udp://NAME" one of
	// UDP.
	Address Address
	// Socket sets options of the listening sockets.
	Socket Socket
	// Allow lists the networks whose clients may connect; others are reset before anything is read. IPv4 clients of
	// "[::]" match IPv4 networks. If a PROXY header gives the client's address, that one is matched. Empty (default):
	// all.
	Allow []Prefix
	// Deny lists the networks whose clients may not connect, even if they are allowed. "set=NAME" is a [Set], here and
	// in each other list of networks.
	Deny []Prefix
	// ProxyProtocol accepts PROXY protocol headers, versions 1 and 2, from trusted networks.
	ProxyProtocol AcceptProxy
	// StartTLS is the protocol by which clients switch to TLS: "postgresql", "smtp", "imap" or "pop3". The listener
	// speaks it until TLS begins. "none" (default): TLS, if any, begins immediately.
	StartTLS StartTLS
	// TLS terminates TLS. It takes effect with certificates only.
	TLS ServerTLS
	// Routes choose other backends; the first route that matches wins. Routes by SNI or ALPN read the ClientHello,
	// which is passed on untouched unless TLS is terminated here.
	Routes []Route
	// InspectTimeout limits how long a client may take to send its PROXY header, and its ClientHello if routes by SNI
	// or ALPN need it. Default: 5 s.
	InspectTimeout time.Duration
	// MaxClientHello limits the size of a ClientHello, including the headers of its records. Default: 16 KiB.
	MaxClientHello Size
	// Backend is the backend for connections that match no route. Empty: they are reset.
	Backend string
	// Bandwidth limits the byte rates of connections.
	Bandwidth Bandwidth
	// UDP configures the sessions of a udp:// address.
	UDP UDP
	// AccessLog logs the listener's connections, if there is an access log. Default: true.
	AccessLog bool
	// MaxConnections limits the open connections, over all loops. 0 (default): as many as the limit on open files
	// allows, of which a part is reserved for each listener.
	MaxConnections int
	// OnLimit says what happens to connections beyond MaxConnections: "wait" (default) leaves them in the kernel's
	// queue, "reject" resets them.
	OnLimit OnLimit
	// Rate limits new connections. Those beyond it wait in the kernel's queue or are reset, as OnLimit says.
	Rate Rate
	// SourceRate limits new connections from each source prefix.
	SourceRate SourceRate
	// SourceConnections limits the open connections from each source prefix.
	SourceConnections SourceConnections
}

// Socket sets options of the listening sockets.
type Socket struct {
	// Mode sets the permissions of a unix socket's file, in octal. Connecting needs write permission. Default: 0660.
	Mode FileMode
	// Owner and Group are the names or numbers of its owner and group. Empty (default): the process's.
	Owner string
	Group string
	// Backlog limits the connections that the kernel queues. 0 (default): as many as net.core.somaxconn allows.
	Backlog int
	// FastOpen is TCP_FASTOPEN: the maximum number of pending connections whose client sent data with its SYN.
	// 0 (default): off.
	FastOpen int
	// Interface is the network interface to listen on: SO_BINDTODEVICE. A reload that changes it, or IPv6Only,
	// creates a new listener. Empty (default): all.
	Interface string
	// MSS is the maximum segment size: TCP_MAXSEG. 0 (default): the kernel's.
	MSS int
	// TOS is the type of service or traffic class of packets to clients. 0 (default): the kernel's.
	TOS int
	// IPv6Only keeps IPv4 clients from connecting to "[::]". Default: false.
	IPv6Only bool
	// FreeBind allows an address that this machine does not have yet, such as a virtual IP: IP_FREEBIND. A socket
	// that is already open keeps its setting. Default: false.
	FreeBind bool
	// KeepAlive configures TCP keep-alive with clients.
	KeepAlive ClientKeepAlive
}

// ClientKeepAlive configures TCP keep-alive with the clients of a listener.
type ClientKeepAlive struct {
	// Mode is "backend" (default: the backend's keep_alive applies to both sides), "own" (the settings below), or
	// "none".
	Mode KeepAliveMode
	// Idle is the time without data after which the kernel probes the client. Default: 1 min.
	Idle time.Duration
	// Interval is the time between two probes. Default: 15 s.
	Interval time.Duration
	// Count is the number of unanswered probes after which the connection is reset. Default: 4.
	Count int
}

// AcceptProxy accepts PROXY protocol headers, which carry the addresses of a connection that another proxy has
// accepted.
type AcceptProxy struct {
	// Trusted lists the networks whose connections begin with a header. Connections from elsewhere, or without a
	// header, are reset. All clients of a unix socket are trusted. Empty (default): no headers are accepted.
	Trusted []Prefix
	// Optional also accepts connections of trusted networks without a header: if the first bytes are not its
	// signature, they are the client's data. The client then has to send first, within inspect_timeout. Default:
	// false.
	Optional bool
}

// Route chooses a backend for connections that match every condition set. The last route may have no condition, and
// takes the rest.
type Route struct {
	// Name identifies the route in the access log. Default: the name of its first backend.
	Name string
	// SNI lists server names of the ClientHello: "example.org", "*.example.org" for every name below it, or "set=NAME"
	// for those of a [Set].
	SNI []string
	// ALPN lists protocols, of which the ClientHello must offer at least one.
	ALPN []string
	// Transport is what the client speaks: "tls", "raw" (anything else), or "any". "auto" (default) is TLS if the
	// listener terminates TLS or has to read the ClientHello for any route, and anything otherwise.
	Transport Transport
	// Sources lists networks of clients; a PROXY header's address is the one matched.
	Sources []Prefix
	// Destinations lists networks of the addresses that clients connect to.
	Destinations []Prefix
	// DestinationPorts lists ports of these addresses.
	DestinationPorts []int
	// Allow lists the networks whose clients may use the route; others are reset. Empty (default): all.
	Allow []Prefix
	// Deny lists the networks whose clients may not use the route, even if they are allowed. They are reset.
	Deny []Prefix
	// TLS terminates TLS for this route with separate certificates and settings; the ClientHello is read first.
	// Without certificates (default), the listener's apply.
	TLS ServerTLS
	// Passthrough passes TLS on to the servers although the listener terminates it. Default: false.
	Passthrough bool
	// Backend is the backend to proxy to.
	Backend string
	// Backends lists several backends instead, one of which is chosen for each connection at random by weight. The
	// choice precedes that of a server, so balance.policy keeps a client on one server of each backend, but not on
	// one backend.
	Backends []WeightedBackend
	// IdleTimeout replaces the backend's for connections of this route. 0 (default): the backend's.
	IdleTimeout time.Duration
	// Lifetime replaces the backend's likewise.
	Lifetime time.Duration
}

// Targets returns the backends of the route with their weights, be there one or several.
func (r *Route) Targets() []WeightedBackend {
	if r.Backend != "" {
		return []WeightedBackend{{Backend: r.Backend, Weight: 1}}
	}
	return r.Backends
}

// Unconditional reports whether the route has no condition and so matches every connection.
func (r *Route) Unconditional() bool {
	return len(r.SNI)+len(r.ALPN)+len(r.Sources)+len(r.Destinations)+len(r.DestinationPorts) == 0 &&
		r.Transport != TLSTransport && r.Transport != RawTransport
}

// WeightedBackend is one of several backends of a route.
type WeightedBackend struct {
	// Backend is the backend to proxy to.
	Backend string
	// Weight is the share of connections relative to the other backends, from 0 (none) to 1000000. If all are 0,
	// connections are reset. Default: 1.
	Weight int
}

// Bandwidth limits byte rates. A sender beyond a limit has to wait.
type Bandwidth struct {
	// Connection limits each connection.
	Connection ByteRate
	// Listener limits all connections of the listener together.
	Listener ByteRate
	// Source limits all connections from one client address; for IPv6, from one /64.
	Source ByteRate
}

// ByteRate limits bytes in each direction by a token bucket.
type ByteRate struct {
	// FromClient is the number of bytes per second from clients. 0 (default): no limit.
	FromClient Size
	// FromServer is the number of bytes per second from servers. 0 (default): no limit.
	FromServer Size
	// Burst is the number of bytes passed in a burst, in each direction. 0 (default): the bytes of a quarter of a
	// second.
	Burst Size
}

// UDP configures UDP sessions. A session is the datagrams of one client address.
type UDP struct {
	// IdleTimeout ends a session without a datagram for this long. Default: 30 s.
	IdleTimeout time.Duration
	// Requests limits the client's datagrams in a session; the next one begins another session. With 1, each datagram
	// is balanced separately. 0 (default): no limit.
	Requests int
	// Responses is the number of server datagrams that answer each client datagram: a session that has all its
	// Requests ends with the last of them. 0 (default): unknown; the session ends when it is idle.
	Responses int
}

// NewListener returns a listener with default settings, without a name, an address or a backend.
func NewListener() Listener {
	return Listener{
		Socket:            newSocket(),
		TLS:               newServerTLS(),
		StartTLS:          NoStartTLS,
		InspectTimeout:    5 * time.Second,
		MaxClientHello:    16 * KiB,
		OnLimit:           WaitOnLimit,
		SourceRate:        newSourceRate(),
		SourceConnections: newSourceConnections(),
		UDP:               UDP{IdleTimeout: 30 * time.Second},
		AccessLog:         true,
	}
}

// NewRoute returns a route with default settings, without a condition or a backend.
func NewRoute() Route { return Route{Transport: AutoTransport, TLS: newServerTLS()} }

// NewWeightedBackend returns a backend of a route with default settings, without a name.
func NewWeightedBackend() WeightedBackend { return WeightedBackend{Weight: 1} }

func newSocket() Socket {
	return Socket{
		Mode:      0o660,
		KeepAlive: ClientKeepAlive{Mode: KeepAliveOfBackend, Idle: time.Minute, Interval: 15 * time.Second, Count: 4},
	}
}
