package config

import "time"

// Backend is a group of servers that can stand in for each other. A backend keeps its counters, health and limits when
// its name stays; a server when its address stays.
type Backend struct {
	// Name is the name by which listeners refer to the backend.
	Name string
	// Servers are the addresses that connections are spread over. At least one, unless there is discovery.
	Servers []Server
	// DNS are names whose addresses are servers, looked up again when their TTL ends.
	DNS []DNS
	// Files are files of Prometheus's file_sd format whose targets are servers, read again when they change.
	Files []FileDiscovery
	// HTTP are URLs of Prometheus's http_sd format whose targets are servers, asked again after an interval.
	HTTP []HTTPDiscovery
	// Kubernetes are Services whose endpoints are servers, as the API server of their cluster says.
	Kubernetes []KubernetesDiscovery
	// Balance is how a server is chosen.
	Balance Balance
	// Check is the active health check.
	Check Check
	// Agent is the agent check: the server tells its weight and state.
	Agent Agent
	// Ejection takes servers out that connections fail to reach.
	Ejection Ejection
	// MaxConnections is the maximum number of connections to all servers, for all loops together. 0 (default): no limit.
	MaxConnections int
	// Queue is where connections wait if MaxConnections of the backend or of every server is reached.
	Queue Queue
	// TLS speaks TLS to the servers.
	TLS ClientTLS
	// ProxyProtocol tells servers the addresses of the client.
	ProxyProtocol SendProxy
	// Retries is how many further attempts there are when a server cannot be reached: with other servers immediately, and
	// when all were tried, with the same ones after RetryDelay. Default: 3.
	Retries int
	// RetryDelay is the time from an attempt to the next one with the same servers, with a jitter of 25 %. They are tried
	// again only if nothing was sent to a server. 0: they are not. Default: 1 s.
	RetryDelay time.Duration
	// RetryBudget bounds retries to a part of the connections. Before an attempt with the same servers, a connection waits
	// for it, for RetryDelay each time.
	RetryBudget RetryBudget
	// ConnectTimeout is how long connecting to a server may take. Then the next server is tried. Default: 5 s.
	ConnectTimeout time.Duration
	// TotalConnectTimeout is how long a connection may take to reach a server, with its time in the queue and retries.
	// 0 (default): it is bounded by the other timeouts only.
	TotalConnectTimeout time.Duration
	// FirstByteTimeout is how long a connection may be open until its first byte, from either side. 0 (default): without
	// limit.
	FirstByteTimeout time.Duration
	// IdleTimeout is how long a connection may be open while no byte is received, sent or acknowledged in either
	// direction. 0: without limit. Default: 10 min.
	IdleTimeout time.Duration
	// HalfCloseTimeout is the same after one side has sent EOF or was reset. 0: without limit. Default: 30 s.
	HalfCloseTimeout time.Duration
	// Lifetime is how long a connection may be open. 0 (default): without limit.
	Lifetime time.Duration
	// LifetimeJitter is by how many per cent a lifetime is shortened at most, at random, so that connections that began
	// together do not end together. Default: 10.
	LifetimeJitter int
	// SourceAddresses are the local addresses that servers are connected to from, round-robin. Empty (default): the
	// kernel chooses.
	SourceAddresses []IP
	// KeepAlive is TCP keep-alive on both sides.
	KeepAlive KeepAlive
	// UserTimeout is how long bytes may stay unacknowledged before the connection is reset: TCP_USER_TIMEOUT, on both
	// sides. 0 (default): the kernel's.
	UserTimeout time.Duration
	// Buffer is the maximum number of bytes in flight in each direction. At this number, reading from the source
	// pauses. Default: 64 KiB. If it is that much or more, bulk may take a piece of 256 KiB in a direction, or up to 1
	// MiB in the kernel in 16 directions of a loop.
	Buffer Size
}

// SendProxy sends a PROXY protocol header to servers. Over UDP it is in front of each
// datagram, as dnsdist and PowerDNS expect it.
type SendProxy struct {
	// Version is "none" (default: no header is sent), "v1" or "v2".
	Version string
	// TLVs are what a header of version 2 has: "alpn", "authority" (the SNI), "ssl" (version, cipher and the client's
	// certificate), "unique_id", "crc32c", and "received" (those of the header that was received). Default: none.
	TLVs []string
}

