package config

import "time"

// Backend is a group of interchangeable servers. Across reloads, a backend with the same name keeps its counters,
// health and limits, and so does a server with the same address.
type Backend struct {
	// Name identifies the backend; listeners and routes refer to it.
	Name string
	// From is the name of the set of [Config.Defaults] to inherit. Empty (default): the set without a name, if any.
	From string
	// Servers lists the servers. At least one is required, unless servers are discovered.
	Servers []Server
	Discovery
	// Balance configures load balancing.
	Balance Balance
	// Check configures active health checks.
	Check Check
	// Agent configures agent checks, by which a server reports its own weight and state.
	Agent Agent
	// Ejection takes servers out of rotation when connecting to them fails.
	Ejection Ejection
	// MaxConnections limits the connections to all servers together, over all loops. 0 (default): no limit.
	MaxConnections int
	// Queue holds connections while the backend, or each of its servers, is at its MaxConnections.
	Queue Queue
	// Hold lets connections wait in the queue for up to this long also while no server is up, none is found yet, or all
	// that were tried could not be reached, instead of resetting them. It replaces the timeout of the queue, whose size
	// bounds the connections that wait for either reason. When a server is back, they are released in order and
	// gradually. 0 (default): a connection without a server to try is reset.
	Hold time.Duration
	// TLS configures TLS to the servers.
	TLS ClientTLS
	// ProxyProtocol sends the client's addresses to servers.
	ProxyProtocol SendProxy
	// Retries limits the further attempts after a server could not be reached: other servers immediately, and once
	// all were tried, the same ones after RetryDelay. Default: 3.
	Retries int
	// RetryDelay is the delay before the same servers are tried again, with a jitter of 25 %. They are tried again
	// only if nothing was sent to a server yet. 0: they are not tried again. Default: 1 s.
	RetryDelay time.Duration
	// RetryBudget limits retries to a share of the connections. A connection that is about to try the same servers
	// again waits until the budget allows it, RetryDelay at a time.
	RetryBudget RetryBudget
	// ConnectTimeout limits an attempt to connect to a server. Then the next server is tried. Default: 5 s.
	ConnectTimeout time.Duration
	// TotalConnectTimeout limits the time until a connection has reached a server, including the queue and retries. 0
	// (default): only the other timeouts apply.
	TotalConnectTimeout time.Duration
	// FirstByteTimeout closes a connection on which neither side has sent a byte for this long after it was set up. 0
	// (default): no limit.
	FirstByteTimeout time.Duration
	// IdleTimeout closes a connection on which no byte was received, sent or acknowledged in either direction for
	// this long. 0: no limit. Default: 10 min.
	IdleTimeout time.Duration
	// HalfCloseTimeout is the idle timeout once one side has sent EOF or was reset. 0: no limit. Default: 30 s.
	HalfCloseTimeout time.Duration
	// Lifetime limits how long a connection may be open. 0 (default): no limit.
	Lifetime time.Duration
	// LifetimeJitter shortens each lifetime at random by up to this many per cent, so that connections opened
	// together do not end together. Default: 10.
	LifetimeJitter int
	// SourceAddresses lists the local addresses to connect from, used round-robin. Empty (default): the kernel
	// chooses.
	SourceAddresses []IP
	// KeepAlive configures TCP keep-alive on both sides.
	KeepAlive KeepAlive
	// UserTimeout is TCP_USER_TIMEOUT on both sides: how long sent bytes may stay unacknowledged before the
	// connection is reset. 0 (default): the kernel's.
	UserTimeout time.Duration
	// Buffer limits the bytes in flight in each direction. When it is full, the proxy stops reading from the sending
	// side. Bulk transfers may use, from 64 KiB on, a buffer of 256 KiB in a direction, or up to 1 MiB in the kernel,
	// in at most 16 directions of a loop. Default: 64 KiB.
	Buffer Size
}

// SendProxy sends PROXY protocol headers to servers. Over UDP, each datagram has one, as dnsdist and PowerDNS expect.
type SendProxy struct {
	// Version is "none" (default), "v1" or "v2".
	Version ProxyVersion
	// TLVs lists the extensions of a version 2 header: "alpn", "authority" (the SNI), "ssl" (TLS version, cipher and
	// client certificate), "unique_id", "crc32c", and "received" (those of the received header). Default: none.
	TLVs []ProxyTLV
}

// Server is a server of a backend. In the file, it is a mapping or just its address.
type Server struct {
	// Address is where the server listens: HOST:PORT, or "unix:///PATH" or "unix://@NAME" (an abstract socket), which
	// takes connections only. A host name is resolved when the file is read. Names that resolve to one
	// address are one server, with the settings of the entry with the lowest priority, or of the first one; the
	// weights are not added.
	Address Address
	// Name identifies the server in logs and metrics. Default: the HOST:PORT of its address, or its unix socket.
	Name string
	// Weight is the share of connections relative to the other servers, from 0 (none) to 1000. Default: 1.
	Weight int
	// Priority groups servers: connections go to the lowest priority with enough healthy servers. Default: 0.
	Priority int
	// Backup puts the server behind all priorities. Default: false.
	Backup bool
	// Locality is the server's location, such as a zone. See [Balance.Locality].
	Locality string
	// MaxConnections limits the connections to the server, over all loops. 0 (default): no limit.
	MaxConnections int
	// Plain disables TLS to this server although the backend uses it. Default: false.
	Plain bool
	// State is "up" (default), "drain" (no new connections), or "maintenance" (no new connections and no checks).
	State string
	// Check overrides the backend's health check for this server.
	Check ServerCheck
	// Agent overrides the backend's agent check for this server.
	Agent ServerAgent
}

