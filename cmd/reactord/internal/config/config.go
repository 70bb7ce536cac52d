package config

import (
	"net/netip"
	"time"
)

// Config is the whole configuration. [New] gives the defaults. A Config is valid if [Config.Validate] finds nothing.
type Config struct {
	// Ring is the kernel interface: "io_uring", "epoll", or "auto" (default), which is io_uring if it is available and
	// epoll if not. A reload cannot change it.
	Ring string
	// Loops is the number of I/O threads. 0 (default) is one for each CPU that the process may use. A reload cannot
	// change it.
	Loops int
	// Pin binds each loop to a CPU of its own. A reload cannot change it. Default: false.
	Pin bool
	// MinWait is how long an idle loop sleeps at least. It costs as much latency, and saves CPU time at about 10 000 to
	// 100 000 messages/s per loop. 0 (default): the loop sleeps until there is something to do. A reload cannot change it.
	MinWait time.Duration
	// User is the name or the number of the user that the process runs as, if root starts it. It becomes that user before
	// it opens anything but this file, and keeps no privilege but ports below 1024 (CAP_NET_BIND_SERVICE). Empty
	// (default): the user that starts it. A reload cannot change it.
	User string
	// Group is the group of the process. Empty (default): the user's. A reload cannot change it.
	Group string
	// Metrics is the HTTP server of the metrics: its address, or a mapping.
	Metrics Metrics
	// Admin is the HTTP server of the admin API. A reload cannot change it.
	Admin Admin
	// Watch reloads the file when it changes, or when its directory does, as a ConfigMap's. Default: false.
	Watch bool
	// Log configures the log.
	Log Log
	// AccessLog is the log of connections.
	AccessLog AccessLog
	// Limits bound the connections of the process.
	Limits Limits
	// Drain is how the process ends after SIGTERM.
	Drain Drain
	// Upgrade is how the old process of an upgrade ends.
	Upgrade Upgrade
	// Resolver configures the DNS queries of discovery.
	Resolver Resolver
	// Kubernetes is the API server, for the discovery of Services.
	Kubernetes Kubernetes
	// XDS has a control plane tell further listeners and backends.
	XDS XDS
	// Listeners are the addresses on which connections are accepted. At least one, unless there is a control plane.
	Listeners []Listener
	// Backends are the groups of servers that connections are proxied to. At least one, unless there is a control plane.
	Backends []Backend
}

// Log configures the log.
type Log struct {
	// Level is the least severe level logged: "debug", "info" (default), "warn" or "error".
	Level string
	// Format is "json", "console", or "auto" (default): console on a terminal, json elsewhere. A reload cannot change it.
	Format string
}

// Metrics is the HTTP server of the metrics.
type Metrics struct {
	// Address is where /metrics, /livez and /readyz are served. Empty (default): nowhere. A reload cannot change it.
	Address Address
	// WebConfigFile is the file with certificates and passwords of this server, in the form that exporters of Prometheus
	// have for --web.config.file. Empty (default): plain HTTP without a password. A reload cannot change the path. What is
	// in the file is valid for the next request. See "TLS and passwords" in docs/operating.md.
	WebConfigFile string
	// PerServer exposes the series of each server. If it is false, those of the backends are left: with 10 000 servers
	// that are 230 000 series less. Default: true.
	PerServer bool
}

// Admin is the HTTP server of the admin API.
type Admin struct {
	// Address is "unix:///PATH", or "tcp://HOST:PORT": of a loopback address, or of any with a WebConfigFile that has TLS
	// and asks for passwords or client certificates. Empty (default): there is none.
	Address string
	// WebConfigFile is as that of Metrics. A unix socket has none: its permissions say who may use it.
	WebConfigFile string
	// Mode is the permissions of the unix socket, in octal. Default: 0600.
	Mode FileMode
	// Owner and Group are the names or the numbers of the socket's owner and group. Empty (default): the process's.
	Owner string
	Group string
}

// Open reports whether other machines reach the address, as far as it is one.
func (a *Admin) Open() bool {
	at, err := ParseAddress(a.Address)
	if err != nil || at.Path != "" || at.Host == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(at.Host)
	return err != nil || !ip.IsLoopback()
}

// Limits bound the connections of the process.
type Limits struct {
	// MaxConnections is the maximum number of open connections of the process. 0 (default): as many as the limit on open
	// files allows. Half of them are guaranteed to the listeners, in equal parts.
	MaxConnections int
	// Rate limits new connections of the process.
	Rate Rate
	// SourceRate limits new connections from each source prefix.
	SourceRate SourceRate
	// Memory is the memory of the process from which on idle timeouts become shorter: at 80 % of it they begin to shrink,
	// at 100 % they are a tenth. 0 (default): the memory limit of the cgroup, if it has one.
	Memory Size
}

// Rate is a limit on new connections: a token bucket.
type Rate struct {
	// Connections is how many connections are accepted per second. 0 (default): without limit.
	Connections int
	// Burst is how many may come together. 0 (default): as many as Connections.
	Burst int
}

