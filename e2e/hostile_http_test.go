package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestHostileIdleHTTP has a client hold idle connections to the metrics, more than the daemon has descriptors for.
// They take none from the clients of listeners, and a probe is answered.
func TestHostileIdleHTTP(t *testing.T) {
	withstand(t, attack{
		config: plain(t),
		behind: []string{need(t, "prlimit", "util-linux"), "--nofile=256:256"},
		run: func(t *testing.T, d *daemon) {
			for range 300 {
				c := dial(t, d.metrics)
				_, _ = io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n") // it may be closed by then
			}
			for range 5 {
				d.http.CloseIdleConnections()
				if code, text := d.get("/livez"); code != http.StatusOK || strings.TrimSpace(text) != "alive" {
					t.Fatalf("/livez: %d %q", code, text)
				}
			}
		},
	})
}