// Balance configures load balancing.
type Balance struct {
	// Policy selects the algorithm.
	Policy Policy
	// LoadFactor limits the connections of a server to this many per cent of the average, for policies that
	// choose by the client's address; beyond it, a client goes to the next server of its order. 0 (default): no limit.
	LoadFactor int
	// IPv4Prefix and IPv6Prefix are the number of bits of the client's address that are hashed, or that Sticky
	// remembers. Defaults: 32 and 64.
	IPv4Prefix int
	IPv6Prefix int
	// Locality is the location of this process. Servers there are preferred; others get the share that it has no
	// healthy servers for. Empty (default): locations do not matter.
	Locality string
	// SlowStart is the time over which the weight of a server that comes up rises from a tenth to its full value. It
	// does not apply when the process starts. 0 (default): full weight immediately.
	SlowStart time.Duration
	// Backup says when backup servers get connections. "spill" (default): as servers of one more priority, when the
	// healthy ones before them cannot carry everything, which is below 72 % of their weight. "last_resort": only while
	// none of the others is up, as with HAProxy and nginx.
	Backup BackupUse
	// Subset limits the servers of each priority that this process uses, so that each of many processes keeps
	// connections to only a few. A server that joins, leaves or fails changes at most one member. 0 (default): all.
	Subset int
	// SubsetKey identifies this process in the choice of its subsets. Default: the host name.
	SubsetKey string
	// PanicThreshold is the percentage of healthy servers below which all servers are used, healthy or not, unless
	// other priorities make up for them: a check that fails everywhere is more likely to be wrong than every server.
	// 0 (default): never. With it, clients may get servers that are down although others are up.
	PanicThreshold int
	// Sticky keeps clients at their servers.
	Sticky Sticky
}

// Sticky keeps each client at the server that it got last, whatever the policy says, also when other servers come back
// or are added: session persistence, as of a stick table. A server that is down or leaves is replaced. The table
// survives a reload and an upgrade.
type Sticky struct {
	// Time is how long a client's server is remembered after its last connection. 0 (default): clients are not kept.
	Time time.Duration
	// Max limits the clients that are remembered, by their prefixes; then the ones that came the longest ago are
	// forgotten. Default: 100000.
	Max int
}

// Check configures active health checks. They run only if Interval is set.
type Check struct {
	// Interval is the time between two checks of a server, with a jitter of 10 %. 0 (default): no checks.
	Interval time.Duration
	// FastInterval is the interval while the state is changing, after a first failure or success. Default: a fifth of
	// Interval.
	FastInterval time.Duration
	// DownInterval is the interval while the server is down. Default: Interval.
	DownInterval time.Duration
	// Timeout limits a check. Default: 2 s.
	Timeout time.Duration
	// Rise is the number of consecutive successful checks that bring a server up. Default: 2.
	Rise int
	// Fall is the number of consecutive failed checks that take a server down. Default: 3.
	Fall int
	// Initial is the state of a server before its first result: when the process starts, when a server is added, and
	// after maintenance. "wait" (default): no connections until its first check, which runs immediately and decides
	// alone; a check that says nothing because of this machine counts as passed. "down": it must pass Rise checks.
	// "up": it gets connections immediately, and the first failure takes it down. A state handed over by the previous
	// process takes precedence.
	Initial InitialState
	// Port is the port to check. 0 (default): the server's.
	Port int
	// Protocol is what the check speaks. "tcp" (default): Send and Expect, or Steps. "udp": the same in datagrams; a
	// question is sent again within Timeout, and without Expect any answer will do. "postgresql": the server asks for a
	// login; with Role or Password, the check logs in. "mysql": the server greets, or with User, lets that user in
	// without a password. "redis": the server answers PING.
	Protocol CheckProtocol
	// User is the user to log in as, with the protocols postgresql, redis and mysql. Default: "reactord" for postgresql,
	// and else none.
	User string
	// Password is the password of the user, with the protocols postgresql and redis. PostgreSQL receives it by
	// SCRAM-SHA-256, or in clear text over TLS or a unix socket. Empty (default): none.
	Password string
	// Database is the database to connect to, with the protocol postgresql. Default: "postgres".
	Database string
	// Role is what the server must be, with the protocols postgresql and redis: "any" (default), "primary" or "replica".
	Role ServerRole
	// Send is the text to send once connected, with escapes as \r and \n in YAML's double quotes.
	Send string
	// SendHex is the same in hexadecimal digits. Set only one of the two.
	SendHex string
	// Expect is the text that the answer must contain. Empty (default): the check succeeds once it has connected and
	// sent.
	Expect string
	// ExpectHex is the same in hexadecimal digits.
	ExpectHex string
	// Steps lists several exchanges in place of Send and Expect, such as a login and a question. Each answer is searched
	// for behind the one that the step before expected. Timeout limits all of them together.
	Steps []CheckStep
	// TLS performs a TLS handshake before anything is sent, with the backend's client certificate if there is one. With
	// the protocol postgresql, the server is asked for TLS first.
	// Default: false.
	TLS bool
	// TLSServerName is the server name to request and to verify, by the authorities of the backend's tls.ca or else
	// the system's. Empty: the certificate is not verified.
	TLSServerName string
	// Proxy sends a PROXY protocol version 2 header with the command LOCAL first. Default: false.
	Proxy bool
	// CloseOnDown resets the connections to a server that goes down. Default: false.
	CloseOnDown bool
	// Subset limits the servers of each priority that this process checks, so that each of many processes checks only
	// a few: the first ones in the order of balance.subset_key, not counting those that are not up. The others count
	// as up until connections to them fail. 0 (default): one and a half times balance.subset, if set, or else all.
	Subset int
}

