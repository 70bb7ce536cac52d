package config

import (
	"fmt"
	"strings"
	"time"
)

// AccessLog is the log of connections: a line for each, when it ends.
type AccessLog struct {
	// Path is the file, which SIGUSR1 reopens; "-" is the standard output. Empty (default): there is no access log.
	Path string
	// Mode is the permissions of a file that is made, in octal. Default: 0640.
	Mode FileMode
	// Format is "json" (default), "tcplog" (HAProxy's) or "text" (see Template).
	Format string
	// Fields are the fields of a line in JSON, in order. Empty (default): all. See "Access log" in docs/operating.md.
	Fields []string
	// Template is a line of the format "text", with fields in braces, as in "{client} {backend} {total_ms}".
	Template string
	// Interim is the time between two lines of a connection that is still open. 0 (default): there is only the last line.
	Interim time.Duration
	// SkipEmpty leaves out connections that their client has ended without a byte in either direction, as health checks
	// of others do. Default: false.
	SkipEmpty bool
	// Refused is how many connections that are refused when they are accepted, by a limit or by allow and deny, have a
	// line, per second. 0 (default): none.
	Refused int
	// Queue is how many lines wait at most to be written. Lines beyond it are dropped and counted. Default: 8192.
	Queue int
}

func newAccessLog() AccessLog { return AccessLog{Mode: 0o640, Format: "json", Queue: 8192} }

// AccessLogFields are the fields that a line of the access log may have.
var AccessLogFields = []string{
	"time", "accepted", "id", "interim", "listener", "network", "route", "backend", "server", "server_address", "client",
	"peer", "local", "sni", "alpn", "tls_version", "tls_cipher", "tls_resumed", "tls_cause", "client_cn", "opening_ms",
	"tls_ms", "queue_ms", "connect_ms", "server_tls_ms", "total_ms", "bytes_from_client", "bytes_from_server",
	"datagrams_from_client", "datagrams_from_server", "attempts", "retries", "queue_position", "connections",
	"listener_connections", "backend_connections", "server_connections", "by", "phase", "code", "why", "error",
}

var accessLogFields = newWords(AccessLogFields)

// TemplatePart is a field of [AccessLog.Template], or a text between fields.
type TemplatePart struct{ Field, Text string }

// ParseTemplate takes a template apart. "{{" and "}}" are braces. The error says what is wrong, without the template.
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
			return nil, fmt.Errorf("has a '}' without a '{': write '}}' for a brace")
		default:
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return nil, fmt.Errorf("has a '{' without a '}': write '{{' for a brace")
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

func isLogPath(s string) string {
	if s == "-" {
		return ""
	}
	return isPath(s)
}