// Server is a server of a backend. In the file it is a mapping, or its address only.
type Server struct {
	// Address is where the server listens. A host name is looked up when the file is read. Names that have one address are
	// one server: the one of the lowest priority, or the first. Its weight is its own.
	Address Address
	// Name identifies the server in logs and metrics. Default: HOST:PORT of the address.
	Name string
	// Weight is the server's share of connections, in relation to the others: 0 (none) to 1000. Default: 1.
	Weight int
	// Priority is the group of servers to which it belongs: connections go to the lowest that has enough healthy servers.
	// Default: 0.
	Priority int
	// Backup is the same as the last priority of all. Default: false.
	Backup bool
	// Locality is where the server is, as a zone. See [Balance.Locality].
	Locality string
	// MaxConnections is the maximum number of connections to it, for all loops together. 0 (default): no limit.
	MaxConnections int
	// Plain leaves TLS out with this server, although the backend has it. Default: false.
	Plain bool
	// State is "up" (default), "drain" (no new connections), or "maintenance" (the same, and it is not checked).
	State string
}

// DNS is a name whose addresses are servers. The last good answer is kept when a lookup fails.
type DNS struct {
	// Name is the name, which is not completed by search domains.
	Name string
	// Type is "ip" (default), for A and AAAA records, "A", "AAAA", "A_or_AAAA" (AAAA if there is no A), "AAAA_or_A" or
	// "SRV".
	Type string
	// Port is the port of the servers. An SRV record has its own.
	Port int
	// MinInterval bounds how soon the name is looked up again, whatever its TTL. Default: 1 s.
	MinInterval time.Duration
	// MaxInterval bounds how late. Default: 5 min.
	MaxInterval time.Duration
	// Weight is the weight of each of these servers: 0 (none) to 1000. An SRV record has its own. Default: 1.
	Weight int
	// Priority is the priority of these servers, as [Server.Priority]. That of an SRV record is added. Default: 0.
	Priority int
	// Locality is where these servers are, as [Server.Locality].
	Locality string
}

// FileDiscovery is a file of Prometheus's file_sd format, in JSON or YAML. The labels "weight", "priority", "backup",
// "locality", "name", "max_connections" and "state" of a target are those of [Server].
type FileDiscovery struct {
	// Path is the path of the file. A pattern of path.Match in its last part is all files that match.
	Path string
}

// HTTPDiscovery is a URL of Prometheus's http_sd format. Labels are those of [FileDiscovery].
type HTTPDiscovery struct {
	// URL is http:// or https://.
	URL string
	// Interval is the time between two requests, with a jitter of 10 %. Default: 30 s.
	Interval time.Duration
	// Timeout is how long an answer may take. Default: 10 s.
	Timeout time.Duration
	// TokenFile is a file with a bearer token, read again for each request. Empty (default): none.
	TokenFile string
	// CAFile is a file with certificates of authorities. Empty (default): the system's.
	CAFile string
}

// KubernetesDiscovery is a Service of Kubernetes: the endpoints of its EndpointSlices are servers. One that is ready is
// up; one that ends and still serves drains, unless there is no other; the rest is left out. Its zone is its locality.
type KubernetesDiscovery struct {
	// Service is the name of the Service.
	Service string
	// Namespace is the namespace of the Service. Empty (default): that of the pod in which the process runs.
	Namespace string
	// Port is the name or the number of the port of the endpoints: the targetPort of the Service, and not its port. Empty
	// (default): the only one.
	Port ServicePort
	// AddressType is "ip" (default), for all addresses, "IPv4" or "IPv6". Of a Service with both, choose one: else a pod
	// is two servers.
	AddressType string
}

