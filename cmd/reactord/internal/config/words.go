package config

import "slices"

// Settings with a fixed set of values have a type with a constant for each value, whose text is that of the file.

// Network names the network of an address as package net does.
type Network string

// The values of [Network].
const (
	TCPNetwork  Network = "tcp"
	UDPNetwork  Network = "udp"
	UnixNetwork Network = "unix"
)

// OnLimit says what happens to connections beyond the limit of a listener.
type OnLimit string

// The values of [OnLimit].
const (
	WaitOnLimit   OnLimit = "wait"
	RejectOnLimit OnLimit = "reject"
)

// StartTLS is the protocol by which a side switches to TLS.
type StartTLS string

// The values of [StartTLS].
const (
	NoStartTLS StartTLS = "none"
	PostgreSQL StartTLS = "postgresql"
	SMTP       StartTLS = "smtp"
	IMAP       StartTLS = "imap"
	POP3       StartTLS = "pop3"
)

// KeepAliveMode selects the TCP keep-alive with clients of a listener.
type KeepAliveMode string

// The values of [KeepAliveMode].
const (
	KeepAliveOfBackend KeepAliveMode = "backend"
	OwnKeepAlive       KeepAliveMode = "own"
	NoKeepAlive        KeepAliveMode = "none"
)

// Transport is what clients of a route speak.
type Transport string

// The values of [Transport].
const (
	AutoTransport Transport = "auto"
	TLSTransport  Transport = "tls"
	RawTransport  Transport = "raw"
	AnyTransport  Transport = "any"
)

// TLSVersion names a version of TLS. Later versions compare as greater.
type TLSVersion string

// The values of [TLSVersion].
const (
	TLS10 TLSVersion = "1.0"
	TLS11 TLSVersion = "1.1"
	TLS12 TLSVersion = "1.2"
	TLS13 TLSVersion = "1.3"
)

// ClientAuth says whether clients need a certificate.
type ClientAuth string

// The values of [ClientAuth].
const (
	NoClientAuth      ClientAuth = "none"
	RequestClientAuth ClientAuth = "request"
	RequireClientAuth ClientAuth = "require"
)

// ProxyVersion is the version of the PROXY headers for servers.
type ProxyVersion string

// The values of [ProxyVersion].
const (
	NoProxy ProxyVersion = "none"
	ProxyV1 ProxyVersion = "v1"
	ProxyV2 ProxyVersion = "v2"
)

// ProxyTLV names an entry of PROXY headers for servers.
type ProxyTLV string

// The values of [ProxyTLV].
const (
	TLVALPN      ProxyTLV = "alpn"
	TLVAuthority ProxyTLV = "authority"
	TLVSSL       ProxyTLV = "ssl"
	TLVUniqueID  ProxyTLV = "unique_id"
	TLVCRC32C    ProxyTLV = "crc32c"
	TLVReceived  ProxyTLV = "received"
)

// BackupUse says when backup servers get connections.
type BackupUse string

// The values of [BackupUse].
const (
	BackupSpills     BackupUse = "spill"
	BackupLastResort BackupUse = "last_resort"
)

// InitialState is the state of a server before its first check.
type InitialState string

// The values of [InitialState].
const (
	WaitForCheck  InitialState = "wait"
	InitiallyDown InitialState = "down"
	InitiallyUp   InitialState = "up"
)

// CheckProtocol is what a health check speaks.
type CheckProtocol string

// The values of [CheckProtocol].
const (
	CheckTCP        CheckProtocol = "tcp"
	CheckUDP        CheckProtocol = "udp"
	CheckPostgreSQL CheckProtocol = "postgresql"
	CheckMySQL      CheckProtocol = "mysql"
	CheckRedis      CheckProtocol = "redis"
)

// KnowsRoles reports whether a check can find out whether the server is the primary.
func (p CheckProtocol) KnowsRoles() bool { return p == CheckPostgreSQL || p == CheckRedis }

// ServerRole is what a server is among its replicas.
type ServerRole string

// The values of [ServerRole].
const (
	AnyRole ServerRole = "any"
	Primary ServerRole = "primary"
	Replica ServerRole = "replica"
)

// DNSType selects the records that are looked up.
type DNSType string

// The values of [DNSType].
const (
	DNSIP      DNSType = "ip"
	DNSA       DNSType = "A"
	DNSAAAA    DNSType = "AAAA"
	DNSAOrAAAA DNSType = "A_or_AAAA"
	DNSAAAAOrA DNSType = "AAAA_or_A"
	DNSSRV     DNSType = "SRV"
)

