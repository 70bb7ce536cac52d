package e2e

import (
	"crypto/tls"
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

// TestHostileAdmin has strangers hold more connections to the admin API than it takes, some refused for want of a
// password, others before TLS. The operator is answered.
func TestHostileAdmin(t *testing.T) {
	s := newSecured(t)
	withstand(t, attack{
		config: plain(t) + "admin: {address: 'tcp://127.0.0.1:0', web_config_file: " + s.file + "}\n",
		run: func(t *testing.T, d *daemon) {
			api := strings.TrimPrefix(d.await("admin").str("address"), "tcp://")
			for range 128 {
				c := tls.Client(dial(t, api), &tls.Config{InsecureSkipVerify: true})
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
				_, _ = c.Read(make([]byte, 4096)) // it is refused, and may be closed
			}
			for range 160 {
				dial(t, api)
			}
			for range 5 {
				got, err := s.ask(api, "/v1/status", "ops", "secret", "")
				if err != nil || got.code != http.StatusOK {
					t.Fatalf("the operator is answered %d, %v", got.code, err)
				}
			}
		},
	})
}