// Balance is how a server is chosen.
type Balance struct {
	// Policy is "p2c" (default: the one of two random servers that has fewer connections), "round_robin" (smooth,
	// weighted), "random" (by weight), "least_connections", "source_hash" (the same server for a client address; a server
	// that comes or goes moves its own clients only) or "maglev" (nearly the same, in a time that does not depend on the
	// number of servers: for hundreds of them).
	Policy string
	// LoadFactor bounds the connections of a server to this many per cent of the average, with source_hash and maglev: a
	// client goes to the next server of its order then. 0 (default): without bound.
	LoadFactor int
	// IPv4Prefix and IPv6Prefix are how many bits of the client's address are hashed. Defaults: 32 and 64.
	IPv4Prefix int
	IPv6Prefix int
	// Locality is the locality of this process. Its servers are preferred: others get the part that it has no healthy
	// servers for. Empty (default): all servers are alike.
	Locality string
	// SlowStart is the time over which the weight of a server that has come up grows from a tenth to its value. 0
	// (default): it has its value immediately. It does not apply when the process starts.
	SlowStart time.Duration
	// Subset is how many servers of each priority this process uses at most, so that each of many processes keeps
	// connections to few. A server that comes, goes or fails changes one member at most. 0 (default): all.
	Subset int
	// SubsetKey is what tells this process from others in the choice of its subsets. Default: the host name.
	SubsetKey string
	// PanicThreshold is the part of healthy servers, in per cent, below which all servers are used, healthy or not, unless
	// another priority makes up for them: a check that fails everywhere is more likely wrong than all servers. 0
	// (default): never. Clients get servers that are down then, although others are up.
	PanicThreshold int
}

// Check is an active health check. Without an interval there is none.
type Check struct {
	// Interval is the time between two checks of a server, with a jitter of 10 %. 0 (default): servers are not checked.
	Interval time.Duration
	// FastInterval is the interval while a state changes: after a first failure or success. Default: a fifth of Interval.
	FastInterval time.Duration
	// DownInterval is the interval while the server is down. Default: Interval.
	DownInterval time.Duration
	// Timeout is how long a check may take. Default: 2 s.
	Timeout time.Duration
	// Rise is how many checks must succeed in a row before a server that is down is up. Default: 2.
	Rise int
	// Fall is how many checks must fail in a row before a server that is up is down. Default: 3.
	Fall int
	// Initial is the state of a server before its first result, when the process starts, when a server is added, and after
	// maintenance. "wait" (default): it has no connections until that, its first check is made immediately, and decides
	// alone; a check that finds nothing out because of this machine counts as passed. "down": it must pass Rise times.
	// "up": it has connections immediately, and the first failure takes it down. States that were handed over by the
	// process before this one count instead.
	Initial string
	// Port is the port to connect to. 0 (default): the server's.
	Port int
	// Send is what is sent after connecting: text, with escapes as \r and \n in YAML's double quotes.
	Send string
	// SendHex is the same in hexadecimal digits. Only one of both can be set.
	SendHex string
	// Expect is what the answer must contain. Empty (default): the check succeeds when it is connected and has sent.
	Expect string
	// ExpectHex is the same in hexadecimal digits.
	ExpectHex string
	// TLS begins TLS before anything is sent. If the backend has tls, its cert is shown to the server. Default: false.
	TLS bool
	// TLSServerName is the name that is asked for, and that the certificate must have, from an authority of the backend's
	// tls.ca, or else of the system. Empty: the certificate is not verified.
	TLSServerName string
	// Proxy sends a PROXY protocol version 2 header with the command LOCAL first. Default: false.
	Proxy bool
	// CloseOnDown resets the connections to a server when it goes down. Default: false.
	CloseOnDown bool
	// Subset is how many servers of each priority this process checks at most, so that each of many processes checks few:
	// the first in the order of balance.subset_key, not counting those that are not up. The others count as up until
	// connections to them fail. 0 (default): half as many again as balance.subset, or else all.
	Subset int
}

// Agent is an agent check, as HAProxy's: the server's agent answers a connection with a line of words: "up", "ready",
// "down", "drain", "maint", "N%" (of the weight).
type Agent struct {
	// Port is the port of the agent, on the server's address. 0 (default): there is none.
	Port int
	// Interval is the time between two checks, with a jitter of 10 %. Default: 2 s.
	Interval time.Duration
	// Timeout is how long an answer may take. Default: 1 s.
	Timeout time.Duration
	// Send is what is sent after connecting. Empty (default): nothing.
	Send string
}

