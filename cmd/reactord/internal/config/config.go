package config

import (
	"cmp"
	"net/netip"
	"time"
)

// Config is the whole configuration. [New] returns one with default settings; [Config.Validate] checks it.
type Config struct {
	// Ring is the kernel interface: "io_uring", "epoll", or "auto" (default), which is io_uring where it is available
	// and epoll elsewhere. A reload cannot change it.
	Ring string
	// Loops is the number of I/O threads. 0 (default): one for each CPU that the process may use. A reload cannot
	// change it.
	Loops int
	// Pin binds each loop to its own CPU. A reload cannot change it. Default: false.
	Pin bool
	// IncomingCPU lets each loop accept the connections, and receive the datagrams, that its own CPU receives
	// (SO_INCOMING_CPU in socket(7)), which saves the way between CPUs. It requires pin, Linux 6.2, and a network card
	// that spreads packets over the CPUs: reactord doctor tells. Without that, or when a loop cannot keep up, connections
	// are spread by a hash. A reload cannot change it. Default: false.
	IncomingCPU bool
	// MinWait is the shortest sleep of an idle loop. It adds that much latency, and saves CPU time at roughly 10 000
	// to 100 000 messages/s per loop. 0 (default): a loop wakes up as soon as there is work. A reload cannot change it.
	MinWait time.Duration
	// User is the name or number of the user to run as when started by root. The process becomes that user before it
	// opens anything but this file and those that it includes, and keeps no privilege except binding ports below 1024
	// (CAP_NET_BIND_SERVICE). Empty (default): the user that starts it. A reload cannot change it.
	User string
	// Group is the group to run as. Empty (default): the user's. A reload cannot change it.
	Group string
	// Metrics configures the HTTP server of the metrics: an address or a mapping.
	Metrics Metrics
	// Admin configures the HTTP server of the admin API. A reload cannot change it.
	Admin Admin
	// Watch reloads the file when it, a file that it includes or a certificate changes, also by the links of a ConfigMap.
	// Default: false.
	Watch bool
	// Log configures the log.
	Log Log
	// AccessLog configures the access log.
	AccessLog AccessLog
	// Limits limits the connections of the process.
	Limits Limits
	// Drain configures how the process shuts down after SIGTERM.
	Drain Drain
	// Upgrade configures what an upgrade moves, and how the old process ends.
	Upgrade Upgrade
	// Resolver configures the DNS queries of discovery.
	Resolver Resolver
	// Kubernetes configures access to the API server, for the discovery of Services.
	Kubernetes Kubernetes
	// XDS adds listeners and backends from a control plane.
	XDS XDS
	// Sets lists live sets of networks and of server names, for allow, deny, sni and other settings.
	Sets []Set
	// Listeners lists the addresses to accept connections on. At least one is required, unless there is a control
	// plane.
	Listeners []Listener
	// Backends lists the groups of servers to proxy to. At least one is required, unless there is a control plane.
	Backends []Backend
	// Include lists further files: paths of files, patterns of path.Match for the last part of a path, and directories,
	// whose files *.yaml are read in the order of their names. Paths are relative to the directory of this file. The
	// lists of sets, listeners, backends, defaults and include of all files are joined; each other setting is in one
	// file.
	Include []string
	// Defaults lists sets of settings that listeners and backends inherit. Those of a control plane do not.
	Defaults []Defaults
}

// Log configures the log.
type Log struct {
	// Level is the lowest severity logged: "debug", "info" (default), "warn" or "error".
	Level string
	// Format is "json", "console", or "auto" (default): console on a terminal and json elsewhere. A reload cannot
	// change it.
	Format string
}

// Metrics configures the HTTP server of the metrics.
type Metrics struct {
	// Address serves /metrics, /livez and /readyz. Empty (default): no server. A reload cannot change it.
	Address Address
	// WebConfigFile is a file with the certificates and passwords of this server, in the format of --web.config.file
	// of Prometheus exporters. Empty (default): plain HTTP without a password. A reload cannot change the path;
	// changes of the content apply from the next request on. See "TLS and passwords" in docs/operating.md.
	WebConfigFile string
	// Detail selects the series: "normal" (default) leaves out what has never happened, and has the histograms of all
	// listeners and backends together; "summary" also leaves out the series of single servers; "full" has every series
	// from the first scrape on, and the histograms of each listener and backend. See docs/metrics.md.
	Detail Detail
	// PerServer exposes the series of single servers, unless Detail is "summary". Without them, those of their backends
	// remain. Default: true.
	PerServer bool
}

