package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// line is a line of the access log in its format json. Docs: "Access log" in docs/operating.md. Texts and addresses
// that are not known are empty.
type line struct {
	Time     time.Time `json:"time"`
	Accepted time.Time `json:"accepted"`
	ID       uint64    `json:"id"`
	Interim  bool      `json:"interim"`

	Listener      string         `json:"listener"`
	Network       string         `json:"network"`
	Route         string         `json:"route"`
	Backend       string         `json:"backend"`
	Server        string         `json:"server"`
	ServerAddress netip.AddrPort `json:"server_address"`
	Client        netip.AddrPort `json:"client"`
	Peer          netip.AddrPort `json:"peer"`
	Local         netip.AddrPort `json:"local"`

	SNI        string `json:"sni"`
	ALPN       string `json:"alpn"`
	TLSVersion string `json:"tls_version"`
	TLSCipher  string `json:"tls_cipher"`
	TLSCause   string `json:"tls_cause"`
	TLSResumed bool   `json:"tls_resumed"`
	ClientCN   string `json:"client_cn"`

	Opening   milliseconds `json:"opening_ms"`
	TLS       milliseconds `json:"tls_ms"`
	Queue     milliseconds `json:"queue_ms"`
	Connect   milliseconds `json:"connect_ms"`
	ServerTLS milliseconds `json:"server_tls_ms"`
	Total     milliseconds `json:"total_ms"`

	BytesFromClient     int64 `json:"bytes_from_client"`
	BytesFromServer     int64 `json:"bytes_from_server"`
	DatagramsFromClient int64 `json:"datagrams_from_client"`
	DatagramsFromServer int64 `json:"datagrams_from_server"`

	Attempts            int64 `json:"attempts"`
	Retries             int64 `json:"retries"`
	QueuePosition       int64 `json:"queue_position"`
	Connections         int64 `json:"connections"`
	ListenerConnections int64 `json:"listener_connections"`
	BackendConnections  int64 `json:"backend_connections"`
	ServerConnections   int64 `json:"server_connections"`

	By    string `json:"by"`
	Phase string `json:"phase"`
	Code  string `json:"code"`
	Why   string `json:"why"`
	Error string `json:"error"`
}

// milliseconds is a duration, or negative for a phase that the connection did not have, or did not finish.
type milliseconds float64

func (m milliseconds) duration() time.Duration {
	return time.Duration(float64(m) * float64(time.Millisecond))
}

// parse reads a line. Fields that it does not know are of a later version, and are ignored.
func parse(text []byte) (*line, error) {
	l := &line{Opening: -1, TLS: -1, Queue: -1, Connect: -1, ServerTLS: -1, Total: -1}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("not a line of an access log with format: json: %w", err)
	}
	switch {
	case l.Time.IsZero() || l.Listener == "" || l.By == "":
		return nil, fmt.Errorf("time, listener or by is missing: leave out access_log.fields, or write these, too")
	case l.Total < 0 && l.Accepted.IsZero():
		return nil, fmt.Errorf("accepted and total_ms are missing: write one of them below access_log.fields, too")
	}
	return l, nil
}

// began returns when the connection was accepted.
func (l *line) began() time.Time {
	if l.Accepted.IsZero() {
		return l.Time.Add(-l.Total.duration())
	}
	return l.Accepted
}

// planned has the ends that are no fault.
var planned = map[string]bool{"normal": true, "drain": true, "admin": true, "lifetime": true}

// abnormal reports whether the connection ended in another way than it should.
func (l *line) abnormal() bool {
	// A session of UDP has no other end than to be idle.
	return !planned[l.By] && !(l.Network == "udp" && l.By == "idle_timeout")
}