// Ejection takes a server out for a time, after connections could not be made to it. It ends earlier when the server's
// check has passed check.rise times, or when no other server is left that could serve. The last server that could serve
// is never ejected, nor, with checks, the last of its priority: it is checked immediately instead.
type Ejection struct {
	// Failures is how many connects in a row must fail, from all loops. 0: no server is ejected. Default: 5.
	Failures int
	// Time is how long the server is out: this long at first, and as much longer each time that follows soon. Default: 10
	// s.
	Time time.Duration
	// MaxTime is how long at most. Default: 5 min.
	MaxTime time.Duration
	// MaxPercent is how many per cent may be out at most of the servers that could serve: that have a weight, are not
	// down, and do not drain. One may always be, if others can serve. Default: 50.
	MaxPercent int
}

// Queue is where connections wait for a server in order.
type Queue struct {
	// Size is how many connections wait at most. 0: none. Default: 1024.
	Size int
	// Timeout is how long a connection waits at most. Default: 5 s.
	Timeout time.Duration
}

// RetryBudget bounds retries, so that they do not multiply the load on servers that fail: at most Percent of the
// connections of the last 10 s, and at least Min each second.
type RetryBudget struct {
	// Percent is how many retries there may be for 100 connections. 0: without bound. Default: 20.
	Percent int
	// Min is how many retries a second are always allowed. Default: 10.
	Min int
}

// KeepAlive is TCP keep-alive. See tcp(7).
type KeepAlive struct {
	// Idle is the time without a byte after which the kernel asks whether the peer is there. 0: it does not. Default: 1
	// min.
	Idle time.Duration
	// Interval is the time between two questions. Default: 15 s.
	Interval time.Duration
	// Count is how many questions remain unanswered before the connection is reset. Default: 4.
	Count int
}

// NewBackend is a backend with every default, without a name and servers.
func NewBackend() Backend {
	return Backend{
		Balance:          Balance{Policy: "p2c", IPv4Prefix: 32, IPv6Prefix: 64},
		Check:            Check{Timeout: 2 * time.Second, Rise: 2, Fall: 3, Initial: "wait"},
		Agent:            Agent{Interval: 2 * time.Second, Timeout: time.Second},
		Ejection:         Ejection{Failures: 5, Time: 10 * time.Second, MaxTime: 5 * time.Minute, MaxPercent: 50},
		Queue:            Queue{Size: 1024, Timeout: 5 * time.Second},
		TLS:              newClientTLS(),
		ProxyProtocol:    SendProxy{Version: "none"},
		Retries:          3,
		RetryDelay:       time.Second,
		RetryBudget:      RetryBudget{Percent: 20, Min: 10},
		ConnectTimeout:   5 * time.Second,
		IdleTimeout:      10 * time.Minute,
		HalfCloseTimeout: 30 * time.Second,
		LifetimeJitter:   10,
		KeepAlive:        KeepAlive{Idle: time.Minute, Interval: 15 * time.Second, Count: 4},
		Buffer:           64 * KiB,
	}
}

// NewServer is a server with every default, without an address.
func NewServer() Server { return Server{Weight: 1, State: "up"} }

// NewDNS is a DNS discovery with every default, without a name.
func NewDNS() DNS {
	return DNS{Type: "ip", MinInterval: time.Second, MaxInterval: 5 * time.Minute, Weight: 1}
}

// NewKubernetesDiscovery is a Kubernetes discovery with every default, without a Service.
func NewKubernetesDiscovery() KubernetesDiscovery { return KubernetesDiscovery{AddressType: "ip"} }

// NewHTTPDiscovery is an HTTP discovery with every default, without a URL.
func NewHTTPDiscovery() HTTPDiscovery {
	return HTTPDiscovery{Interval: 30 * time.Second, Timeout: 10 * time.Second}
}