// AddressType selects the addresses of a Service.
type AddressType string

// The values of [AddressType].
const (
	AnyAddress  AddressType = "ip"
	IPv4Address AddressType = "IPv4"
	IPv6Address AddressType = "IPv6"
)

// Detail is how many series the metrics have.
type Detail string

// The values of [Detail].
const (
	SummaryDetail Detail = "summary"
	NormalDetail  Detail = "normal"
	FullDetail    Detail = "full"
)

// Role is what a user of the admin API may do.
type Role string

// The values of [Role].
const (
	ReadRole     Role = "read"
	OperatorRole Role = "operator"
	AdminRole    Role = "admin"
)

// AtLeast reports whether r may do what requires a role. An unknown role may do nothing.
func (r Role) AtLeast(required Role) bool {
	return slices.Contains(Roles, r) && slices.Index(Roles, r) >= slices.Index(Roles, required)
}

// isRole returns what is wrong with the name of a role, or "".
func isRole(text string) string {
	if slices.Contains(Roles, Role(text)) {
		return ""
	}
	return "is no role: write read, operator or admin"
}

// AccessLogFormat is the format of the lines of the access log.
type AccessLogFormat string

// The values of [AccessLogFormat].
const (
	JSONLines AccessLogFormat = "json"
	TCPLog    AccessLogFormat = "tcplog"
	TextLines AccessLogFormat = "text"
)

// SyslogProtocol is a protocol of syslog.
type SyslogProtocol string

// The values of [SyslogProtocol].
const (
	NoSyslog SyslogProtocol = "none"
	RFC5424  SyslogProtocol = "rfc5424"
	RFC3164  SyslogProtocol = "rfc3164"
)

// SyslogFacility is a facility of syslog, by the name that syslog.conf has for it.
type SyslogFacility string

// Number returns the numerical code: RFC 5424, section 6.2.1.
func (f SyslogFacility) Number() int { return slices.Index(SyslogFacilities, f) }

// Values of the settings that are one of a fixed set, in the order in which messages list them.
var (
	Rings             = []string{"auto", "io_uring", "epoll"}
	Details           = []Detail{SummaryDetail, NormalDetail, FullDetail}
	Roles             = []Role{ReadRole, OperatorRole, AdminRole} // each may do what those before it may
	LogLevels         = []string{"debug", "info", "warn", "error"}
	LogFormats        = []string{"auto", "json", "console"}
	Transports        = []Transport{AutoTransport, TLSTransport, RawTransport, AnyTransport}
	KeepAliveModes    = []KeepAliveMode{KeepAliveOfBackend, OwnKeepAlive, NoKeepAlive}
	OnLimits          = []OnLimit{WaitOnLimit, RejectOnLimit}
	States            = []string{"up", "drain", "maintenance"}
	BackupUses        = []BackupUse{BackupSpills, BackupLastResort}
	InitialStates     = []InitialState{WaitForCheck, InitiallyDown, InitiallyUp}
	CheckProtocols    = []CheckProtocol{CheckTCP, CheckUDP, CheckPostgreSQL, CheckMySQL, CheckRedis}
	ServerRoles       = []ServerRole{AnyRole, Primary, Replica}
	AddressTypes      = []AddressType{AnyAddress, IPv4Address, IPv6Address}
	DNSTypes          = []DNSType{DNSIP, DNSA, DNSAAAA, DNSAOrAAAA, DNSAAAAOrA, DNSSRV}
	StartTLSProtocols = []StartTLS{NoStartTLS, PostgreSQL, SMTP, IMAP, POP3}
	TLSVersions       = []TLSVersion{TLS10, TLS11, TLS12, TLS13}
	ClientAuths       = []ClientAuth{NoClientAuth, RequestClientAuth, RequireClientAuth}
	ProxyVersions     = []ProxyVersion{NoProxy, ProxyV1, ProxyV2}
	ProxyTLVs         = []ProxyTLV{TLVALPN, TLVAuthority, TLVSSL, TLVUniqueID, TLVCRC32C, TLVReceived}
	AccessLogFormats  = []AccessLogFormat{JSONLines, TCPLog, TextLines}
	SyslogProtocols   = []SyslogProtocol{NoSyslog, RFC5424, RFC3164}
	SyslogFacilities  = []SyslogFacility{ // by their numbers
		"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp",
		"audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
	}
)
