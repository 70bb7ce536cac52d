package accesslog

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// field is a field of a line. Exactly one of its functions is set, apart from known.
type field struct {
	name     string // as in config.AccessLogFields
	text     func(*Record) string
	number   func(*Record) int64
	duration func(*Record) time.Duration // in milliseconds with three decimals
	address  func(*Record) netip.AddrPort
	server   func(*Record) serveraddr.Addr
	time     func(*Record) time.Time
	flag     func(*Record) bool
	known    func(*Record) bool // nil: always
	trusted  bool               // the text was written by this program, and may contain spaces
}

var fields = []field{
	{name: "time", time: func(r *Record) time.Time { return r.Ended }},
	{name: "accepted", time: func(r *Record) time.Time { return r.Accepted }},
	{name: "id", number: func(r *Record) int64 { return int64(r.ID) }},
	{name: "interim", flag: func(r *Record) bool { return r.Interim }},
	{name: "listener", text: func(r *Record) string { return r.Listener }},
	{name: "network", text: func(r *Record) string { return string(r.Network) }},
	{name: "route", text: func(r *Record) string { return r.Route }},
	{name: "backend", text: func(r *Record) string { return r.Backend }},
	{name: "server", text: func(r *Record) string { return r.Server }},
	{name: "server_address", server: func(r *Record) serveraddr.Addr { return r.ServerAddress }},
	{name: "client", address: func(r *Record) netip.AddrPort { return r.Client }},
	{name: "peer", address: func(r *Record) netip.AddrPort { return r.Peer }},
	{name: "local", address: func(r *Record) netip.AddrPort { return r.Local }},
	{name: "sni", text: func(r *Record) string { return r.SNI }},
	{name: "alpn", text: func(r *Record) string { return r.ALPN }},
	{name: "tls_version", text: func(r *Record) string { return r.TLS.version() }},
	{name: "tls_cipher", text: func(r *Record) string { return r.TLS.cipher() }},
	{name: "tls_resumed", flag: func(r *Record) bool { return r.TLS.Resumed }},
	{name: "tls_cause", text: func(r *Record) string { return r.TLSCause.String() }},
	{name: "client_cn", text: func(r *Record) string { return r.ClientCN }},
	{name: "opening_ms", duration: func(r *Record) time.Duration { return r.Phases[Opening] }},
	{name: "tls_ms", duration: func(r *Record) time.Duration { return r.Phases[ClientTLS] }},
	{name: "queue_ms", duration: func(r *Record) time.Duration { return r.Phases[Queue] }},
	{name: "connect_ms", duration: func(r *Record) time.Duration { return r.Phases[Connect] }},
	{name: "server_tls_ms", duration: func(r *Record) time.Duration { return r.Phases[ServerTLS] }},
	{name: "total_ms", duration: func(r *Record) time.Duration { return r.Total }},
	{name: "bytes_from_client", number: func(r *Record) int64 { return int64(r.Bytes[0]) }},
	{name: "bytes_from_server", number: func(r *Record) int64 { return int64(r.Bytes[1]) }},
	{name: "datagrams_from_client", number: func(r *Record) int64 { return int64(r.Datagrams[0]) }},
	{name: "datagrams_from_server", number: func(r *Record) int64 { return int64(r.Datagrams[1]) }},
	rttField("client_rtt_ms", func(r *Record) time.Duration { return r.TCP[0].RTT }),
	rttField("client_min_rtt_ms", func(r *Record) time.Duration { return r.TCP[0].MinRTT }),
	retransmitsField("client_retransmits", 0),
	deliveryRateField("client_delivery_rate", 0),
	rttField("server_rtt_ms", func(r *Record) time.Duration { return r.TCP[1].RTT }),
	rttField("server_min_rtt_ms", func(r *Record) time.Duration { return r.TCP[1].MinRTT }),
	retransmitsField("server_retransmits", 1),
	deliveryRateField("server_delivery_rate", 1),
	{name: "attempts", number: func(r *Record) int64 { return int64(r.Attempts) }},
	{name: "retries", number: func(r *Record) int64 { return int64(r.Retries) }},
	{name: "queue_position", number: func(r *Record) int64 { return int64(r.QueuedPos) }},
	{name: "connections", number: func(r *Record) int64 { return int64(r.Connections) }},
	{name: "listener_connections", number: func(r *Record) int64 { return int64(r.ListenerConnections) }},
	{name: "backend_connections", number: func(r *Record) int64 { return int64(r.BackendConnections) }},
	{name: "server_connections", number: func(r *Record) int64 { return int64(r.ServerConnections) }},
	{name: "by", text: func(r *Record) string { return r.End.By }},
	{name: "phase", text: func(r *Record) string { return r.End.Phase }},
	{name: "code", text: func(r *Record) string { return r.End.Code }},
	{name: "why", text: func(r *Record) string { return r.End.Why }, trusted: true},
	{name: "error", text: func(r *Record) string { return r.error() }},
}

func fieldOf(name string) (*field, error) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("access_log: unknown field %q", name)
	}
	return &fields[i], nil
}

func (r *Record) error() string {
	if r.Err == nil {
		return ""
	}
	return r.Err.Error()
}

func (t TLS) version() string {
	if t.Version == 0 {
		return ""
	}
	return tls.VersionName(t.Version)
}

func (t TLS) cipher() string {
	if t.Cipher == 0 {
		return ""
	}
	if name, known := ciphers[t.Cipher]; known {
		return name
	}
	return tls.CipherSuiteName(t.Cipher)
}

// ciphers maps cipher suites to names; crypto/tls builds a list on each call.
var ciphers = func() map[uint16]string {
	names := map[uint16]string{}
	for _, c := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		names[c.ID] = c.Name
	}
	return names
}()

// format formats records as lines.
type format interface {
	append(line []byte, r *Record) []byte
	wants(field string) bool
}

func newFormat(c *config.AccessLog) (format, error) {
	lines, err := newLineFormat(c)
	if err != nil || c.Syslog == "" || c.Syslog == config.NoSyslog {
		return lines, err
	}
	return newSyslog(c, lines), nil
}

func newLineFormat(c *config.AccessLog) (format, error) {
	switch c.Format {
	case "", config.JSONLines:
		return newJSON(c.Fields)
	case config.TCPLog:
		return &tcplog{accepted: clock{layout: haproxyLayout, in: time.Local}}, nil
	case config.TextLines:
		return newText(c.Template)
	}
	return nil, fmt.Errorf("access_log: unknown format %q", c.Format)
}
