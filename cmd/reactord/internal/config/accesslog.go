package config

import (
	"fmt"
	"strings"
	"time"
)

// AccessLog configures the access log: one line for each connection, written when it ends.
type AccessLog struct {
	// Path is the log file, reopened on SIGUSR1; "-" writes to standard output. Empty (default): no access log.
	Path string
	// Address is a socket that gets the lines instead of a file: "unix:///dev/log" (datagrams or a stream),
	// "udp://HOST:PORT" or "tcp://HOST:PORT". A datagram has a line; in a stream, a line ends with a newline, or has its
	// length before it if [AccessLog.Syslog] is set.
	Address Address
	// TLS configures TLS with a tcp address.
	TLS LogTLS
	// Syslog is the protocol of an address: "none" (default: bare lines), "rfc5424", or "rfc3164", the older one, which
	// journald and most programs on /dev/log expect.
	Syslog SyslogProtocol
	// Facility is the facility of the lines: "daemon", "user", "local0" (default) to "local7", and so on.
	Facility SyslogFacility
	// Tag is the name of the program in the lines. Default: "reactord".
	Tag string
	// Mode sets the permissions of a newly created file, in octal. Default: 0640.
	Mode FileMode
	// Format is "json" (default), "tcplog" (HAProxy's) or "text" (see Template).
	Format AccessLogFormat
	// Fields lists the fields of a JSON line, in order. Empty (default): all. See "Access log" in docs/operating.md.
	Fields []string
	// Template is the line in the format "text", with field names in braces, as in "{client} {backend} {total_ms}".
	Template string
	// Interim is the interval at which open connections are logged as well. 0 (default): a connection is logged only
	// when it ends.
	Interim time.Duration
	// SkipEmpty omits connections that the client closes before a byte has flowed in either direction, such as the
	// health checks of other proxies. Default: false.
	SkipEmpty bool
	// SkipNormal logs only what is not normal, as HAProxy's dontlog-normal: it omits connections that end by EOF of both
	// sides and were not retried, and UDP sessions that end idle after an answer. Default: false.
	SkipNormal bool
	// Sample logs only one in so many of the connections that SkipNormal would omit, and all others. The id of a
	// connection decides, so that it is the same in the old and the new process of an upgrade. 1 (default): all.
	Sample int
	// Refused limits the lines per second for connections that a limit, allow or deny refuses on accept. 0 (default):
	// refused connections are not logged.
	Refused int
	// Queue limits the lines that wait to be written. Lines beyond it are dropped and counted. Default: 8192.
	Queue int
}

// LogTLS configures TLS with the server of a log. The files are read again for each connection.
type LogTLS struct {
	// Enabled turns TLS on. Default: false.
	Enabled bool
	// CA is a file with the certificates of trusted authorities, in PEM. Empty (default): the system's.
	CA string
	// Cert is a file with the client certificate, in PEM. Empty (default): none.
	Cert string
	// Key is a file with its private key, not encrypted. Empty (default): the file of Cert.
	Key string
	// ServerName is the name to verify in the server's certificate. Empty (default): the host of the address.
	ServerName string
}

func newAccessLog() AccessLog {
	return AccessLog{
		Mode: 0o640, Format: JSONLines, Sample: 1, Queue: 8192, Syslog: NoSyslog, Facility: "local0", Tag: "reactord",
	}
}

// Enabled reports whether there is an access log.
func (a *AccessLog) Enabled() bool { return a.Path != "" || !a.Address.IsZero() }

// Target names where the lines go: the path or the address.
func (a *AccessLog) Target() string {
	if a.Path != "" {
		return a.Path
	}
	return a.Address.String()
}

// AccessLogFields lists every field that a line of the access log can have.
var AccessLogFields = []string{
	"time", "accepted", "id", "interim", "listener", "network", "route", "backend", "server", "server_address", "client",
	"peer", "local", "sni", "alpn", "tls_version", "tls_cipher", "tls_resumed", "tls_cause", "client_cn", "opening_ms",
	"tls_ms", "queue_ms", "connect_ms", "server_tls_ms", "total_ms", "bytes_from_client", "bytes_from_server",
	"datagrams_from_client", "datagrams_from_server", "client_rtt_ms", "client_min_rtt_ms", "client_retransmits",
	"client_delivery_rate", "server_rtt_ms", "server_min_rtt_ms", "server_retransmits", "server_delivery_rate",
	"attempts", "retries", "queue_position", "connections", "listener_connections", "backend_connections",
	"server_connections", "by", "phase", "code", "why", "error",
}

var accessLogFields = newWords(AccessLogFields)

// TemplatePart is a field of [AccessLog.Template], or the literal text between two fields.
type TemplatePart struct{ Field, Text string }

// ParseTemplate splits a template into its parts. "{{" and "}}" are literal braces. The error does not repeat the
// template.
func ParseTemplate(template string) (parts []TemplatePart, err error) {
	text := strings.Builder{}
	for rest := template; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			at = len(rest)
		}
		text.WriteString(rest[:at])
		rest = rest[at:]
		switch {
		case rest == "":
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '}':
			return nil, fmt.Errorf("has an unmatched '}': write '}}' for a literal brace")
		default:
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return nil, fmt.Errorf("has an unmatched '{': write '{{' for a literal brace")
			}
			if !accessLogFields.has(name) {
				return nil, fmt.Errorf("has an unknown field %s: %s", quote(name), accessLogFields.didYouMean(name))
			}
			if text.Len() > 0 {
				parts = append(parts, TemplatePart{Text: text.String()})
				text.Reset()
			}
			parts = append(parts, TemplatePart{Field: name})
			rest = after
		}
	}
	if text.Len() > 0 {
		parts = append(parts, TemplatePart{Text: text.String()})
	}
	return parts, nil
}

func isTemplate(s string) string {
	if _, err := ParseTemplate(s); err != nil {
		return err.Error()
	}
	return ""
}

// IsSyslogTag reports whether a text may be [AccessLog.Tag]: RFC 5424, section 6, APP-NAME.
func IsSyslogTag(s string) bool {
	return s != "" && len(s) <= 48 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func isTag(s string) string {
	if !IsSyslogTag(s) {
		return "is no tag: write up to 48 ASCII characters without spaces"
	}
	return ""
}

func isLogPath(s string) string {
	if s == "-" {
		return ""
	}
	return isPath(s)
}