// Admin configures the HTTP server of the admin API.
type Admin struct {
	// Address is "unix:///PATH" or "tcp://HOST:PORT". The host must be a loopback address, unless a WebConfigFile
	// demands TLS and passwords or client certificates. Empty (default): no admin API.
	Address string
	// WebConfigFile is the same as for the metrics. A unix socket has none: its permissions control access.
	WebConfigFile string
	// Mode sets the permissions of the unix socket, in octal. Default: 0600.
	Mode FileMode
	// Owner and Group are the names or numbers of the socket's owner and group. Empty (default): the process's.
	Owner string
	Group string
	// DefaultRole is the role of requests whose user is not in Roles, and of all requests to a unix socket: "read" sees
	// everything, "operator" also drains, reloads, closes connections, and sets servers and the log level, and "admin"
	// also upgrades and records profiles. Default: admin, or with Roles read.
	DefaultRole Role
	// Roles lists roles of users of the WebConfigFile.
	Roles []UserRole
	// OverridesFile is a file for what operators set of servers, add, remove and drain, which then also survives a
	// restart. It is written at each change. Empty (default): none; a reload and an upgrade keep them, a restart does
	// not.
	OverridesFile string
	// Page is a second address of the API and its status page, with a role of its own.
	Page StatusPage
}

// UserRole is the role of a user of the admin API.
type UserRole struct {
	// User is the name of the user, as in basic_auth_users.
	User string
	// Role is "read", "operator" or "admin".
	Role Role
}

// StatusPage is a second address of the admin API.
type StatusPage struct {
	// Address is "tcp://HOST:PORT", as that of the admin API. Empty (default): none.
	Address string
	// WebConfigFile is the same as for the metrics.
	WebConfigFile string
	// Role is what all clients of the address may do: "read" (default), "operator" or "admin".
	Role Role
}

// Access returns the settings of the admin API at its first address, with the default role in force.
func (a *Admin) Access() Admin {
	out := *a
	if out.Page = (StatusPage{}); out.DefaultRole == "" {
		out.DefaultRole = AdminRole
		if len(out.Roles) != 0 {
			out.DefaultRole = ReadRole
		}
	}
	return out
}

// Access returns the settings of the admin API at this address.
func (p *StatusPage) Access() Admin {
	return Admin{Address: p.Address, WebConfigFile: p.WebConfigFile, DefaultRole: cmp.Or(p.Role, ReadRole)}
}

// Open reports whether other machines can reach the address. An invalid address is not open.
func (a *Admin) Open() bool {
	at, err := ParseAddress(a.Address)
	if err != nil || at.Path != "" || at.Host == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(at.Host)
	return err != nil || !ip.IsLoopback()
}

// Limits limits the connections of the process.
type Limits struct {
	// MaxConnections limits the open connections of the process. Half of them are reserved for the listeners, in
	// equal parts. 0 (default): as many as the limit on open files allows.
	MaxConnections int
	// Rate limits new connections of the process.
	Rate Rate
	// SourceRate limits new connections from each source prefix.
	SourceRate SourceRate
	// SourceConnections limits the open connections from each source prefix, over all listeners.
	SourceConnections SourceConnections
	// Memory is the memory of the process at which idle timeouts get shorter: they shrink from 80 % of it on, down to
	// a tenth at 100 %. 0 (default): the memory limit of the cgroup, if any.
	Memory Size
}

// Rate limits new connections by a token bucket.
type Rate struct {
	// Connections is the number of connections accepted per second. 0 (default): no limit.
	Connections int
	// Burst is the number of connections accepted in a burst. 0 (default): as many as Connections.
	Burst int
}

// SourceRate limits new connections from each source prefix. What exceeds the limit is reset. If a PROXY header gives
// the client's address, that one counts.
type SourceRate struct {
	// Connections is the number of connections accepted per second from a prefix. 0 (default): no limit.
	Connections int
	// Burst is the number of connections accepted in a burst. 0 (default): as many as Connections.
	Burst int
	// IPv4Prefix is the length of an IPv4 prefix in bits. Default: 32.
	IPv4Prefix int
	// IPv6Prefix is the length of an IPv6 prefix in bits. Default: 64.
	IPv6Prefix int
	// Sources limits the prefixes that are tracked. Default: 65536.
	Sources int
}