// CheckStep is an exchange of a check. It needs something to send or something to expect.
type CheckStep struct {
	// Send is the text to send, with escapes as \r and \n in YAML's double quotes. Empty (default): nothing.
	Send string
	// SendHex is the same in hexadecimal digits. Set only one of the two.
	SendHex string
	// Expect is the text that the answer must contain. Empty (default): the next step follows at once.
	Expect string
	// ExpectHex is the same in hexadecimal digits.
	ExpectHex string
}

// Agent configures agent checks in HAProxy's format: an agent on the server answers a connection with a line of
// words: "up", "ready", "down", "drain", "maint", "N%" (of the weight).
type Agent struct {
	// Port is the port of the agent at the server's address. 0 (default): no agent.
	Port int
	// Interval is the time between two checks, with a jitter of 10 %. Default: 2 s.
	Interval time.Duration
	// Timeout limits an answer. Default: 1 s.
	Timeout time.Duration
	// Send is the text to send once connected. Empty (default): nothing.
	Send string
}

// Ejection takes a server out of rotation for a time after connecting to it has failed. It ends early once the server
// has passed check.rise checks, or when no other server is left that could serve. The last server that could serve is
// never ejected, nor, with checks, the last of its priority: it is checked immediately instead.
type Ejection struct {
	// Failures is the number of consecutive failed connects, over all loops, that eject a server. 0: never. Default:
	// 5.
	Failures int
	// Time is the duration of the first ejection; each further one that follows soon is longer by as much. Default:
	// 10 s.
	Time time.Duration
	// MaxTime limits the duration. Default: 5 min.
	MaxTime time.Duration
	// MaxPercent limits the percentage of eligible servers, those that have a weight, are not down and do not drain,
	// that may be ejected together. One may always be, if others can serve. Default: 50.
	MaxPercent int
}

// Queue holds connections, in order, until a server has room.
type Queue struct {
	// Size limits the connections that wait, for room or because of Hold. 0: no queue. Default: 1024.
	Size int
	// Timeout limits the wait, unless Hold does. Default: 5 s.
	Timeout time.Duration
}

// RetryBudget limits retries, so that they do not multiply the load on failing servers: at most Percent of the
// connections of the last 10 s, and at least Min each second.
type RetryBudget struct {
	// Percent is the number of retries allowed for 100 connections. 0: no limit. Default: 20.
	Percent int
	// Min is the number of retries that are always allowed each second. Default: 10.
	Min int
}

// KeepAlive configures TCP keep-alive. See tcp(7).
type KeepAlive struct {
	// Idle is the time without data after which the kernel probes the peer. 0: keep-alive is off. Default: 1 min.
	Idle time.Duration
	// Interval is the time between two probes. Default: 15 s.
	Interval time.Duration
	// Count is the number of unanswered probes after which the connection is reset. Default: 4.
	Count int
}

// NewBackend returns a backend with default settings, without a name or servers.
func NewBackend() Backend {
	return Backend{
		Balance: Balance{
			Policy: P2C, Backup: BackupSpills, IPv4Prefix: 32, IPv6Prefix: 64, Sticky: Sticky{Max: 100_000},
		},
		Check:            newCheck(),
		Agent:            Agent{Interval: 2 * time.Second, Timeout: time.Second},
		Ejection:         Ejection{Failures: 5, Time: 10 * time.Second, MaxTime: 5 * time.Minute, MaxPercent: 50},
		Queue:            Queue{Size: 1024, Timeout: 5 * time.Second},
		TLS:              newClientTLS(),
		ProxyProtocol:    SendProxy{Version: NoProxy},
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

func newCheck() Check {
	return Check{
		Timeout: 2 * time.Second, Rise: 2, Fall: 3, Initial: WaitForCheck, Protocol: CheckTCP, Role: AnyRole,
	}
}

// NewServer returns a server with default settings, without an address.
func NewServer() Server { return Server{Weight: 1, State: "up"} }
