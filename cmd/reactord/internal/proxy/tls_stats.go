package proxy

import (
	"crypto/tls"
	"errors"
	"os"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
)

// handshakeStats counts handshakes by version and result. The loops share them: a counter is touched once a handshake.
type handshakeStats [len(tlsVersions)][len(tlsResults)]atomic.Uint64

// tlsVersions are the versions that are counted. The index of one is its number after tls.VersionTLS10, plus 1.
var tlsVersions = [...]string{"none", "1.0", "1.1", "1.2", "1.3"}

const (
	tlsFull = iota
	tlsResumed
	tlsFailed
	tlsTimeout
)

var tlsResults = [...]string{tlsFull: "full", tlsResumed: "resumed", tlsFailed: "failed", tlsTimeout: "timeout"}

// note counts a handshake that has ended with err.
func (h *handshakeStats) note(c *tls.Conn, err error) {
	state := c.ConnectionState()
	result := tlsFull
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		result = tlsTimeout
	case err != nil:
		result = tlsFailed
	case state.DidResume:
		result = tlsResumed
	}
	version := 0
	if state.Version >= tls.VersionTLS10 && state.Version <= tls.VersionTLS13 {
		version = int(state.Version-tls.VersionTLS10) + 1
	}
	h[version][result].Add(1)
}

// read is what was counted so far.
func (h *handshakeStats) read() (all []proxymetrics.Handshakes) {
	for v := range h {
		for r := range h[v] {
			if v > 0 || r >= tlsFailed { // what succeeds has a version
				all = append(all, proxymetrics.Handshakes{Version: tlsVersions[v], Result: tlsResults[r], N: h[v][r].Load()})
			}
		}
	}
	return all
}