// SourceConnections limits the open connections or UDP sessions from each source prefix, over all loops. What exceeds
// the limit is reset. If a PROXY header gives the client's address, that one counts.
type SourceConnections struct {
	// Max is the number of open connections from a prefix. 0 (default): no limit.
	Max int
	// IPv4Prefix is the length of an IPv4 prefix in bits. Default: 32.
	IPv4Prefix int
	// IPv6Prefix is the length of an IPv6 prefix in bits. Default: 64.
	IPv6Prefix int
	// Sources limits the prefixes with open connections that are tracked; connections of further ones are not limited.
	// Default: 65536.
	Sources int
}

// Drain configures how the process shuts down after SIGTERM or a drain request of the admin API: it reports not ready
// but still accepts, then stops accepting, then closes open connections, and finally resets what is left.
type Drain struct {
	// Delay is how long connections are still accepted after /readyz has begun to fail. Default: 0.
	Delay time.Duration
	// Spread is the time after Delay over which open connections are closed, evenly. 0 (default): they stay open
	// until Timeout.
	Spread time.Duration
	// Timeout is the time after Delay at which remaining connections are reset. 0: immediately. Default: 30 s.
	Timeout time.Duration
}

// Upgrade configures what an upgrade moves, and how the old process ends.
type Upgrade struct {
	// Timeout limits how long the old process serves its remaining connections before it drains, without the
	// delay: it still runs the old code with its bugs. The value of the new process applies. 0: until its
	// connections end. Default: 1 h.
	Timeout time.Duration
	// MoveConnections lets the new process take over the open connections of the old one, which then ends soon.
	// Connections whose TLS ends in the old process stay there, unless [ServerTLS.Handover] is set. The value of the
	// new process applies. Default: true.
	MoveConnections bool
}

// Resolver configures the DNS queries of discovery.
type Resolver struct {
	// Servers lists the DNS servers as IP:PORT. Empty (default): those of /etc/resolv.conf.
	Servers []string
	// Timeout limits the wait for a server's answer. Default: 2 s.
	Timeout time.Duration
	// Attempts is the number of rounds over all servers before a query fails. Default: 2.
	Attempts int
}

// Kubernetes configures access to the API server. Without an address, the process uses its pod's: the environment
// variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and the files "token", "ca.crt" and "namespace" in
// /var/run/secrets/kubernetes.io/serviceaccount. All files are read again when they change.
type Kubernetes struct {
	// Address is the URL of the API server, as in https://10.0.0.1:6443. Empty (default): that of the pod's cluster.
	Address string
	// CAFile is a file with the certificates of trusted authorities. Empty (default): the pod's, or with an address
	// the system's.
	CAFile string
	// TokenFile is a file with a bearer token, read again for each request. Empty (default): the pod's, or with an
	// address none.
	TokenFile string
	// CertFile is a file with a client certificate. Empty (default): none.
	CertFile string
	// KeyFile is a file with the key of the client certificate. Empty (default): CertFile.
	KeyFile string
	// Timeout limits a list request, and the start of a watch. Default: 10 s.
	Timeout time.Duration
}

// New returns the default configuration, without listeners and backends.
func New() *Config {
	return &Config{
		Ring:       "auto",
		Metrics:    Metrics{Detail: NormalDetail, PerServer: true},
		Admin:      Admin{Mode: 0o600, Page: StatusPage{Role: ReadRole}},
		Log:        Log{Level: "info", Format: "auto"},
		AccessLog:  newAccessLog(),
		Limits:     Limits{SourceRate: newSourceRate(), SourceConnections: newSourceConnections()},
		Drain:      Drain{Timeout: 30 * time.Second},
		Upgrade:    Upgrade{Timeout: time.Hour, MoveConnections: true},
		Resolver:   Resolver{Timeout: 2 * time.Second, Attempts: 2},
		Kubernetes: Kubernetes{Timeout: 10 * time.Second},
		XDS:        newXDS(),
	}
}

func newSourceRate() SourceRate { return SourceRate{IPv4Prefix: 32, IPv6Prefix: 64, Sources: 65536} }

func newSourceConnections() SourceConnections {
	return SourceConnections{IPv4Prefix: 32, IPv6Prefix: 64, Sources: 65536}
}