// SourceRate is a limit on new connections from each source prefix. A connection beyond it is reset.
type SourceRate struct {
	// Connections is how many connections are accepted per second from a prefix. 0 (default): without limit.
	Connections int
	// Burst is how many may come together. 0 (default): as many as Connections.
	Burst int
	// IPv4Prefix is the length of an IPv4 prefix in bits. Default: 32.
	IPv4Prefix int
	// IPv6Prefix is the length of an IPv6 prefix in bits. Default: 64.
	IPv6Prefix int
	// Sources is how many prefixes are remembered at most. Default: 65536.
	Sources int
}

// Drain is how the process ends after SIGTERM, or after the drain request of the admin API: first it is not ready any
// more and still accepts; then it stops accepting; then it ends open connections; then it resets what is left.
type Drain struct {
	// Delay is how long connections are still accepted once /readyz says that the process drains. Default: 0.
	Delay time.Duration
	// Spread is the time over which open connections are ended, evenly, after Delay. 0 (default): they are left alone
	// until Timeout.
	Spread time.Duration
	// Timeout is how long open connections may take to end, after Delay. Then they are reset. 0: they are reset
	// immediately. Default: 30 s.
	Timeout time.Duration
}

// Upgrade is how the old process of an upgrade ends, whose connections live on.
type Upgrade struct {
	// Timeout is how long the old process lives at most before it drains, as Drain says and without the delay: its code
	// is the old one, with the faults that an upgrade mends. The value of the new process counts. 0: as long as its
	// connections. Default: 1 h.
	Timeout time.Duration
}

// Resolver configures the DNS queries of discovery.
type Resolver struct {
	// Servers are the DNS servers, IP:PORT. Empty (default): those of /etc/resolv.conf.
	Servers []string
	// Timeout is how long a server may take to answer. Default: 2 s.
	Timeout time.Duration
	// Attempts is how often all servers are asked before a query has failed. Default: 2.
	Attempts int
}

// Kubernetes is the API server of Kubernetes. Without an address, the process runs in a pod, and has what a pod has:
// the environment variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and the files "token", "ca.crt" and
// "namespace" in /var/run/secrets/kubernetes.io/serviceaccount. All files are read again when they change.
type Kubernetes struct {
	// Address is the URL of the API server, as in https://10.0.0.1:6443. Empty (default): that of the pod's cluster.
	Address string
	// CAFile is a file with certificates of authorities. Empty (default): the pod's, or the system's if there is an
	// address.
	CAFile string
	// TokenFile is a file with a bearer token, read again for each request. Empty (default): the pod's, or none if there
	// is an address.
	TokenFile string
	// CertFile is a file with a client certificate. Empty (default): none.
	CertFile string
	// KeyFile is the file with its key. Empty (default): CertFile.
	KeyFile string
	// Timeout is how long a list may take, and the beginning of a watch. Default: 10 s.
	Timeout time.Duration
}

// The values of the settings that have a fixed set of values.
var (
	Rings             = []string{"auto", "io_uring", "epoll"}
	LogLevels         = []string{"debug", "info", "warn", "error"}
	LogFormats        = []string{"auto", "json", "console"}
	Transports        = []string{"auto", "tls", "raw", "any"}
	KeepAliveModes    = []string{"backend", "own", "none"}
	OnLimits          = []string{"wait", "reject"}
	Policies          = []string{"p2c", "round_robin", "random", "least_connections", "source_hash", "maglev"}
	States            = []string{"up", "drain", "maintenance"}
	InitialStates     = []string{"wait", "down", "up"}
	AddressTypes      = []string{"ip", "IPv4", "IPv6"}
	DNSTypes          = []string{"ip", "A", "AAAA", "A_or_AAAA", "AAAA_or_A", "SRV"}
	StartTLSProtocols = []string{"none", "postgresql", "smtp", "imap", "pop3"}
	TLSVersions       = []string{"1.0", "1.1", "1.2", "1.3"}
	ClientAuths       = []string{"none", "request", "require"}
	ProxyVersions     = []string{"none", "v1", "v2"}
	ProxyTLVs         = []string{"alpn", "authority", "ssl", "unique_id", "crc32c", "received"}
	AccessLogFormats  = []string{"json", "tcplog", "text"}
)

// New is the configuration with every default, without listeners and backends.
func New() *Config {
	return &Config{
		Ring:       "auto",
		Metrics:    Metrics{PerServer: true},
		Admin:      Admin{Mode: 0o600},
		Log:        Log{Level: "info", Format: "auto"},
		AccessLog:  newAccessLog(),
		Limits:     Limits{SourceRate: newSourceRate()},
		Drain:      Drain{Timeout: 30 * time.Second},
		Upgrade:    Upgrade{Timeout: time.Hour},
		Resolver:   Resolver{Timeout: 2 * time.Second, Attempts: 2},
		Kubernetes: Kubernetes{Timeout: 10 * time.Second},
		XDS:        newXDS(),
	}
}

func newSourceRate() SourceRate { return SourceRate{IPv4Prefix: 32, IPv6Prefix: 64, Sources: 65536} }
