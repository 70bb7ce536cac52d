package config

import "time"

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
	// SkipEmpty leaves out connections that ended normally without a byte, as health checks do. Default: false.
	SkipEmpty bool
	// Queue is how many lines wait at most to be written. Lines beyond it are dropped and counted. Default: 8192.
	Queue int
}

func newAccessLog() AccessLog { return AccessLog{Mode: 0o640, Format: "json", Queue: 8192} }
